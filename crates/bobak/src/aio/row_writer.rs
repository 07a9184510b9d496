//! Queued writes of rows that no struct describes.

use super::future::{DbFuture, PendingWork, WorkSlot, lock};
use super::group::GroupedWrite;
use super::workers::Workers;
use super::write_queue::WriteQueue;
use bobak_core::{
    Engine, Error, ErrorKind, FieldSet, Outcome, Result, TableSchema, Value, Verb, Write,
    WriteBatch,
};
use std::sync::{Arc, Mutex};

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
pub struct RowWriter {
    engine: Arc<dyn Engine>,
    queue: Arc<WriteQueue>,
    workers: Workers,
}

/// A row to write, and the slot for the result.
struct QueuedRow {
    engine: Arc<dyn Engine>,
    table: Arc<TableSchema>,
    verb: Verb,
    fields: FieldSet,
    state: Mutex<QueuedRowState>,
    slot: WorkSlot<Result<Outcome>>,
}

#[derive(Default)]
struct QueuedRowState {
    /// `None` if the write was cancelled or is done.
    values: Option<Vec<Value<'static>>>,
    started: bool,
}

impl RowWriter {
    /// A new queue in front of this engine, served by one thread at a time.
    #[must_use]
    pub fn new(engine: Arc<dyn Engine>, workers: &Workers) -> Self {
        let queue = Arc::new(WriteQueue::new(Arc::clone(&engine)));
        Self { engine, queue, workers: workers.clone() }
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
        let write = Arc::new(QueuedRow {
            engine: Arc::clone(&self.engine),
            table: Arc::clone(table),
            verb,
            fields,
            state: Mutex::new(QueuedRowState { values: Some(values), started: false }),
            slot: WorkSlot::new(),
        });
        let (queued, queue) = (Arc::clone(&write), Arc::clone(&self.queue));
        DbFuture::new(&self.workers, write, move |pool| queue.enqueue_row(pool, queued))
    }
}

impl std::fmt::Debug for RowWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RowWriter").field("engine", &self.engine.name()).finish_non_exhaustive()
    }
}

impl QueuedRow {
    /// Calls `act` with the write in the form of the engine contract.
    fn with<R>(&self, act: impl FnOnce(&Write<'_>) -> Result<R>) -> Result<R> {
        let state = lock(&self.state);
        let Some(values) = &state.values else {
            return Err(Error::new(ErrorKind::Misuse, "the row was written already"));
        };
        act(&Write { table: &self.table, verb: self.verb, fields: self.fields, values })
    }

    fn done(&self, result: Result<Outcome>) {
        lock(&self.state).values = None;
        self.slot.put(Ok(result));
    }
}

impl GroupedWrite for QueuedRow {
    fn start(&self) -> bool {
        let mut state = lock(&self.state);
        state.started = state.values.is_some();
        state.started
    }

    fn encode(&self, batch: &mut WriteBatch) -> Result<()> {
        self.with(|write| batch.push(write))
    }

    fn write_alone(&self) {
        self.done(self.with(|write| self.engine.write(write)));
    }

    fn complete(&self, outcome: Result<Outcome>) {
        self.done(outcome);
    }
}

impl PendingWork<Result<Outcome>> for QueuedRow {
    fn slot(&self) -> &WorkSlot<Result<Outcome>> {
        &self.slot
    }

    fn cancel(&self) {
        let mut state = lock(&self.state);
        // A started write is in a transaction with the writes of others.
        if !state.started {
            state.values = None;
        }
    }
}
