//! `#[derive(FromRow)]`: a struct from the rows of a query.

use crate::attr::{At, crate_path, default_crate, items};
use crate::errors::Errors;
use crate::names::plain;
use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Attribute, Data, DeriveInput, Field, Fields, Index, Member, Type};

/// The expansion, or every mistake.
pub fn derive(input: &DeriveInput) -> TokenStream {
    let mut errors = Errors::default();
    let target = RowAst::parse(input, &mut errors);
    if let Some(target) = &target {
        target.check(&mut errors);
    }
    errors.or_expand(target, RowAst::expand)
}

/// A struct that rows are read into.
struct RowAst<'a> {
    ident: &'a Ident,
    krate: TokenStream,
    by_name: bool,
    columns: Vec<RowField<'a>>,
    skipped: Vec<Member>,
}

struct RowField<'a> {
    member: Member,
    ty: &'a Type,
    name: String,
    at: TokenStream,
}

impl<'a> RowAst<'a> {
    fn parse(input: &'a DeriveInput, errors: &mut Errors) -> Option<Self> {
        if !input.generics.params.is_empty() {
            let message = "a row is read into a type without parameters: write the types that it \
                           has, owned ones";
            errors.at(&input.generics.params, message);
        }
        let krate = parse_crate(&input.attrs, errors);
        let Data::Struct(data) = &input.data else {
            errors.at(
                &input.ident,
                "a row is read into a struct: write one with a field for each column",
            );
            return None;
        };
        let mut target = Self {
            ident: &input.ident,
            krate,
            by_name: matches!(data.fields, Fields::Named(_)),
            columns: Vec::new(),
            skipped: Vec::new(),
        };
        for (place, field) in data.fields.iter().enumerate() {
            target.add(place, field, errors);
        }
        Some(target)
    }

    fn add(&mut self, place: usize, field: &'a Field, errors: &mut Errors) {
        let attrs = RowFieldAttrs::parse(field, errors);
        let member = match &field.ident {
            Some(ident) => Member::Named(ident.clone()),
            None => Member::Unnamed(Index { index: place as u32, span: field.ty.span() }),
        };
        if let (Some(column), false) = (&attrs.column, self.by_name) {
            let message = "a tuple struct is read by place: remove `column`, or name the fields";
            errors.at(&column.at, message);
        }
        if attrs.skip {
            if let Some(column) = &attrs.column {
                errors.at(&column.at, "a skipped field is not read: remove `column`");
            }
            self.skipped.push(member);
            return;
        }
        let (name, at) = match (attrs.column, &field.ident) {
            (Some(column), _) => (column.value, column.at),
            (None, Some(ident)) => (plain(ident), ident.to_token_stream()),
            (None, None) => (String::new(), field.ty.to_token_stream()),
        };
        self.columns.push(RowField { member, ty: &field.ty, name, at });
    }

    fn check(&self, errors: &mut Errors) {
        if self.columns.is_empty() {
            errors.at(self.ident, "nothing would be read: write a field for each column");
        }
        for (place, column) in self.columns.iter().enumerate().filter(|_| self.by_name) {
            let same = |other: &&RowField<'_>| other.name.eq_ignore_ascii_case(&column.name);
            if self.columns.iter().take(place).any(|other| same(&other)) {
                let message = format!(
                    "the column `{}` is already read (letter case does not count): give one of \
                     the fields another `column`",
                    column.name
                );
                errors.at(&column.at, message);
            }
        }
    }

    fn expand(&self) -> TokenStream {
        let Self { ident, krate, skipped, .. } = self;
        let fields = self.columns.iter().enumerate().map(|(place, column)| {
            let (member, ty) = (&column.member, column.ty);
            let name = if self.by_name { column.name.clone() } else { format!("number {place}") };
            let read = quote_spanned!(ty.span()=> __bobak::read_result::<#ty>);
            quote! {
                #member: #read(row, #place).map_err(|error| error.in_column(#name))?
            }
        });
        let (columns, check) = if self.by_name {
            (self.columns_by_name(), TokenStream::new())
        } else {
            (TokenStream::new(), self.check_length())
        };
        quote! {
            #[allow(deprecated, unused_qualifications)]
            const _: () = {
                use #krate::__private as __bobak;
                #[automatically_derived]
                impl __bobak::FromRow for #ident {
                    #columns

                    #[inline]
                    fn from_row(row: &dyn __bobak::Row) -> __bobak::Result<Self> {
                        #check
                        ::core::result::Result::Ok(Self {
                            #(#fields,)*
                            #(#skipped: ::core::default::Default::default(),)*
                        })
                    }
                }
            };
        }
    }

    fn columns_by_name(&self) -> TokenStream {
        let names = self.columns.iter().map(|column| &column.name);
        quote! {
            fn columns() -> ::core::option::Option<&'static [&'static str]> {
                ::core::option::Option::Some(&[#(#names),*])
            }
        }
    }

    /// Without it, a column that is not there would be read as NULL.
    fn check_length(&self) -> TokenStream {
        let count = self.columns.len();
        let message =
            format!("the row has fewer columns than {} reads: {count}", plain(self.ident));
        quote! {
            if row.len() < #count {
                return ::core::result::Result::Err(
                    __bobak::Error::new(__bobak::ErrorKind::Mismatch, #message)
                );
            }
        }
    }
}

/// `#[row(…)]` on a field.
#[derive(Default)]
struct RowFieldAttrs {
    column: Option<At<String>>,
    skip: bool,
}

impl RowFieldAttrs {
    fn parse(field: &Field, errors: &mut Errors) -> Self {
        let mut attrs = Self::default();
        for item in items(&field.attrs, "row", &[], errors) {
            match item.name.to_string().as_str() {
                "column" => attrs.column = item.name(r#"column = "name""#, errors),
                "skip" => {
                    item.flag(errors);
                    attrs.skip = true;
                }
                _ => item.unknown(&["column", "skip"], &["crate"], "the struct", errors),
            }
        }
        attrs
    }
}

fn parse_crate(attributes: &[Attribute], errors: &mut Errors) -> TokenStream {
    let mut krate = default_crate();
    for item in items(attributes, "row", &[], errors) {
        match item.name.to_string().as_str() {
            "crate" => krate = crate_path(&item, errors).unwrap_or(krate),
            _ => item.unknown(&["crate"], &["column", "skip"], "a field", errors),
        }
    }
    krate
}
