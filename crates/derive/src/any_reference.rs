//! `#[derive(AnyReference)]`: an enum with a variant for each record type, which holds the key.

use crate::attr::{crate_path, default_crate, items};
use crate::errors::Errors;
use proc_macro2::{Ident, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Data, DeriveInput, Fields, Type};

/// A variant for a record type.
struct Variant<'a> {
    ident: &'a Ident,
    /// The record.
    record: TokenStream,
    /// The type of its key.
    key: &'a Type,
}

/// The expansion, or every mistake.
pub fn derive(input: &DeriveInput) -> TokenStream {
    let mut errors = Errors::default();
    let mut krate = default_crate();
    for item in items(&input.attrs, "any", &[], &mut errors) {
        match item.name.to_string().as_str() {
            "crate" => krate = crate_path(&item, &mut errors).unwrap_or(krate),
            _ => item.unknown(&["crate"], &["record"], "a variant", &mut errors),
        }
    }
    let variants = parse(input, &mut errors);
    errors.or_expand(variants, |variants| expand(&input.ident, &krate, variants))
}

fn parse<'a>(input: &'a DeriveInput, errors: &mut Errors) -> Option<Vec<Variant<'a>>> {
    let wrong = "write an enum with a variant for each record type, which holds its key: \
                 `enum Target { Article(i64), Photo(i64) }`";
    let Data::Enum(data) = &input.data else {
        errors.at(&input.ident, wrong);
        return None;
    };
    let mut variants = Vec::new();
    for variant in &data.variants {
        let ident = &variant.ident;
        let mut record = quote!(#ident);
        for item in items(&variant.attrs, "any", &[], errors) {
            match item.name.to_string().as_str() {
                "record" => record = item.tokens("record = path::Article", errors)?,
                _ => item.unknown(&["record"], &["crate"], "the enum", errors),
            }
        }
        match &variant.fields {
            Fields::Unnamed(fields) if fields.unnamed.len() == 1 => {
                variants.extend(fields.unnamed.first().map(|field| Variant {
                    ident,
                    record,
                    key: &field.ty,
                }));
            }
            _ => errors.at(ident, wrong),
        }
    }
    if variants.is_empty() || !input.generics.params.is_empty() {
        errors.at(&input.ident, wrong);
        return None;
    }
    Some(variants)
}

fn expand(ident: &Ident, krate: &TokenStream, variants: &[Variant<'_>]) -> TokenStream {
    let names: Vec<_> = variants.iter().map(|variant| variant.ident).collect();
    let records: Vec<_> = variants
        .iter()
        .map(|Variant { record, .. }| quote_spanned!(record.span()=> <#record as __bobak::Record>))
        .collect();
    let first = variants.first().map(|variant| variant.key);
    let checks =
        variants.iter().zip(&records).map(|(Variant { ident: name, key, record }, own)| {
            let message = "the records have keys of different types: one column holds them";
            quote_spanned! {key.span()=>
                const _: fn(#own::Key) -> #ident = #ident::#name;
                const _: () = ::core::assert!(
                    <#key as __bobak::Field>::TYPE.storage() as u8
                        == <#first as __bobak::Field>::TYPE.storage() as u8,
                    #message
                );
                #[automatically_derived]
                impl __bobak::RefersTo<#record> for #ident {}
            }
        });
    quote! {
        #[allow(deprecated, unused_qualifications)]
        const _: () = {
            use #krate::__private as __bobak;
            #(#checks)*
            #[automatically_derived]
            impl __bobak::AnyReference for #ident {
                type Table = ::std::string::String;
                type Key = #first;

                fn table_value(&self) -> __bobak::Value<'static> {
                    __bobak::Value::from(match self {
                        #(Self::#names(_) => #records::TABLE,)*
                    })
                }

                fn key_value(&self) -> __bobak::Result<__bobak::Value<'_>> {
                    match self {
                        #(Self::#names(key) => __bobak::Field::to_value(key),)*
                    }
                }

                fn from_values(
                    table: __bobak::ValueRef<'_>,
                    key: __bobak::ValueRef<'_>,
                ) -> __bobak::Result<Self> {
                    #(
                        if table == __bobak::ValueRef::Text(#records::TABLE) {
                            return __bobak::Field::from_value(key).map(Self::#names);
                        }
                    )*
                    ::core::result::Result::Err(
                        __bobak::unknown_table(table, &[#(#records::TABLE),*]),
                    )
                }
            }
        };
    }
}
