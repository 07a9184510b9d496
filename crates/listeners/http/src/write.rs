//! Single rows on their way to the engine: those that one caller sends at the same time go together.

use crate::memory::Memory;
use crate::model::{Base, Table};
use crate::problem::Problem;
use crate::work;
use bobak_core::{Engine, FieldSet, Outcome, Result, TableSchema, Value, Verb, Write};
use std::sync::Arc;

/// A row to write, complete and stamped.
pub(crate) struct RowWrite {
    pub table: Arc<Table>,
    /// The table's description for this row.
    pub schema: Arc<TableSchema>,
    pub verb: Verb,
    pub fields: FieldSet,
    /// As in [`Write`].
    pub values: Vec<Value<'static>>,
}

/// Makes something of a body: here where the body is short, else on a worker.
///
/// # Errors
/// Those of `make`.
pub(crate) async fn prepare<R: Send + 'static>(
    bytes: usize,
    make: impl FnOnce() -> Result<R, Problem> + Send + 'static,
) -> Result<R, Problem> {
    if Memory::is_little(bytes) { make() } else { work::run(make).await }
}

/// Writes a row, and then does what is left to do with it, with what came of it.
///
/// # Errors
/// Those of the engine, with the table's name, and of `then`.
pub(crate) async fn write<R: Send + 'static>(
    base: &Arc<Base>,
    row: RowWrite,
    then: impl FnOnce(&dyn Engine, Outcome) -> Result<R, Problem> + Send + 'static,
) -> Result<R, Problem> {
    let RowWrite { table, schema, verb, fields, values } = row;
    let Some(writer) = &base.writer else {
        let base = Arc::clone(base);
        return work::run(move || {
            let write = Write { table: &schema, verb, fields, values: &values };
            let outcome = base.engine.write(&write).map_err(|error| table.name_error(error))?;
            then(&*base.engine, outcome)
        })
        .await;
    };
    let written = writer.write(&schema, verb, fields, values).await;
    let outcome = written.map_err(|error| table.name_error(error))?;
    base.read(&table, move |engine| then(engine, outcome)).await
}
