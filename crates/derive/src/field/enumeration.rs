//! Enums without data: stored as text, or as an integer.

use crate::attr::{At, Item, crate_path, default_crate, items};
use crate::errors::Errors;
use crate::names::{Case, ident, plain};
use proc_macro2::{Ident, TokenStream};
use quote::quote;
use syn::{Attribute, DataEnum, DeriveInput, Expr, ExprLit, ExprUnary, Lit, UnOp, Variant};

/// An enum, and what each variant is stored as.
pub struct Enumeration<'a> {
    ident: &'a Ident,
    krate: TokenStream,
    variants: &'a DataEnum,
    stored: StoredValues,
}

enum StoredValues {
    Text(Vec<String>),
    Integer(Vec<i64>),
}

#[derive(Clone, Copy, PartialEq)]
enum Store {
    Text,
    Integer,
}

struct EnumAttrs {
    krate: TokenStream,
    store: Option<Store>,
    rename_all: Option<At<Case>>,
}

const STORES: &[(&str, Store)] = &[("text", Store::Text), ("integer", Store::Integer)];
const ON_ENUM: &[&str] = &["store", "rename_all", "crate"];

impl<'a> Enumeration<'a> {
    /// Reads an enum.
    pub fn parse(input: &'a DeriveInput, data: &'a DataEnum, errors: &mut Errors) -> Option<Self> {
        let attrs = EnumAttrs::parse(&input.attrs, &input.ident, errors);
        if data.variants.is_empty() {
            errors.at(&input.ident, "the enum has no variant, so no value can be stored: add one");
        }
        for variant in data.variants.iter().filter(|variant| !variant.fields.is_empty()) {
            let message = format!(
                "`{}` holds data: a column takes variants without. Keep the enum in Json<…>, or \
                 its data in columns of their own",
                variant.ident
            );
            errors.at(&variant.fields, message);
        }
        let stored = match attrs.store {
            Some(Store::Text) => StoredValues::Text(texts(data, attrs.rename_all, errors)),
            Some(Store::Integer) => {
                reject_renames(data, attrs.rename_all, errors);
                StoredValues::Integer(integers(data, errors))
            }
            None => {
                texts(data, attrs.rename_all, errors);
                return None;
            }
        };
        Some(Self { ident: &input.ident, krate: attrs.krate, variants: data, stored })
    }

    /// The implementation.
    pub fn expand(&self) -> TokenStream {
        let Self { ident: name, krate, .. } = self;
        let variants: Vec<_> =
            self.variants.variants.iter().map(|variant| &variant.ident).collect();
        let (ty, class, stored, allowed) = match &self.stored {
            StoredValues::Text(texts) => {
                let allowed = texts.iter().map(|text| format!("'{text}'"));
                ("Text", "Text", quote_all(texts), list(allowed))
            }
            StoredValues::Integer(numbers) => {
                ("I64", "Int", quote_all(numbers), list(numbers.iter().map(i64::to_string)))
            }
        };
        let (ty, class) = (ident(ty), ident(class));
        let unknown = unknown(&plain(name), &allowed);
        let member = self.set_member(&variants);
        quote! {
            #[allow(deprecated, unused_qualifications)]
            const _: () = {
                use #krate::__private as __bobak;
                #[automatically_derived]
                impl __bobak::FromRow for #name {
                    fn width() -> ::core::option::Option<usize> {
                        ::core::option::Option::Some(1)
                    }

                    fn from_row(row: &dyn __bobak::Row) -> __bobak::Result<Self> {
                        __bobak::read_result(row, 0)
                    }
                }
                #[automatically_derived]
                impl __bobak::Field for #name {
                    const TYPE: __bobak::Type = __bobak::Type::#ty;

                    #[inline]
                    fn to_value(&self) -> __bobak::Result<__bobak::Value<'_>> {
                        let stored = match self {
                            #(Self::#variants => #stored,)*
                        };
                        ::core::result::Result::Ok(__bobak::Value::from(stored))
                    }

                    fn from_value(value: __bobak::ValueRef<'_>) -> __bobak::Result<Self> {
                        ::core::result::Result::Ok(match value {
                            #(__bobak::ValueRef::#class(#stored) => Self::#variants,)*
                            _ => return ::core::result::Result::Err(#unknown),
                        })
                    }
                }
                #member
            };
        }
    }

    /// Lets its values be in sets, if each number is that of a bit.
    fn set_member(&self, variants: &[&Ident]) -> TokenStream {
        let StoredValues::Integer(numbers) = &self.stored else { return TokenStream::new() };
        let numbers: Vec<u32> =
            numbers.iter().filter_map(|number| u32::try_from(*number).ok()).collect();
        if numbers.len() != variants.len() || numbers.iter().any(|number| *number > 62) {
            return TokenStream::new();
        }
        let name = self.ident;
        quote! {
            #[automatically_derived]
            impl __bobak::SetMember for #name {
                const ALL: &'static [Self] = &[#(Self::#variants),*];

                #[inline]
                fn number(&self) -> u32 {
                    match self {
                        #(Self::#variants => #numbers,)*
                    }
                }
            }
        }
    }
}

impl EnumAttrs {
    fn parse(attributes: &[Attribute], name: &Ident, errors: &mut Errors) -> Self {
        let mut attrs = Self { krate: default_crate(), store: None, rename_all: None };
        let items = items(attributes, "field", &[], errors);
        for item in &items {
            match item.name.to_string().as_str() {
                "crate" => attrs.krate = crate_path(item, errors).unwrap_or(attrs.krate),
                "store" => attrs.store = item.one_of(STORES, errors).map(|store| store.value),
                "rename_all" => attrs.rename_all = item.one_of(Case::ALL, errors),
                _ => item.unknown(ON_ENUM, &["rename"], "a variant", errors),
            }
        }
        if !items.iter().any(|item| item.name == "store") {
            let message = format!(
                "say how `{name}` is stored: write `#[field(store = \"text\")]` for the names of \
                 the variants, or `#[field(store = \"integer\")]` for their numbers"
            );
            errors.at(name, message);
        }
        attrs
    }
}

/// The attributes of a variant.
fn variant_items(variant: &Variant, errors: &mut Errors) -> Vec<Item> {
    let mut items = items(&variant.attrs, "field", &[], errors);
    items.retain(|item| {
        let known = item.name == "rename";
        if !known {
            item.unknown(&["rename"], ON_ENUM, "the enum", errors);
        }
        known
    });
    items
}

/// The text of each variant.
fn texts(data: &DataEnum, rename_all: Option<At<Case>>, errors: &mut Errors) -> Vec<String> {
    let mut texts: Vec<String> = Vec::new();
    for variant in &data.variants {
        let name = plain(&variant.ident);
        let renamed = variant_items(variant, errors)
            .first()
            .and_then(|item| item.text(r#"rename = "name""#, errors));
        let text = match (&renamed, &rename_all) {
            (Some(renamed), _) => renamed.value.clone(),
            (None, Some(case)) => case.value.apply(&name),
            (None, None) => name,
        };
        if texts.contains(&text) {
            let message = format!("another variant is stored as '{text}': rename one of them");
            match renamed {
                Some(renamed) => errors.at(renamed.at, message),
                None => errors.at(&variant.ident, message),
            }
        }
        texts.push(text);
    }
    texts
}

/// The number of each variant, as the compiler counts them.
fn integers(data: &DataEnum, errors: &mut Errors) -> Vec<i64> {
    let mut numbers = Vec::new();
    let mut next = Some(0);
    for variant in &data.variants {
        let number = match &variant.discriminant {
            Some((_, expression)) => integer(expression).or_else(|| {
                let message = "write the number itself, from -9223372036854775808 to \
                               9223372036854775807: the derive cannot evaluate expressions";
                errors.at(expression, message);
                Some(0)
            }),
            None => next,
        };
        let Some(number) = number else {
            errors
                .at(&variant.ident, "the number is more than engines store: give it a smaller one");
            return numbers;
        };
        numbers.push(number);
        next = number.checked_add(1);
    }
    numbers
}

fn integer(expression: &Expr) -> Option<i64> {
    let (sign, literal) = match expression {
        Expr::Unary(ExprUnary { op: UnOp::Neg(_), expr, .. }) => ("-", &**expr),
        _ => ("", expression),
    };
    match literal {
        Expr::Lit(ExprLit { lit: Lit::Int(literal), .. }) => {
            format!("{sign}{}", literal.base10_digits()).parse().ok()
        }
        Expr::Group(group) => integer(&group.expr),
        _ => None,
    }
}

fn reject_renames(data: &DataEnum, rename_all: Option<At<Case>>, errors: &mut Errors) {
    let message = "names are not stored with `store = \"integer\"`: remove it";
    if let Some(rename_all) = rename_all {
        errors.at(rename_all.at, message);
    }
    for variant in &data.variants {
        for item in variant_items(variant, errors) {
            errors.at(item, message);
        }
    }
}

/// The error for a value that no variant has.
fn unknown(name: &str, allowed: &str) -> TokenStream {
    let message = format!(
        "{{found}} is not a {name}: expected one of {}",
        allowed.replace('{', "{{").replace('}', "}}")
    );
    quote! {{
        let found = match value {
            __bobak::ValueRef::Null => {
                ::std::string::String::from("NULL, in a field that is not an Option,")
            }
            __bobak::ValueRef::Int(found) => ::std::format!("{found}"),
            // A long text is shown as far as it tells something.
            __bobak::ValueRef::Text(found) => ::std::format!("'{found:.40}'"),
            found => ::std::format!("a value of class {}", found.class()),
        };
        __bobak::Error::new(__bobak::ErrorKind::Mismatch, ::std::format!(#message))
    }}
}

fn quote_all<T: quote::ToTokens>(values: &[T]) -> Vec<TokenStream> {
    values.iter().map(|value| quote!(#value)).collect()
}

fn list(values: impl Iterator<Item = String>) -> String {
    values.collect::<Vec<_>>().join(", ")
}
