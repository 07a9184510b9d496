//! Queued writes of rows that no struct describes.

use super::future::DbFuture;
use crate::workers::Workers;
use crate::write_queue::{GROUP_LIMITS, OnDrop, WriteQueue};
use bobak_core::{Engine, FieldSet, Outcome, Result, TableSchema, Value, Verb, Write};
use std::sync::Arc;

/// A write queue for rows whose type is known only at run time, such as those that a server writes for its clients. Queued
/// rows are committed together, each with its own result; a single row is written at once. Cheap to clone: clones share
/// the queue.
///
/// ```
/// use bobak::aio::{RowWriter, Workers};
/// use bobak::engine::{FieldSet, SchemaChange, Verb, self};
/// use bobak::prelude::*;
/// # #[derive(Record)] struct City { id: i64, name: String }
/// # async fn program() -> Result<(), Error> {
/// let engine = engine::open("memory:")?;
/// engine.alter(&[SchemaChange::CreateTable(City::schema().clone())])?;
/// let writer = RowWriter::new(engine.clone(), &Workers::new(2)?);
/// let row = vec![Value::Int(7), Value::from("Bern")];
/// writer.write(City::schema(), Verb::Insert, FieldSet::EMPTY, row).await?;
/// assert!(engine.get(City::schema(), &[Value::Int(7)], &mut |_| Ok(()))?);
/// # Ok(())
/// # }
/// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
/// # runtime.block_on(program()).unwrap();
/// ```
#[derive(Clone)]
pub struct RowWriter(Arc<WriteQueue>);

impl RowWriter {
    /// A new queue in front of this engine, served by one thread at a time.
    #[must_use]
    pub fn new(engine: Arc<dyn Engine>, workers: &Workers) -> Self {
        Self(WriteQueue::new(engine, workers.clone(), GROUP_LIMITS, 0))
    }

    /// Queues a row once the future is polled. Dropping the future before a thread has started cancels the write. The values
    /// are as in [`Write`]: complete, and in schema order.
    ///
    /// # Errors
    /// Those of [`Engine::write`].
    pub fn write(
        &self,
        table: &Arc<TableSchema>,
        verb: Verb,
        fields: FieldSet,
        values: Vec<Value<'static>>,
    ) -> DbFuture<Result<Outcome>> {
        let (queue, table) = (Arc::clone(&self.0), Arc::clone(table));
        DbFuture::new(async move {
            let row = queue.push(OnDrop::Cancel(None), |batch| {
                batch.push(&Write { table: &table, verb, fields, values: &values })
            })?;
            drop(values);
            row.await
        })
    }
}

impl std::fmt::Debug for RowWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RowWriter").finish_non_exhaustive()
    }
}
