//! The table that a struct describes.

use crate::attr::At;
use crate::errors::Errors;
use crate::names::{constant, plain, snake};
use crate::record::attr::{FieldAttrs, IndexAttr, ReferenceTarget, StructAttrs};
use crate::record::foreign_key::ForeignKeyAttr;
use crate::types::{Plain, TypeSyntax, generic_argument};
use proc_macro2::{Ident, TokenStream};
use quote::ToTokens;
use syn::{Data, DeriveInput, Field, Fields, FieldsNamed, Path, Type, Visibility};

/// A struct as a table.
pub struct RecordAst<'a> {
    pub ident: &'a Ident,
    pub krate: TokenStream,
    pub name: String,
    pub renamed_from: Option<String>,
    pub columns: Vec<FieldAst<'a>>,
    pub skipped: Vec<SkippedField<'a>>,
    /// The places of the key's columns.
    pub key: Vec<usize>,
    pub given_key: bool,
    pub indexes: Vec<IndexAst>,
    pub foreign_keys: Vec<(Vec<usize>, ForeignKeyAttr)>,
    pub never_reuse_keys: Option<At<()>>,
    pub view: bool,
    pub search: Option<SearchAst>,
    /// Functions that check whole records.
    pub validators: Vec<Path>,
}

/// The fields that are searched together.
pub struct SearchAst {
    pub columns: Vec<usize>,
    /// A variant of `SearchLanguage`.
    pub language: &'static str,
    pub at: TokenStream,
}

/// A field that is stored.
pub struct FieldAst<'a> {
    pub ident: &'a Ident,
    pub vis: &'a Visibility,
    pub ty: &'a Type,
    pub shape: TypeSyntax,
    pub name: String,
    pub constant: Ident,
    pub attrs: FieldAttrs,
    /// Whether it is an `OnRequest`; `ty` is then the type of its value.
    pub on_request: bool,
    /// Which of the two columns of a field with `any` it is.
    pub any: Option<ReferencePart>,
}

/// A column of a reference to a record of any type.
#[derive(Clone, Copy, PartialEq)]
pub enum ReferencePart {
    Table,
    Key,
}

/// A field that is not stored.
pub struct SkippedField<'a> {
    pub ident: &'a Ident,
    pub attrs: FieldAttrs,
}

/// An index that is not a unique column's.
pub struct IndexAst {
    pub name: String,
    pub columns: Vec<usize>,
    pub unique: bool,
    pub at: TokenStream,
}

impl FieldAst<'_> {
    /// Whether it has a relation to a record.
    pub fn refers_to_record(&self) -> bool {
        let target = self.attrs.references.as_ref().map(|at| &at.value);
        matches!(target, Some(ReferenceTarget::Record(_)))
    }
}

impl<'a> RecordAst<'a> {
    /// Reads a struct; `None` where it is none with named fields.
    pub fn parse(input: &'a DeriveInput, errors: &mut Errors) -> Option<Self> {
        let fields = named_fields(input, errors);
        if !input.generics.params.is_empty() {
            let message = "a record has no parameters: one type is one table. Write a struct for \
                           each table, with the types that it keeps";
            errors.at(&input.generics.params, message);
        }
        let attrs = StructAttrs::parse(&input.attrs, errors);
        let mut columns = Vec::new();
        let mut skipped = Vec::new();
        for field in &fields?.named {
            let Some(ident) = &field.ident else { continue };
            let attrs = FieldAttrs::parse(&field.attrs, errors);
            if attrs.skip.is_some() {
                skipped.push(SkippedField { ident, attrs });
                continue;
            }
            let name =
                attrs.column.as_ref().map_or_else(|| plain(ident), |name| name.value.clone());
            if attrs.any.is_some() {
                columns.extend(any_columns(field, ident, attrs, errors));
                continue;
            }
            let inner = generic_argument(&field.ty, "OnRequest");
            let ty = inner.unwrap_or(&field.ty);
            columns.push(FieldAst {
                ident,
                vis: &field.vis,
                ty,
                shape: TypeSyntax::of(ty),
                name,
                constant: constant(ident),
                attrs,
                on_request: inner.is_some(),
                any: None,
            });
        }
        let name = attrs.table.map_or_else(|| snake(&plain(&input.ident)), |table| table.value);
        let mut table = Self {
            ident: &input.ident,
            krate: attrs.krate,
            name,
            renamed_from: attrs.renamed_from.map(|former| former.value),
            columns,
            skipped,
            key: Vec::new(),
            given_key: false,
            indexes: Vec::new(),
            foreign_keys: Vec::new(),
            never_reuse_keys: attrs.never_reuse_keys,
            view: attrs.view,
            search: None,
            validators: attrs.validators,
        };
        table.find_key();
        table.find_indexes(&attrs.indexes, errors);
        for key in attrs.foreign_keys {
            let find = |field: &Ident| table.find_field(field, "a foreign key", errors);
            if let Some(columns) = key.fields.iter().map(find).collect::<Option<Vec<_>>>() {
                table.foreign_keys.push((columns, key));
            }
        }
        if let Some(search) = attrs.search {
            let find = |field: &Ident| table.find_field(field, "a search", errors);
            let columns = search.fields.iter().map(find).collect::<Option<Vec<_>>>();
            let (language, at) = (search.language, search.at);
            table.search = columns.map(|columns| SearchAst { columns, language, at });
        }
        Some(table)
    }

    /// The columns with their places.
    pub fn places(&self) -> impl Iterator<Item = (usize, &FieldAst<'a>)> {
        self.columns.iter().enumerate()
    }

    /// The columns of the key.
    pub fn key_columns(&self) -> impl Iterator<Item = &FieldAst<'a>> {
        self.key.iter().filter_map(|&place| self.columns.get(place))
    }

    /// The column with the time of the deletion, and its place.
    pub fn deleted_at(&self) -> Option<(usize, &FieldAst<'a>)> {
        self.places().find(|(_, column)| column.attrs.deleted_at.is_some())
    }

    /// The column that is set in live rows only, and its place.
    pub fn live(&self) -> Option<(usize, &FieldAst<'a>)> {
        self.places().find(|(_, column)| column.attrs.live.is_some())
    }

    /// The name of a reference's relation: the field's constant without `_ID`, or with `_REF` if that is no other name.
    pub fn relation(&self, column: &FieldAst<'_>) -> Ident {
        let name = column.constant.to_string();
        let short = name.strip_suffix("_ID").filter(|short| {
            let is_taken = self.columns.iter().any(|column| column.constant == short);
            !is_taken && syn::parse_str::<Ident>(short).is_ok()
        });
        let name = short.map_or_else(|| format!("{name}_REF"), str::to_owned);
        Ident::new(&name, column.constant.span())
    }

    fn find_key(&mut self) {
        let marked = self.places().filter(|(_, column)| column.attrs.key.is_some());
        self.key = marked.map(|(place, _)| place).collect();
        // A view's column `id` may be NULL, or not unique.
        if self.key.is_empty() && !self.view {
            self.key = self.columns.iter().position(|c| c.ident == "id").into_iter().collect();
        }
        let given = |column: &FieldAst<'_>| column.attrs.key.as_ref().is_some_and(|key| key.value);
        self.given_key = self.columns.iter().any(given);
    }

    fn find_indexes(&mut self, attrs: &[IndexAttr], errors: &mut Errors) {
        for (place, column) in self.columns.iter().enumerate() {
            if let Some(index) = &column.attrs.index {
                let name = format!("{}_{}", self.name, column.name);
                let (columns, at) = (vec![place], index.at.clone());
                self.indexes.push(IndexAst { name, columns, unique: false, at });
            }
        }
        for (place, column) in self.columns.iter().enumerate() {
            if column.any == Some(ReferencePart::Table) {
                let name = format!("{}_{}", self.name, plain(column.ident));
                let (columns, at) = (vec![place, place + 1], column.ident.to_token_stream());
                self.indexes.push(IndexAst { name, columns, unique: false, at });
            }
        }
        for attr in attrs {
            let find = |field: &Ident| self.find_field(field, "an index", errors);
            let Some(columns) = attr.fields.iter().map(find).collect::<Option<Vec<_>>>() else {
                continue;
            };
            let names = columns.iter().filter_map(|&place| self.columns.get(place));
            let name = names.fold(self.name.clone(), |name, column| name + "_" + &column.name);
            let (name, at) = match &attr.name {
                Some(given) => (given.value.clone(), given.at.clone()),
                None => (name, attr.at.clone()),
            };
            self.indexes.push(IndexAst { name, columns, unique: attr.unique, at });
        }
    }

    fn find_field(&self, field: &Ident, what: &str, errors: &mut Errors) -> Option<usize> {
        let place = self.columns.iter().position(|column| plain(column.ident) == plain(field));
        if place.is_none() {
            let named = self.columns.iter().find(|column| column.name == plain(field));
            let message = if self.skipped.iter().any(|skipped| skipped.ident == field) {
                format!("`{field}` is skipped: {what} is over stored fields")
            } else if let Some(column) = named {
                format!("{what} takes fields: write `{}`", column.ident)
            } else {
                format!("there is no field `{field}`: {what} takes the names of fields")
            };
            errors.at(field, message);
        }
        place
    }
}

/// The columns of a field with `any`, which takes no other attribute.
fn any_columns<'a>(
    field: &'a Field,
    ident: &'a Ident,
    attrs: FieldAttrs,
    errors: &mut Errors,
) -> [FieldAst<'a>; 2] {
    for item in attrs.all.iter().filter(|item| item.name != "any") {
        errors.at(item, "a reference to a record of any type takes no other attribute");
    }
    let column = |part, suffix: &str| FieldAst {
        ident,
        vis: &field.vis,
        ty: &field.ty,
        shape: TypeSyntax { optional: None, plain: Plain::Unknown },
        name: format!("{}_{suffix}", plain(ident)),
        constant: Ident::new(
            &format!("{}_{}", constant(ident), suffix.to_uppercase()),
            ident.span(),
        ),
        attrs: FieldAttrs::default(),
        on_request: false,
        any: Some(part),
    };
    [column(ReferencePart::Table, "table"), column(ReferencePart::Key, "key")]
}

fn named_fields<'a>(input: &'a DeriveInput, errors: &mut Errors) -> Option<&'a FieldsNamed> {
    let message = match &input.data {
        Data::Struct(data) => match &data.fields {
            Fields::Named(fields) if !fields.named.is_empty() => return Some(fields),
            Fields::Unnamed(_) => {
                "a record's fields are columns, and columns have names: write a struct with named \
                 fields"
            }
            _ => "a record has a field for each column: write `id: i64`, and others",
        },
        Data::Enum(_) => {
            "a record is a struct: for an enum kept in a column write `#[derive(Field)]`"
        }
        Data::Union(_) => "a record is a struct: a union's fields share one place",
    };
    errors.at(input.ident.to_token_stream(), message);
    None
}
