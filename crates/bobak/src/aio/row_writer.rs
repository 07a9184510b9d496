//! Rows that no struct describes, on their way through a lane.

use super::answer::{Answer, Slot, Wanted, lock};
use super::group::LoneWrite;
use super::lane::Lane;
use super::workers::Workers;
use bobak_core::{
    Batch, Engine, Error, ErrorKind, FieldSet, Outcome, Result, TableSchema, Value, Verb, Write,
};
use std::sync::{Arc, Mutex};

/// The line of single writes before an engine, for rows whose type is known only at run time: what
/// a server writes for its clients. Those that wait are written together, each with a result of its
/// own; a lone one waits for nobody. Cheap to clone: clones are the same line.
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
    lane: Arc<Lane>,
    workers: Workers,
}

/// A row to write, and where its result comes.
struct RowWrite {
    engine: Arc<dyn Engine>,
    table: Arc<TableSchema>,
    verb: Verb,
    fields: FieldSet,
    work: Mutex<Work>,
    slot: Slot<Result<Outcome>>,
}

#[derive(Default)]
struct Work {
    values: Option<Vec<Value<'static>>>,
    begun: bool,
}

impl RowWriter {
    /// A line of its own before this engine. One thread at a time writes what waits in it.
    #[must_use]
    pub fn new(engine: Arc<dyn Engine>, workers: &Workers) -> Self {
        let lane = Arc::new(Lane::new(Arc::clone(&engine)));
        Self { engine, lane, workers: workers.clone() }
    }

    /// Writes a row, when the answer is polled first; dropped before a thread has begun with it,
    /// nothing is written. The values are as in [`Write`]: complete, and in schema order.
    ///
    /// # Errors
    /// Those of [`Engine::write`].
    pub fn write(
        &self,
        table: &Arc<TableSchema>,
        verb: Verb,
        fields: FieldSet,
        values: Vec<Value<'static>>,
    ) -> Answer<Result<Outcome>> {
        let write = Arc::new(RowWrite {
            engine: Arc::clone(&self.engine),
            table: Arc::clone(table),
            verb,
            fields,
            work: Mutex::new(Work { values: Some(values), begun: false }),
            slot: Slot::new(),
        });
        let (queued, lane) = (Arc::clone(&write), Arc::clone(&self.lane));
        Answer::new(&self.workers, write, move |pool| lane.push_lone(pool, queued))
    }
}

impl std::fmt::Debug for RowWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RowWriter").field("engine", &self.engine.name()).finish_non_exhaustive()
    }
}

impl RowWrite {
    /// Does something with the write as engines take it.
    fn with<R>(&self, act: impl FnOnce(&Write<'_>) -> Result<R>) -> Result<R> {
        let work = lock(&self.work);
        let Some(values) = &work.values else {
            return Err(Error::new(ErrorKind::Misuse, "the row was written"));
        };
        act(&Write { table: &self.table, verb: self.verb, fields: self.fields, values })
    }

    fn done(&self, result: Result<Outcome>) {
        lock(&self.work).values = None;
        self.slot.put(Ok(result));
    }
}

impl LoneWrite for RowWrite {
    fn begin(&self) -> bool {
        let mut work = lock(&self.work);
        work.begun = work.values.is_some();
        work.begun
    }

    fn push(&self, batch: &mut Batch) -> Result<()> {
        self.with(|write| batch.push(write))
    }

    fn write(&self) {
        self.done(self.with(|write| self.engine.write(write)));
    }

    fn finish(&self, outcome: Result<Outcome>) {
        self.done(outcome);
    }
}

impl Wanted<Result<Outcome>> for RowWrite {
    fn slot(&self) -> &Slot<Result<Outcome>> {
        &self.slot
    }

    fn cancel(&self) {
        let mut work = lock(&self.work);
        // What was begun is in a transaction with what others want.
        if !work.begun {
            work.values = None;
        }
    }
}
