//! Single writes whose results are fetched later.

mod options;

pub use crate::write_queue::Ticket;
pub use options::PipelineOptions;

use crate::access::upsert_verb;
use crate::catalog::Catalog;
use crate::workers::Workers;
use crate::write_queue::{OnDrop, QueueLimits, WriteQueue};
use bobak_core::statements::CallSite;
use bobak_core::{Error, ErrorKind, Record, Result, Selection, Verb};
use std::fmt;
use std::panic::Location;
use std::sync::{Arc, OnceLock};

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
    /// By the index of the engine; each has a thread of its own, from the first write on.
    queues: Box<[OnceLock<Arc<WriteQueue>>]>,
    /// Where the program began it.
    place: &'static Location<'static>,
}

impl Pipeline {
    #[track_caller]
    pub(crate) fn new(catalog: Arc<Catalog>, options: PipelineOptions) -> Self {
        let queues = catalog.engines().iter().map(|_| OnceLock::new()).collect();
        Self { catalog, options, queues, place: Location::caller() }
    }

    /// Inserts a record, as [`Table::insert`](crate::Table::insert); the ticket returns its key.
    ///
    /// # Errors
    /// At once: `TooLong`, `OutOfRange` for the record; `Schema` as
    /// [`Db::table`](crate::Db::table); `Busy` if the queue stays full. From the ticket: those of the engine.
    pub fn insert<T: Record>(&self, record: &T) -> Result<Ticket<T::Key>> {
        self.queue_of::<T>()?.insert_key(OnDrop::KeepError, Verb::Insert, record)
    }

    /// Inserts or updates a record, as [`Table::upsert`](crate::Table::upsert).
    ///
    /// # Errors
    /// As [`insert`](Pipeline::insert).
    pub fn upsert<T: Record>(&self, record: &T) -> Result<Ticket<T::Key>> {
        self.queue_of::<T>()?.insert_key(OnDrop::KeepError, Verb::Upsert, record)
    }

    /// Inserts or updates a record by the columns of a unique index, as [`Table::upsert_on`](crate::Table::upsert_on). The
    /// ticket returns the key; `None` if a record was updated whose key is neither an integer nor a UUID.
    ///
    /// # Errors
    /// As [`insert`](Pipeline::insert); `Schema` for columns that are neither the key nor those of a unique index.
    pub fn upsert_on<T: Record>(
        &self,
        columns: impl Selection<T>,
        record: &T,
    ) -> Result<Ticket<Option<T::Key>>> {
        let verb = upsert_verb(T::schema(), columns)?;
        self.queue_of::<T>()?.upsert_key(OnDrop::KeepError, verb, record)
    }

    /// Updates a record, as [`Table::update`](crate::Table::update).
    ///
    /// # Errors
    /// As [`insert`](Pipeline::insert).
    pub fn update<T: Record>(&self, record: &T) -> Result<Ticket<()>> {
        self.queue_of::<T>()?.update(OnDrop::KeepError, record)
    }

    /// Deletes a record by its key, as [`Table::delete`](crate::Table::delete); the ticket
    /// returns whether the record existed.
    ///
    /// # Errors
    /// As [`insert`](Pipeline::insert).
    pub fn delete<T: Record>(&self, key: impl Into<T::Key>) -> Result<Ticket<bool>> {
        self.queue_of::<T>()?.delete::<T>(OnDrop::KeepError, &key.into())
    }

    /// Blocks until every write so far is done.
    ///
    /// # Errors
    /// The first error of a write whose ticket was dropped; each error once.
    pub fn flush(&self) -> Result<()> {
        let queues = self.queues.iter().filter_map(OnceLock::get);
        queues.map(|queue| queue.flush()).fold(Ok(()), Result::and)
    }

    fn queue_of<T: Record>(&self) -> Result<&Arc<WriteQueue>> {
        let index = self.catalog.bind::<T>()?;
        let engine = self.catalog.engine(index)?;
        let Some(queue) = self.queues.get(index) else {
            return Err(Error::new(ErrorKind::Misuse, "the pipeline belongs to another database"));
        };
        if let Some(queue) = queue.get() {
            return Ok(queue);
        }
        let PipelineOptions { rows, bytes, full_timeout } = self.options;
        let limits = QueueLimits { rows, bytes, full_timeout: Some(full_timeout) };
        let (workers, retries) = (Workers::new(1)?, self.catalog.retries);
        let _at = CallSite::enter_at(self.place);
        // If another thread was faster, this queue ends unused.
        Ok(queue.get_or_init(|| WriteQueue::new(Arc::clone(engine), workers, limits, retries)))
    }
}

impl Drop for Pipeline {
    fn drop(&mut self) {
        self.queues.iter().filter_map(OnceLock::get).for_each(|queue| queue.end());
    }
}

impl fmt::Debug for Pipeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pipeline").field("options", &self.options).finish_non_exhaustive()
    }
}
