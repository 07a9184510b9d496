//! `struct Email(String)`: a column as the type inside has it.

use crate::attr::{crate_path, default_crate, items};
use crate::errors::Errors;
use proc_macro2::{Ident, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{DeriveInput, Fields, Type};

/// A struct around one field.
pub struct Newtype<'a> {
    ident: &'a Ident,
    krate: TokenStream,
    inner: &'a Type,
}

impl<'a> Newtype<'a> {
    /// Reads a tuple struct.
    pub fn parse(input: &'a DeriveInput, fields: &'a Fields, errors: &mut Errors) -> Option<Self> {
        let mut krate = default_crate();
        for item in items(&input.attrs, "field", &[], errors) {
            match item.name.to_string().as_str() {
                "crate" => krate = crate_path(&item, errors).unwrap_or(krate),
                _ => item.unknown(&["crate"], &["store", "rename_all", "rename"], "enums", errors),
            }
        }
        for field in fields {
            for item in items(&field.attrs, "field", &[], errors) {
                let message = "a newtype is stored as its field is: remove the attribute";
                errors.at(item, message);
            }
        }
        let mut fields_left = fields.iter();
        let (Some(field), None) = (fields_left.next(), fields_left.next()) else {
            let message = "a newtype has one field: keep several in columns of their own, or in \
                           Json<…>";
            errors.at(&input.ident, message);
            return None;
        };
        Some(Self { ident: &input.ident, krate, inner: &field.ty })
    }

    /// Passes everything through.
    pub fn expand(&self) -> TokenStream {
        let Self { ident, krate, inner } = self;
        let field = quote_spanned!(inner.span()=> <#inner as __bobak::Field>);
        quote! {
            #[allow(deprecated, unused_qualifications)]
            const _: () = {
                use #krate::__private as __bobak;
                #[automatically_derived]
                impl __bobak::FromRow for #ident {
                    fn width() -> ::core::option::Option<usize> {
                        ::core::option::Option::Some(1)
                    }

                    fn from_row(row: &dyn __bobak::Row) -> __bobak::Result<Self> {
                        __bobak::read_result(row, 0)
                    }
                }
                #[automatically_derived]
                impl __bobak::Field for #ident {
                    const TYPE: __bobak::Type = #field::TYPE;
                    const NULLABLE: bool = #field::NULLABLE;

                    #[inline]
                    fn to_value(&self) -> __bobak::Result<__bobak::Value<'_>> {
                        #field::to_value(&self.0)
                    }

                    #[inline]
                    fn from_value(value: __bobak::ValueRef<'_>) -> __bobak::Result<Self> {
                        #field::from_value(value).map(Self)
                    }

                    #[inline]
                    fn read_from(&mut self, value: __bobak::ValueRef<'_>) -> __bobak::Result<()> {
                        #field::read_from(&mut self.0, value)
                    }
                }
            };
        }
    }
}
