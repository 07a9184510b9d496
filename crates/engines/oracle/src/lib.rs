//! The engine for Oracle Database, from version 19c on. It has not been run against one by us: see `docs/oracle.md`.
//!
//! Reading order: settings → the driver and what it does for the engine → connections and their pool → names, columns and values →
//! sessions → writes of rows, batches, queries → the schema.
//!
//! Oracle has no empty texts and no empty bytes, no truth values, and commits whenever the schema changes. See
//! `docs/oracle.md` for what that means here.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod batch;
mod binds;
mod catalog;
mod checks;
mod columns;
mod connection;
mod dialect;
#[doc(hidden)]
pub mod driver;
mod engine;
mod error;
mod names;
mod pool;
mod query;
mod rows;
mod schema;
mod sequences;
mod session;
mod settings;
mod sql_text;
mod texts;
mod values;
mod writes;

pub use engine::Oracle;
pub use settings::{OracleBuilder, OracleIsolation};

/// The statements that create tables, and those of their rows, for tests that parse them.
///
/// # Errors
/// Those of [`Session::alter`](bobak_core::Session::alter) for tables that Oracle cannot have.
#[doc(hidden)]
pub fn statements(table: &bobak_core::TableSchema) -> bobak_core::Result<Vec<String>> {
    let mut statements = schema::created(table)?;
    statements.extend(texts::all(table));
    statements.push(sql_text::sample(table)?);
    Ok(statements)
}

/// The queries of the catalog, for tests that parse them.
#[doc(hidden)]
pub fn catalog_queries() -> Vec<String> {
    let queries = catalog::QUERIES.iter().map(|(sql, _)| *sql).chain([catalog::CONSTRAINT]);
    queries.map(str::to_owned).collect()
}
