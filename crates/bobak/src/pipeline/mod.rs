//! Writes that are not waited for one by one.

mod lane;
mod ticket;

use crate::catalog::Catalog;
use bobak_core::{Batch, Error, ErrorKind, FieldSet, Key, Outcome, Record, Result, Verb, Write};
use lane::Lane;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use ticket::Read;
pub use ticket::Ticket;

/// How much of a [`Pipeline`]'s writes may be under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PipelineOptions {
    rows: usize,
    bytes: usize,
    patience: Duration,
}

impl PipelineOptions {
    /// 10,000 writes or 4 MiB of rows; who finds it full waits for up to a minute.
    #[must_use]
    pub const fn new() -> Self {
        Self { rows: 10_000, bytes: 4 << 20, patience: Duration::from_secs(60) }
    }

    /// Most writes that wait, at least 1. Default: 10,000.
    #[must_use]
    pub const fn rows(mut self, rows: usize) -> Self {
        self.rows = if rows == 0 { 1 } else { rows };
        self
    }

    /// Most bytes of rows that wait; a larger row waits alone. Default: 4 MiB.
    #[must_use]
    pub const fn bytes(mut self, bytes: usize) -> Self {
        self.bytes = if bytes == 0 { 1 } else { bytes };
        self
    }

    /// How long a call waits for room before it fails with `Busy`. Default: one minute.
    #[must_use]
    pub const fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }
}

impl Default for PipelineOptions {
    fn default() -> Self {
        Self::new()
    }
}

/// Single writes that need not be waited for: each call gives a [`Ticket`] at once.
///
/// What is under way is written together, so that one thread writes durably at many times the rate
/// of one sync for each row. A ticket is done when its write is as durable as that of the plain
/// call: an error is its own, and harms no other. Writes to one engine happen in the order of the
/// calls; a read that must see one waits for its ticket first. Each engine's writes are done by a
/// thread of the pipeline's own.
///
/// Dropping it waits until all is written.
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
    lanes: Mutex<Lanes>,
}

/// By engine: the queue, and its thread.
type Lanes = HashMap<usize, (Arc<Lane>, JoinHandle<()>)>;

impl Pipeline {
    pub(crate) fn new(catalog: Arc<Catalog>, options: PipelineOptions) -> Self {
        Self { catalog, options, lanes: Mutex::default() }
    }

    /// Inserts a record, as [`Table::insert`](crate::Table::insert) does; the ticket gives its key.
    ///
    /// # Errors
    /// At once: `TooLong`, `OutOfRange` for the record; `Schema` as
    /// [`Db::table`](crate::Db::table); `Busy` where the pipeline stays full. By the ticket: those of the engine.
    pub fn insert<T: Record>(&self, record: &T) -> Result<Ticket<T::Key>> {
        let given = Some(record.key());
        self.add::<T, _>(key_of, given, |w| w.push_record(Verb::Insert, FieldSet::EMPTY, record))
    }

    /// Inserts or updates a record, as [`Table::upsert`](crate::Table::upsert) does.
    ///
    /// # Errors
    /// As [`insert`](Pipeline::insert).
    pub fn upsert<T: Record>(&self, record: &T) -> Result<Ticket<T::Key>> {
        let (given, fields) = (Some(record.key()), T::schema().updated_fields());
        self.add::<T, _>(key_of, given, |w| w.push_record(Verb::Upsert, fields, record))
    }

    /// Updates a record, as [`Table::update`](crate::Table::update) does.
    ///
    /// # Errors
    /// As [`insert`](Pipeline::insert).
    pub fn update<T: Record>(&self, record: &T) -> Result<Ticket<()>> {
        let fields = T::schema().updated_fields();
        self.add::<T, _>(nothing, None, |w| w.push_record(Verb::Update, fields, record))
    }

    /// Deletes a record by its key, as [`Table::delete`](crate::Table::delete) does; the ticket
    /// tells whether it was there.
    ///
    /// # Errors
    /// As [`insert`](Pipeline::insert).
    pub fn delete<T: Record>(&self, key: impl Into<T::Key>) -> Result<Ticket<bool>> {
        key.into().with_values(|values| {
            self.add::<T, _>(was_there, None, |writes| {
                let (table, verb, fields) = (T::schema(), Verb::Delete, FieldSet::EMPTY);
                writes.push(&Write { table, verb, fields, values })
            })
        })
    }

    /// Waits until every write so far is done.
    ///
    /// # Errors
    /// The first error of a write whose ticket was dropped, once.
    pub fn flush(&self) -> Result<()> {
        let lanes: Vec<_> = self.lock().values().map(|(lane, _)| Arc::clone(lane)).collect();
        lanes.iter().map(|lane| lane.flush()).fold(Ok(()), Result::and)
    }

    fn add<T: Record, R>(
        &self,
        read: Read<R>,
        given: Option<R>,
        push: impl FnOnce(&mut Batch) -> Result<()>,
    ) -> Result<Ticket<R>> {
        let lane = self.lane(self.catalog.bind::<T>()?)?;
        let slot = lane.add(push).map_err(|error| error.in_table(T::TABLE))?;
        Ok(Ticket::new(slot, lane, T::TABLE, read, given))
    }

    fn lane(&self, engine: usize) -> Result<Arc<Lane>> {
        match self.lock().entry(engine) {
            Entry::Occupied(lane) => Ok(Arc::clone(&lane.get().0)),
            Entry::Vacant(place) => {
                let engine = Arc::clone(self.catalog.engine(engine)?);
                let lane = Lane::start(engine, self.options, self.catalog.retries)?;
                Ok(Arc::clone(&place.insert(lane).0))
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Lanes> {
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Pipeline {
    fn drop(&mut self) {
        let lanes: Vec<_> = self.lock().drain().map(|(_, lane)| lane).collect();
        lanes.iter().for_each(|(lane, _)| lane.end());
        for (_, thread) in lanes {
            // It catches what panics in it.
            let _ = thread.join();
        }
    }
}

impl fmt::Debug for Pipeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pipeline").field("options", &self.options).finish_non_exhaustive()
    }
}

fn key_of<K: Key>(outcome: Outcome, given: Option<K>) -> Result<K> {
    match outcome {
        Outcome::Inserted(Some(key)) => key.to_key(),
        _ => given.ok_or_else(|| Error::new(ErrorKind::Misuse, "a ticket gives its key once")),
    }
}

const fn nothing(_: Outcome, _: Option<()>) -> Result<()> {
    Ok(())
}

const fn was_there(outcome: Outcome, _: Option<bool>) -> Result<bool> {
    Ok(matches!(outcome, Outcome::Changed(1..)))
}
