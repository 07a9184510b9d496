//! Foreign keys of several fields: `foreign_key(a, b, references = Order(shop, number))`.

use crate::attr::{At, Item};
use crate::errors::Errors;
use proc_macro2::Ident;
use syn::parse::ParseStream;
use syn::punctuated::Punctuated;
use syn::{LitStr, Path, Token};

/// `foreign_key(a, b, references = Order(x, y), relation = NAME, on_delete = "…", on_update = "…", deferred)`.
pub struct ForeignKeyAttr {
    pub fields: Vec<Ident>,
    pub target: ForeignTarget,
    /// The name of the relation's constant.
    pub relation: Option<Ident>,
    /// A variant of `OnDelete`.
    pub on_delete: Option<At<&'static str>>,
    /// A variant of `OnUpdate`.
    pub on_update: Option<At<&'static str>>,
    pub deferred: bool,
}

/// What a foreign key of several fields refers to.
pub enum ForeignTarget {
    Record { record: Path, fields: Vec<Ident> },
    Table { table: String, columns: Vec<String> },
}

const FOREIGN_KEY: &str = r#"foreign_key(field, field, references = Record(field, field))` or `references = "table(column, column)""#;

impl ForeignKeyAttr {
    pub fn parse(item: &Item, errors: &mut Errors) -> Option<Self> {
        let (mut fields, mut target, mut relation) = (Vec::new(), None, None);
        let (mut on_delete, mut on_update, mut deferred) = (None, None, false);
        for part in item.list(FOREIGN_KEY, errors)? {
            match part.name.to_string().as_str() {
                "references" if !part.is_flag() => {
                    target = Some(part.parse_with(ForeignTarget::parse, FOREIGN_KEY, errors)?);
                }
                "relation" if !part.is_flag() => {
                    relation = part.parse::<Ident>("relation = NAME", errors);
                }
                "on_delete" if !part.is_flag() => on_delete = part.one_of(ON_DELETE, errors),
                "on_update" if !part.is_flag() => on_update = part.one_of(ON_UPDATE, errors),
                "deferred" if part.is_flag() => deferred = true,
                _ if !part.is_flag() => errors.at(&part, format!("write `{FOREIGN_KEY}`")),
                _ => fields.push(part.name),
            }
        }
        let Some(target) = target else {
            errors.at(item, format!("the foreign key refers to nothing: write `{FOREIGN_KEY}`"));
            return None;
        };
        if fields.len() != target.len() {
            errors.at(item, "a foreign key has as many fields as it references columns");
            return None;
        }
        if let (Some(relation), ForeignTarget::Table { .. }) = (&relation, &target) {
            let message = "a relation leads to a record: write `references = Record(field, field)`";
            errors.at(relation, message);
        }
        check_deferred(deferred, on_delete.as_ref(), errors);
        Some(Self { fields, target, relation, on_delete, on_update, deferred })
    }

    /// The action of a foreign key without `on_delete`: one that is deferred lets the referenced row go first.
    pub const fn default_action(deferred: bool) -> &'static str {
        if deferred { "NoAction" } else { "Restrict" }
    }
}

impl ForeignTarget {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        if !input.peek(LitStr) {
            let record = Path::parse_mod_style(input)?;
            let inner;
            syn::parenthesized!(inner in input);
            let fields = Punctuated::<Ident, Token![,]>::parse_terminated(&inner)?;
            return Ok(Self::Record { record, fields: fields.into_iter().collect() });
        }
        let text: LitStr = input.parse()?;
        let value = text.value();
        let parts = value.strip_suffix(')').and_then(|rest| rest.split_once('('));
        let (table, columns) = parts.unwrap_or_default();
        let columns: Vec<_> = columns.split(',').map(|name| name.trim().to_owned()).collect();
        if !is_name(table.trim()) || !columns.iter().all(|name| is_name(name)) {
            return Err(syn::Error::new_spanned(&text, "not a table and its columns"));
        }
        Ok(Self::Table { table: table.trim().to_owned(), columns })
    }

    fn len(&self) -> usize {
        match self {
            Self::Record { fields, .. } => fields.len(),
            Self::Table { columns, .. } => columns.len(),
        }
    }
}

pub const ON_DELETE: &[(&str, &str)] = &[
    ("restrict", "Restrict"),
    ("cascade", "Cascade"),
    ("set_null", "SetNull"),
    ("no_action", "NoAction"),
];

pub const ON_UPDATE: &[(&str, &str)] = &[
    ("no_action", "NoAction"),
    ("restrict", "Restrict"),
    ("cascade", "Cascade"),
    ("set_null", "SetNull"),
];

/// Rejects an action that the database does not defer.
pub fn check_deferred(deferred: bool, on_delete: Option<&At<&'static str>>, errors: &mut Errors) {
    if let Some(action) = on_delete.filter(|action| deferred && action.value == "Restrict") {
        let message = "\"restrict\" is never deferred: leave it out, or write `on_delete = \"no_action\"`, \
                       which `deferred` means without it";
        errors.at(&action.at, message);
    }
}

/// Whether a text names a table or a column.
pub fn is_name(name: &str) -> bool {
    !name.is_empty() && !name.contains(['\0', '(', ')'])
}
