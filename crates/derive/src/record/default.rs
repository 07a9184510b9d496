//! `default = literal`: what it is, and which columns it fits.

use crate::attr::{At, Item};
use crate::errors::Errors;
use crate::types::Plain;
use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::parse::ParseStream;
use syn::{Lit, Token};

/// A column's default.
#[derive(Clone, PartialEq)]
pub enum Default {
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
}

impl Default {
    /// Reads the attribute.
    pub fn parse(item: &Item, errors: &mut Errors) -> Option<At<Self>> {
        let example = r#"default = 0`, `default = -1.5`, `default = true` or `default = "text""#;
        item.parse_with(literal, example, errors).map(|value| item.at(value))
    }

    /// Whether a column of this type is known not to hold it; then what is wrong.
    pub fn misfit(&self, plain: Plain) -> Option<String> {
        let fits = match (self, plain) {
            (_, Plain::Unknown | Plain::Rejected(_))
            | (Self::Bool(_), Plain::Bool)
            | (Self::Int(_) | Self::Float(_), Plain::Float)
            | (Self::Text(_), Plain::Text) => true,
            (Self::Int(value), Plain::Integer(name, low, high)) => {
                if !(low..=high).contains(value) {
                    return Some(format!("{value} does not fit {name}: write {low} to {high}"));
                }
                true
            }
            _ => false,
        };
        let example = match plain {
            Plain::Bool => "true or false",
            Plain::Integer(..) => "an integer, such as 0",
            Plain::Float => "a number, such as 0.5",
            _ => "a text, such as \"new\"",
        };
        (!fits).then(|| format!("the default is not of the field's type: write {example}"))
    }

    /// The condition, over the constant `ty`, that a column of a type known only to the compiler
    /// can hold it.
    pub fn fits(&self) -> TokenStream {
        let integers = quote!(
            Type::I8
                | Type::I16
                | Type::I32
                | Type::I64
                | Type::U8
                | Type::U16
                | Type::U32
                | Type::U64
        );
        match self {
            Self::Bool(_) => quote!(Type::Bool | Type::Any),
            // Nothing is nothing in every currency; other amounts could be units or steps.
            Self::Int(0) => quote!(Type::Currency | Type::Any | #integers),
            Self::Int(_) => quote!(Type::Any | #integers),
            Self::Float(_) => quote!(Type::F32 | Type::F64 | Type::Any),
            Self::Text(_) => quote!(Type::Text | Type::Json | Type::Any),
        }
    }

    /// What the builder takes.
    pub fn expand(&self, plain: Plain) -> TokenStream {
        match self {
            Self::Int(value) if plain == Plain::Float => (*value as f64).into_token_stream(),
            Self::Bool(value) => value.into_token_stream(),
            Self::Int(value) => value.into_token_stream(),
            Self::Float(value) => value.into_token_stream(),
            Self::Text(value) => value.into_token_stream(),
        }
    }
}

fn literal(input: ParseStream<'_>) -> syn::Result<Default> {
    let minus: Option<Token![-]> = input.parse()?;
    let sign = if minus.is_some() { "-" } else { "" };
    let literal: Lit = input.parse()?;
    let wrong = || syn::Error::new_spanned(&literal, "no default");
    match &literal {
        Lit::Int(int) => {
            let value = format!("{sign}{}", int.base10_digits());
            value.parse().map(Default::Int).map_err(|_| wrong())
        }
        Lit::Float(float) => {
            let value: Result<f64, _> = format!("{sign}{}", float.base10_digits()).parse();
            let finite = value.ok().filter(|value| value.is_finite());
            finite.map(Default::Float).ok_or_else(wrong)
        }
        Lit::Bool(bool) if minus.is_none() => Ok(Default::Bool(bool.value)),
        Lit::Str(text) if minus.is_none() => Ok(Default::Text(text.value())),
        _ => Err(wrong()),
    }
}
