//! The attributes of a record and of its fields, as they stand there.

use crate::attr::{At, Item, crate_path, default_crate, items};
use crate::errors::Errors;
use crate::record::default::Default;
use crate::record::foreign_key::{ForeignKeyAttr, ON_DELETE, ON_UPDATE, is_name};
use crate::record::rules::{REPEATABLE, RULES, RuleAttr};
use proc_macro2::{Ident, TokenStream};
use quote::ToTokens;
use syn::{Attribute, LitStr, Path, Type};

/// `#[record(…)]` on the struct.
pub struct StructAttrs {
    pub table: Option<At<String>>,
    pub renamed_from: Option<At<String>>,
    pub krate: TokenStream,
    pub indexes: Vec<IndexAttr>,
    pub foreign_keys: Vec<ForeignKeyAttr>,
    pub never_reuse_keys: Option<At<()>>,
    pub view: bool,
    pub search: Option<SearchAttr>,
    /// Functions that check whole records.
    pub validators: Vec<Path>,
}

/// `index(a, b, unique, name = "…")`.
pub struct IndexAttr {
    pub at: TokenStream,
    pub fields: Vec<Ident>,
    pub unique: bool,
    pub name: Option<At<String>>,
}

/// `search(a, b, language = "…")`.
pub struct SearchAttr {
    pub at: TokenStream,
    pub fields: Vec<Ident>,
    /// A variant of `SearchLanguage`.
    pub language: &'static str,
}

/// `#[record(…)]` on a field.
#[derive(Default)]
pub struct FieldAttrs {
    /// Every part, for `skip`, which goes with no other.
    pub all: Vec<Item>,
    /// Whether the user gives the key.
    pub key: Option<At<bool>>,
    pub column: Option<At<String>>,
    pub renamed_from: Option<At<String>>,
    pub max: Option<At<u32>>,
    pub unique: Option<At<()>>,
    pub index: Option<At<()>>,
    pub default: Option<At<Default>>,
    pub roles: Vec<At<FieldRole>>,
    pub deleted_at: Option<At<()>>,
    pub live: Option<At<()>>,
    pub skip: Option<At<()>>,
    /// A variant of `Collation`.
    pub collation: Option<At<&'static str>>,
    pub check: Option<At<String>>,
    pub generated: Option<At<String>>,
    pub references: Option<At<ReferenceTarget>>,
    /// A variant of `OnDelete`.
    pub on_delete: Option<At<&'static str>>,
    /// A variant of `OnUpdate`.
    pub on_update: Option<At<&'static str>>,
    pub deferred: Option<At<()>>,
    pub as_text: Option<At<()>>,
    pub encrypted: Option<At<EncryptedAttr>>,
    pub any: Option<At<()>>,
    /// Normalizers and validators, in order.
    pub rules: Vec<At<RuleAttr>>,
}

/// `encrypted`, `encrypted(searchable, context = "table.column")`.
#[derive(Default)]
pub struct EncryptedAttr {
    pub searchable: bool,
    pub context: Option<String>,
}

/// What Bobak fills a column with.
#[derive(Clone, Copy, PartialEq)]
pub enum FieldRole {
    CreatedAt,
    ModifiedAt,
    Version,
}

/// What a foreign key refers to.
pub enum ReferenceTarget {
    Record(Box<Type>),
    Column {
        table: String,
        column: String,
    },
    /// Reported already.
    Wrong,
}

const ON_STRUCT: &[&str] = &[
    "table",
    "renamed_from",
    "index",
    "foreign_key",
    "never_reuse_keys",
    "view",
    "search",
    "validate",
    "crate",
];
const ON_FIELD: &[&str] = &[
    "key",
    "column",
    "renamed_from",
    "max",
    "unique",
    "index",
    "default",
    "created_at",
    "modified_at",
    "version",
    "deleted_at",
    "live",
    "skip",
    "collation",
    "check",
    "generated",
    "references",
    "on_delete",
    "on_update",
    "deferred",
    "store",
    "encrypted",
    "any",
];

/// What may be written on a field.
fn on_field() -> Vec<&'static str> {
    [ON_FIELD, RULES].concat()
}

const INDEX: &str = r#"index(field, field, unique, name = "…")"#;
const SEARCH: &str = r#"search(field, field, language = "english")"#;
const RENAMED: &str = r#"renamed_from = "old_name""#;
const ENCRYPTED: &str = r#"encrypted(searchable, context = "table.column")"#;
const REFERENCES: &str = r#"references = Type` or `references = "table(column)""#;

impl FieldRole {
    /// The attribute's name.
    pub const fn word(self) -> &'static str {
        match self {
            Self::CreatedAt => "created_at",
            Self::ModifiedAt => "modified_at",
            Self::Version => "version",
        }
    }

    /// The variant of `FieldRole`.
    pub const fn variant(self) -> &'static str {
        match self {
            Self::CreatedAt => "CreatedAt",
            Self::ModifiedAt => "ModifiedAt",
            Self::Version => "Version",
        }
    }

    /// The type that it goes on, a variant of `Type`.
    pub const fn wanted(self) -> (&'static str, &'static str) {
        match self {
            Self::Version => ("I64", "an i64"),
            _ => ("Timestamp", "a Timestamp"),
        }
    }
}

impl StructAttrs {
    /// Reads the struct's attributes.
    pub fn parse(attributes: &[Attribute], errors: &mut Errors) -> Self {
        let mut attrs = Self {
            table: None,
            renamed_from: None,
            krate: default_crate(),
            indexes: Vec::new(),
            foreign_keys: Vec::new(),
            never_reuse_keys: None,
            view: false,
            search: None,
            validators: Vec::new(),
        };
        for item in items(attributes, "record", &["index", "foreign_key", "validate"], errors) {
            match item.name.to_string().as_str() {
                "table" => attrs.table = item.name(r#"table = "name""#, errors),
                "renamed_from" => attrs.renamed_from = item.name(RENAMED, errors),
                "crate" => attrs.krate = crate_path(&item, errors).unwrap_or(attrs.krate),
                "index" => attrs.indexes.extend(IndexAttr::parse(&item, errors)),
                "foreign_key" => attrs.foreign_keys.extend(ForeignKeyAttr::parse(&item, errors)),
                "never_reuse_keys" => attrs.never_reuse_keys = Some(item.flag(errors)),
                "validate" => attrs.validators.extend(item.parse_with(
                    Path::parse_mod_style,
                    "validate = path::to::function",
                    errors,
                )),
                "search" => attrs.search = SearchAttr::parse(&item, errors).or(attrs.search),
                "view" => {
                    item.flag(errors);
                    attrs.view = true;
                }
                _ => item.unknown(ON_STRUCT, &on_field(), "a field", errors),
            }
        }
        attrs
    }
}

impl IndexAttr {
    fn parse(item: &Item, errors: &mut Errors) -> Option<Self> {
        let at = item.to_token_stream();
        let mut index = Self { at, fields: Vec::new(), unique: false, name: None };
        let mut wrong = false;
        for part in item.list(INDEX, errors)? {
            if !part.is_flag() && part.name == "name" {
                index.name = part.name(r#"name = "…""#, errors);
            } else if !part.is_flag() {
                errors.at(&part, format!("write `{INDEX}`"));
                wrong = true;
            } else if part.name == "unique" {
                index.unique = true;
            } else if index.fields.contains(&part.name) {
                errors.at(&part, format!("`{}` is in the index twice: keep one", part.name));
            } else {
                index.fields.push(part.name);
            }
        }
        if wrong {
            return None;
        }
        if index.fields.is_empty() {
            errors.at(item, format!("the index has no field: write `{INDEX}`"));
            return None;
        }
        Some(index)
    }
}

impl SearchAttr {
    fn parse(item: &Item, errors: &mut Errors) -> Option<Self> {
        let mut search =
            Self { at: item.to_token_stream(), fields: Vec::new(), language: "Simple" };
        for part in item.list(SEARCH, errors)? {
            if part.is_flag() {
                search.fields.push(part.name);
            } else if part.name == "language" {
                search.language = part.one_of(LANGUAGES, errors)?.value;
            } else {
                errors.at(&part, format!("write `{SEARCH}`"));
                return None;
            }
        }
        if search.fields.is_empty() {
            errors.at(item, format!("the search has no field: write `{SEARCH}`"));
            return None;
        }
        Some(search)
    }
}

impl FieldAttrs {
    /// Reads a field's attributes.
    pub fn parse(attributes: &[Attribute], errors: &mut Errors) -> Self {
        let mut attrs = Self::default();
        let all = items(attributes, "record", REPEATABLE, errors);
        for item in &all {
            attrs.take(item, errors);
        }
        attrs.all = all;
        attrs
    }

    fn take(&mut self, item: &Item, errors: &mut Errors) {
        match item.name.to_string().as_str() {
            "key" => self.key = Some(item.at(key(item, errors))),
            "column" => self.column = item.name(r#"column = "name""#, errors),
            "renamed_from" => self.renamed_from = item.name(RENAMED, errors),
            "max" => self.max = item.count("max = 40", errors),
            "unique" => self.unique = Some(item.flag(errors)),
            "index" => self.index = Some(item.flag(errors)),
            "default" => self.default = Default::parse(item, errors),
            "created_at" => self.role(FieldRole::CreatedAt, item, errors),
            "modified_at" => self.role(FieldRole::ModifiedAt, item, errors),
            "version" => self.role(FieldRole::Version, item, errors),
            "deleted_at" => self.deleted_at = Some(item.flag(errors)),
            "live" => self.live = Some(item.flag(errors)),
            "skip" => self.skip = Some(item.flag(errors)),
            "collation" => self.collation = item.one_of(COLLATIONS, errors),
            "check" => self.check = item.name(r#"check = "amount >= 0""#, errors),
            "generated" => self.generated = item.name(r#"generated = "price * quantity""#, errors),
            "references" => self.references = Some(item.at(target(item, errors))),
            "on_delete" => self.on_delete = item.one_of(ON_DELETE, errors),
            "on_update" => self.on_update = item.one_of(ON_UPDATE, errors),
            "deferred" => self.deferred = Some(item.flag(errors)),
            "store" => self.as_text = item.one_of(&[("text", ())], errors),
            "encrypted" => self.encrypted = Some(item.at(EncryptedAttr::parse(item, errors))),
            "any" => self.any = Some(item.flag(errors)),
            name if RULES.contains(&name) => self.rules.extend(RuleAttr::parse(item, errors)),
            _ => item.unknown(&on_field(), ON_STRUCT, "the struct", errors),
        }
    }

    fn role(&mut self, role: FieldRole, item: &Item, errors: &mut Errors) {
        item.flag(errors);
        self.roles.push(item.at(role));
    }
}

impl EncryptedAttr {
    fn parse(item: &Item, errors: &mut Errors) -> Self {
        let mut encrypted = Self::default();
        if item.is_flag() {
            return encrypted;
        }
        for part in item.list(ENCRYPTED, errors).unwrap_or_default() {
            match part.name.to_string().as_str() {
                "searchable" if part.is_flag() => encrypted.searchable = true,
                "context" if !part.is_flag() => {
                    encrypted.context = part.name(ENCRYPTED, errors).map(|at| at.value);
                }
                _ => errors.at(&part, format!("write `encrypted` or `{ENCRYPTED}`")),
            }
        }
        encrypted
    }
}

const LANGUAGES: &[(&str, &str)] = &[
    ("simple", "Simple"),
    ("danish", "Danish"),
    ("dutch", "Dutch"),
    ("english", "English"),
    ("finnish", "Finnish"),
    ("french", "French"),
    ("german", "German"),
    ("hungarian", "Hungarian"),
    ("italian", "Italian"),
    ("norwegian", "Norwegian"),
    ("portuguese", "Portuguese"),
    ("romanian", "Romanian"),
    ("russian", "Russian"),
    ("spanish", "Spanish"),
    ("swedish", "Swedish"),
    ("turkish", "Turkish"),
];

const COLLATIONS: &[(&str, &str)] =
    &[("binary", "Binary"), ("nocase", "NoCase"), ("unicode_nocase", "UnicodeNoCase")];

/// Whether the user gives the key.
fn key(item: &Item, errors: &mut Errors) -> bool {
    !item.is_flag() && item.one_of(&[("given", ())], errors).is_some()
}

fn target(item: &Item, errors: &mut Errors) -> ReferenceTarget {
    let parse = |input: syn::parse::ParseStream<'_>| {
        if !input.peek(LitStr) {
            return input.parse().map(|ty| ReferenceTarget::Record(Box::new(ty)));
        }
        let text: LitStr = input.parse()?;
        let value = text.value();
        let parts = value.strip_suffix(')').and_then(|rest| rest.split_once('('));
        match parts.map(|(table, column)| (table.trim(), column.trim())) {
            Some((table, column)) if is_name(table) && is_name(column) => {
                Ok(ReferenceTarget::Column { table: table.to_owned(), column: column.to_owned() })
            }
            _ => Err(syn::Error::new_spanned(&text, "not a table and its column")),
        }
    };
    item.parse_with(parse, REFERENCES, errors).unwrap_or(ReferenceTarget::Wrong)
}
