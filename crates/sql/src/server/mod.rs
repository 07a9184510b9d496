//! What the engines of one server share, whichever way they reach it: they read its catalog, change its schema, and say
//! what its errors mean.
//!
//! Nothing here sends anything: [`SqlServer`] is the caller's connection.

mod forward_references;
mod mariadb_expressions;
pub mod mysql_alter;
pub mod mysql_catalog;
pub mod mysql_details;
pub mod mysql_errors;
mod mysql_tracking;
pub mod postgres_alter;
pub mod postgres_catalog;
pub mod postgres_details;
pub mod postgres_errors;
mod postgres_expressions;
mod text_order;

pub use forward_references::{has_forward_references, with_forward_references_last};

use crate::Dialect;
use bobak_core::check::CheckExpression;
use bobak_core::{Result, Row, TableSchema, Value};

/// A table, and which CHECKs of the server its schema has.
#[derive(Clone, Debug)]
pub struct TableWithChecks {
    /// The table.
    pub schema: TableSchema,
    /// The names of the CHECKs that are in it, those of other programs too.
    pub checks: Vec<String>,
}

/// Adds CHECKs of other programs, each to a column that it names; `kept` are those that the table has. A
/// table that is invalid with them stays as it is.
fn add_checks(
    table: TableSchema,
    mut kept: Vec<String>,
    found: Vec<(String, usize, CheckExpression)>,
) -> TableWithChecks {
    let mut position = 0_usize;
    let with_found = table.clone().map_columns(|mut column| {
        let own = found.iter().filter(|(_, first, _)| *first == position);
        let own = own.map(|(.., check)| check.to_text(&table));
        let all: Vec<String> = column.check.iter().map(ToString::to_string).chain(own).collect();
        column.check = joined(&all, &table).map(Into::into);
        position += 1;
        column
    });
    match with_found {
        Ok(schema) => {
            kept.extend(found.into_iter().map(|(name, ..)| name));
            TableWithChecks { schema, checks: kept }
        }
        Err(_) => TableWithChecks { schema: table, checks: kept },
    }
}

/// One CHECK that is all of these.
fn joined(checks: &[String], table: &TableSchema) -> Option<String> {
    if let [] | [_] = checks {
        return checks.first().cloned();
    }
    let all = format!("({})", checks.join(") AND ("));
    Some(CheckExpression::parse(&all, table).map_or(all, |check| check.to_text(table)))
}

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
