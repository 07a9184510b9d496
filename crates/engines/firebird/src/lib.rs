//! The engine for Firebird servers, from version 3 on.
//!
//! Reading order: settings → the wire protocol → connections and their pool → names, columns and values → sessions → writes
//! of rows, batches, queries → the catalog, comments and rules of tables → changes of the schema.
//!
//! Firebird has more writers at a time than one, and each sees the rows of the moment at which its transaction began. See
//! `docs/firebird.md`.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod alter;
mod batch;
mod block;
mod catalog;
mod checks;
mod columns;
mod comment;
mod connection;
mod dialect;
mod engine;
mod error;
mod firebird_table;
mod losses;
mod mode;
mod names;
mod pool;
mod query;
mod schema;
mod session;
mod settings;
mod sql_text;
mod table_rules;
mod values;
mod wire;
mod writes;

pub use engine::Firebird;
pub use settings::FirebirdBuilder;

#[doc(hidden)]
pub mod fuzz {
    /// The statements that create a table, for short names and long ones.
    ///
    /// # Errors
    /// Those of [`Session::alter`](bobak_core::Session::alter) for tables that Firebird cannot have.
    pub fn created(table: &bobak_core::TableSchema) -> bobak_core::Result<Vec<String>> {
        let names = [true, false].map(|is_short| crate::names::Names { is_short });
        let texts = names.map(|names| crate::schema::created(names, table));
        texts.into_iter().try_fold(Vec::new(), |mut all, texts| {
            all.extend(texts?);
            Ok(all)
        })
    }
}
