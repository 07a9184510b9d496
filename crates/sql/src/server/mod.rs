//! What the engines of one server share, whichever way they reach it: they read its catalog, change its schema, and say
//! what its errors mean.
//!
//! Nothing here sends anything: [`SqlServer`] is the caller's connection.

mod forward_references;
pub mod mysql_alter;
pub mod mysql_catalog;
pub mod mysql_errors;
pub mod postgres_alter;
pub mod postgres_catalog;
pub mod postgres_errors;

pub use forward_references::{has_forward_references, with_forward_references_last};

use crate::Dialect;
use bobak_core::{Result, Row, TableSchema, Value};

/// A connection to a server, as what reads and changes schemas sees it.
pub trait SqlServer {
    /// The server's dialect.
    fn dialect(&self) -> Dialect;

    /// Runs a statement that only reads, and calls `row` for each row.
    ///
    /// # Errors
    /// Those of the server and the connection.
    fn ask(&mut self, sql: &str, values: &[Value<'_>], row: &mut dyn FnMut(&dyn Row))
    -> Result<()>;

    /// Runs a statement that changes a table's schema.
    ///
    /// # Errors
    /// Those of the server and the connection, which name the table.
    fn run(&mut self, table: &TableSchema, sql: &str) -> Result<()>;
}
