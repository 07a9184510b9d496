//! `#[derive(Field)]`: enums of unit variants, and newtypes.

mod enumeration;
mod newtype;

use crate::errors::Errors;
use proc_macro2::TokenStream;
use syn::{Data, DeriveInput, Fields};

/// The expansion, or every mistake.
pub fn derive(input: &DeriveInput) -> TokenStream {
    let mut errors = Errors::default();
    if !input.generics.params.is_empty() {
        let message = "a field's type has no parameters here: write it for one type, or implement \
                       Field by hand";
        errors.at(&input.generics.params, message);
    }
    match &input.data {
        Data::Enum(data) => {
            let parsed = enumeration::Enumeration::parse(input, data, &mut errors);
            errors.or_expand(parsed, enumeration::Enumeration::expand)
        }
        Data::Struct(data) if matches!(data.fields, Fields::Unnamed(_)) => {
            let parsed = newtype::Newtype::parse(input, &data.fields, &mut errors);
            errors.or_expand(parsed, newtype::Newtype::expand)
        }
        _ => {
            let message = "Field is for enums without data and for newtypes, such as \
                           `struct Email(String);`: keep other types in Json<…>, or implement \
                           Field by hand";
            errors.at(&input.ident, message);
            errors.or_expand(None::<()>, |()| TokenStream::new())
        }
    }
}
