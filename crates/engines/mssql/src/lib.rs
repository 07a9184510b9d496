//! The engine for SQL Server, from version 2017 on.
//!
//! Reading order: settings → the protocol → connections and their pool → names, columns and values → sessions → writes of
//! rows, batches, queries → the schema.
//!
//! SQL Server ignores spaces at the end of texts that it compares, takes two NULLs for equal in a unique index, and has no
//! truth values. See `docs/mssql.md` for what that means here.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod batch;
mod bulk;
mod catalog;
mod checks;
mod columns;
mod connection;
mod dialect;
mod engine;
mod error;
mod rows;
mod schema;
mod session;
mod settings;
mod sql_text;
mod texts;
mod values;
mod wire;
mod writes;

pub use engine::Mssql;
pub use settings::{Encrypt, MssqlBuilder, MssqlIsolation};

#[doc(hidden)]
pub mod fuzz {
    pub use crate::wire::decode_all;

    /// The statements that create a table.
    ///
    /// # Errors
    /// As [`statements`](crate::statements()).
    pub fn created(table: &bobak_core::TableSchema) -> bobak_core::Result<Vec<String>> {
        crate::schema::created(table)
    }
}

/// The statements that create tables, and those of their rows, for tests that parse them.
///
/// # Errors
/// Those of [`Session::alter`](bobak_core::Session::alter) for tables that SQL Server cannot have.
#[doc(hidden)]
pub fn statements(table: &bobak_core::TableSchema) -> bobak_core::Result<Vec<String>> {
    let mut statements = schema::created(table)?;
    statements.extend(texts::all(table));
    statements.push(sql_text::sample(table)?);
    Ok(statements)
}
