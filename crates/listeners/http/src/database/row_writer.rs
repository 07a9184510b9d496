//! Writes single rows. Concurrent writes of one client share a transaction.

use crate::database::handle::DatabaseHandle;
use crate::database::table::CachedTable;
use crate::memory_budget::MemoryBudget;
use crate::problem::Problem;
use crate::workers::blocking;
use bobak_core::{Engine, FieldSet, Outcome, Result, TableSchema, Value, Verb, Write};
use std::sync::Arc;

/// A row to write, with all generated values.
pub(crate) struct PreparedWrite {
    pub table: Arc<CachedTable>,
    /// The table's schema for this row: see [`CachedTable::insert_schema`].
    pub schema: Arc<TableSchema>,
    pub verb: Verb,
    pub fields: FieldSet,
    /// As in [`Write`].
    pub values: Vec<Value<'static>>,
}

/// Parses a body of so many bytes: on this thread if it is short, else on a worker thread.
///
/// # Errors
/// Those of `parse`.
pub(crate) async fn parse_body<R: Send + 'static>(
    bytes: usize,
    parse: impl FnOnce() -> Result<R, Problem> + Send + 'static,
) -> Result<R, Problem> {
    if MemoryBudget::is_small(bytes) { parse() } else { blocking::run(parse).await }
}

/// Writes a row, and then calls `then` with the outcome.
///
/// # Errors
/// The engine's, with the table's name; those of `then`.
pub(crate) async fn write<R: Send + 'static>(
    database: &Arc<DatabaseHandle>,
    row: PreparedWrite,
    then: impl FnOnce(&dyn Engine, Outcome) -> Result<R, Problem> + Send + 'static,
) -> Result<R, Problem> {
    let PreparedWrite { table, schema, verb, fields, values } = row;
    let Some(writer) = &database.writer else {
        let database = Arc::clone(database);
        return blocking::run(move || {
            let write = Write { table: &schema, verb, fields, values: &values };
            let outcome = database.engine.write(&write).map_err(|error| table.name_error(error))?;
            then(&*database.engine, outcome)
        })
        .await;
    };
    let result = writer.write(&schema, verb, fields, values).await;
    let outcome = result.map_err(|error| table.name_error(error))?;
    database.read(&table, move |engine| then(engine, outcome)).await
}
