//! Single writes whose results are fetched later.

mod options;
mod queue;
mod ticket;

pub use options::PipelineOptions;
pub use ticket::Ticket;

use crate::catalog::Catalog;
use bobak_core::{
    Error, ErrorKind, FieldSet, Key, Outcome, Record, Result, Verb, Write, WriteBatch,
};
use queue::PipelineQueue;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use ticket::ConvertOutcome;

/// Queues single writes: each call returns a [`Ticket`] at once.
///
/// Queued writes are committed together, so that one thread writes durably at many times the rate of one sync per row. A
/// ticket is done when its write is as durable as that of the plain call. A failed write does not affect the others.
/// Writes to one engine happen in the order of the calls; before a read that must see a write, wait for its ticket. Each
/// engine has a writing thread.
///
/// Dropping the pipeline blocks until everything is written.
///
/// ```
/// use bobak::pipeline::PipelineOptions;
/// use bobak::prelude::*;
/// # #[derive(Record)] struct Reading { id: i64, celsius: f64 }
/// # let folder = tempfile::tempdir().expect("a folder");
/// # let url = format!("sqlite:{}", folder.path().join("a.db").display());
/// let db = Db::builder().record::<Reading>().open(&url)?;
/// db.create_missing_tables()?;
/// let pipeline = db.pipeline(PipelineOptions::new());
/// let mut tickets = Vec::new();
/// for celsius in [20.5, 20.7, 21.0] {
///     tickets.push(pipeline.insert(&Reading { id: 0, celsius })?);
/// }
/// let mut ids = Vec::new();
/// for ticket in tickets {
///     ids.push(ticket.wait()?);
/// }
/// assert_eq!(ids, [1, 2, 3]);
/// # Ok::<(), Error>(())
/// ```
pub struct Pipeline {
    catalog: Arc<Catalog>,
    options: PipelineOptions,
    queues: Mutex<EngineQueues>,
}

/// The queues and their threads, by the index of the engine.
type EngineQueues = HashMap<usize, (Arc<PipelineQueue>, JoinHandle<()>)>;

impl Pipeline {
    pub(crate) fn new(catalog: Arc<Catalog>, options: PipelineOptions) -> Self {
        Self { catalog, options, queues: Mutex::default() }
    }

    /// Inserts a record, as [`Table::insert`](crate::Table::insert); the ticket returns its key.
    ///
    /// # Errors
    /// At once: `TooLong`, `OutOfRange` for the record; `Schema` as
    /// [`Db::table`](crate::Db::table); `Busy` if the queue stays full. From the ticket: those of the engine.
    pub fn insert<T: Record>(&self, record: &T) -> Result<Ticket<T::Key>> {
        let given = Some(record.key());
        self.enqueue::<T, _>(key_of, given, |w| {
            w.push_record(Verb::Insert, FieldSet::EMPTY, record)
        })
    }

    /// Inserts or updates a record, as [`Table::upsert`](crate::Table::upsert).
    ///
    /// # Errors
    /// As [`insert`](Pipeline::insert).
    pub fn upsert<T: Record>(&self, record: &T) -> Result<Ticket<T::Key>> {
        let (given, fields) = (Some(record.key()), T::schema().updated_fields());
        self.enqueue::<T, _>(key_of, given, |w| w.push_record(Verb::Upsert, fields, record))
    }

    /// Updates a record, as [`Table::update`](crate::Table::update).
    ///
    /// # Errors
    /// As [`insert`](Pipeline::insert).
    pub fn update<T: Record>(&self, record: &T) -> Result<Ticket<()>> {
        let fields = T::schema().updated_fields();
        self.enqueue::<T, _>(no_result, None, |w| w.push_record(Verb::Update, fields, record))
    }

    /// Deletes a record by its key, as [`Table::delete`](crate::Table::delete); the ticket
    /// returns whether the record existed.
    ///
    /// # Errors
    /// As [`insert`](Pipeline::insert).
    pub fn delete<T: Record>(&self, key: impl Into<T::Key>) -> Result<Ticket<bool>> {
        key.into().with_values(|values| {
            self.enqueue::<T, _>(existed, None, |writes| {
                let (table, verb, fields) = (T::schema(), Verb::Delete, FieldSet::EMPTY);
                writes.push(&Write { table, verb, fields, values })
            })
        })
    }

    /// Blocks until every write so far is done.
    ///
    /// # Errors
    /// The first error of a write whose ticket was dropped; each error once.
    pub fn flush(&self) -> Result<()> {
        let queues: Vec<_> = self.lock().values().map(|(queue, _)| Arc::clone(queue)).collect();
        queues.iter().map(|queue| queue.flush()).fold(Ok(()), Result::and)
    }

    fn enqueue<T: Record, R>(
        &self,
        convert: ConvertOutcome<R>,
        fallback: Option<R>,
        encode: impl FnOnce(&mut WriteBatch) -> Result<()>,
    ) -> Result<Ticket<R>> {
        let queue = self.queue(self.catalog.bind::<T>()?)?;
        let slot = queue.enqueue(encode).map_err(|error| error.in_table(T::TABLE))?;
        Ok(Ticket::new(slot, queue, T::TABLE, convert, fallback))
    }

    fn queue(&self, engine: usize) -> Result<Arc<PipelineQueue>> {
        match self.lock().entry(engine) {
            Entry::Occupied(queue) => Ok(Arc::clone(&queue.get().0)),
            Entry::Vacant(entry) => {
                let engine = Arc::clone(self.catalog.engine(engine)?);
                let queue = PipelineQueue::start(engine, self.options, self.catalog.retries)?;
                Ok(Arc::clone(&entry.insert(queue).0))
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, EngineQueues> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Pipeline {
    fn drop(&mut self) {
        let queues: Vec<_> = self.lock().drain().map(|(_, queue)| queue).collect();
        queues.iter().for_each(|(queue, _)| queue.close());
        for (_, thread) in queues {
            // The thread catches panics.
            let _ = thread.join();
        }
    }
}

impl fmt::Debug for Pipeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pipeline").field("options", &self.options).finish_non_exhaustive()
    }
}

fn key_of<K: Key>(outcome: Outcome, fallback: Option<K>) -> Result<K> {
    match outcome {
        Outcome::Inserted(Some(key)) => key.to_key(),
        _ => fallback
            .ok_or_else(|| Error::new(ErrorKind::Misuse, "the ticket's key was taken before")),
    }
}

const fn no_result(_: Outcome, _: Option<()>) -> Result<()> {
    Ok(())
}

const fn existed(outcome: Outcome, _: Option<bool>) -> Result<bool> {
    Ok(matches!(outcome, Outcome::Changed(1..)))
}
