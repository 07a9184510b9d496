//! `#[derive(Record)]`: parse the attributes, put the table together, check it, expand it.

mod assert;
mod ast;
mod attr;
mod check;
mod default;
mod expand;
mod foreign_key;
mod relations;
mod rules;
mod stub;

use crate::errors::Errors;
use ast::RecordAst;
use proc_macro2::TokenStream;
use syn::DeriveInput;

/// The expansion, or every mistake.
pub fn derive(input: &DeriveInput) -> TokenStream {
    let mut errors = Errors::default();
    let table = RecordAst::parse(input, &mut errors);
    if let Some(table) = &table {
        check::check(table, &mut errors);
    }
    let is_generic = !input.generics.params.is_empty();
    let stub = |table: &RecordAst<'_>| match is_generic {
        true => TokenStream::new(),
        false => stub::stub(table),
    };
    errors.or_expand_with(table, expand::expand, stub)
}

#[cfg(test)]
mod tests {
    use syn::parse_quote;

    #[test]
    fn a_record_of_four_fields_expands_to_at_most_150_lines() {
        let expansion = super::derive(&parse_quote! {
            /// A person.
            #[record(table = "people", index(last_name, first_name))]
            pub struct Person {
                pub id: i64,
                #[record(max = 40)]
                pub first_name: String,
                #[record(max = 40, collation = "unicode_nocase")]
                pub last_name: String,
                #[record(unique, check = "length(email) > 2")]
                pub email: Option<String>,
            }
        });
        let file = syn::parse2(expansion).expect("the expansion is Rust");
        let text = prettyplease::unparse(&file);
        let lines = text.lines().count();
        assert!(lines <= 150, "{lines} lines:\n{text}");
    }
}
