//! The implementations for a table with mistakes. They let the rest of the program compile, so that the compiler reports the
//! mistakes and not each use of the record.

use crate::record::ast::RecordAst;
use crate::record::check::MAX_KEY;
use crate::record::{expand, relations};
use crate::types::generic_argument;
use proc_macro2::TokenStream;
use quote::quote;

/// The constants of the columns, and a record whose methods do nothing: the program never runs. Nothing if the constants would
/// be further mistakes.
pub fn stub(table: &RecordAst<'_>) -> TokenStream {
    if relations::has_duplicate_constants(table) {
        return TokenStream::new();
    }
    let (krate, record) = (&table.krate, table.ident);
    let (constants, from_row) = (expand::constants(table), expand::from_row(table));
    let soft_delete = table.deleted_at().map(|_| {
        quote! {
            impl __bobak::SoftDelete for #record {
                const DELETION: __bobak::Column<Self, ::core::option::Option<__bobak::Timestamp>> =
                    __bobak::Column::new(0);
            }
        }
    });
    let keys: Vec<_> = table
        .key_columns()
        .map(|column| generic_argument(column.ty, "Option").unwrap_or(column.ty))
        .take(MAX_KEY)
        .collect();
    let key = if keys.len() == 1 { quote!(#(#keys)*) } else { quote!((#(#keys),*)) };
    quote! {
        #[allow(dead_code, deprecated, unused_qualifications, unused_variables)]
        const _: () = {
            use #krate::__private as __bobak;
            #constants
            #[automatically_derived]
            impl __bobak::Record for #record {
                type Key = #key;
                type Values<'a> = [__bobak::Value<'a>; 0];
                const TABLE: &'static str = "";
                const KEY_COLUMN: &'static str = "";
                fn schema() -> &'static __bobak::Arc<__bobak::TableSchema> {
                    ::core::unimplemented!()
                }
                fn key(&self) -> Self::Key {
                    ::core::unimplemented!()
                }
                fn values(&self) -> __bobak::Result<Self::Values<'_>> {
                    ::core::unimplemented!()
                }
                fn read(row: &dyn __bobak::Row) -> __bobak::Result<Self> {
                    ::core::unimplemented!()
                }
                fn read_from(&mut self, row: &dyn __bobak::Row) -> __bobak::Result<()> {
                    ::core::unimplemented!()
                }
            }
            #soft_delete
            #from_row
        };
    }
}
