//! The database for async code.

use super::future::DbFuture;
use super::table::AsyncTable;
use crate::batch::{Batch, BatchOptions, BatchReport};
use crate::query::{Page, PageRequest};
use crate::workers::Workers;
use crate::write_queue::{GROUP_LIMITS, OnDrop, WriteQueue};
use crate::{Db, Parameters, Transaction};
use bobak_core::statements::{CallSite, Origin};
use bobak_core::{Error, ErrorKind, FromRow, JoinQuery, Record, Result};
use std::sync::Arc;

/// A [`Db`] for async code. Cheap to clone. See the [module](crate::aio).
#[derive(Clone)]
pub struct AsyncDb {
    db: Db,
    workers: Workers,
    /// By the index of the engine.
    queues: Arc<[Arc<WriteQueue>]>,
}

impl AsyncDb {
    /// A database with its own threads: as many as there are CPUs, but 4 at least and 16 at most.
    ///
    /// # Errors
    /// `Io` if no thread can be started.
    pub fn new(db: Db) -> Result<Self> {
        Ok(Self::with_workers(db, &Workers::with_default_threads()?))
    }

    /// A database that shares its threads with others.
    #[must_use]
    pub fn with_workers(db: Db, workers: &Workers) -> Self {
        let engines = db.catalog().engines().iter();
        let queue = |engine: &Arc<_>| {
            let retries = db.catalog().retries;
            WriteQueue::new(Arc::clone(engine), workers.clone(), GROUP_LIMITS, retries)
        };
        let queues = engines.map(|(_, engine)| queue(engine)).collect();
        Self { db, workers: workers.clone(), queues }
    }

    /// Opens a database by a URL: see [`Db::open`].
    ///
    /// # Errors
    /// As [`Db::open`] and [`new`](AsyncDb::new).
    pub async fn open(url: &str) -> Result<Self> {
        let (workers, url) = (Workers::with_default_threads()?, url.to_owned());
        let db = workers.run(move || Db::open(&url)).await?;
        Ok(Self::with_workers(db, &workers))
    }

    /// The same database, for code that may block.
    #[must_use]
    pub const fn blocking(&self) -> &Db {
        &self.db
    }

    /// The threads that do its work.
    #[must_use]
    pub const fn workers(&self) -> &Workers {
        &self.workers
    }

    /// The records of one type. The table is not checked yet: the first future reports a missing one.
    #[must_use]
    pub fn table<T: Record>(&self) -> AsyncTable<T> {
        AsyncTable::new(self.clone())
    }

    /// Runs a closure with the database on one of the threads.
    ///
    /// ```
    /// # use bobak::{aio::AsyncDb, prelude::*};
    /// # #[derive(Record)] struct City { id: i64, name: String }
    /// # async fn program(db: AsyncDb) -> Result<(), Error> {
    /// let both = db.run(|db| {
    ///     let cities = db.table::<City>()?;
    ///     Ok((cities.count(Query::all())?, cities.first(City::NAME.starts_with("B"))?))
    /// });
    /// let (number, first) = both.await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// Those of `work`.
    pub fn run<R: Send + 'static>(
        &self,
        work: impl FnOnce(&Db) -> Result<R> + Send + 'static,
    ) -> DbFuture<Result<R>> {
        let (db, origin) = (self.db.clone(), Origin::now());
        self.workers.run(move || within(origin.as_ref(), || work(&db)))
    }

    /// Runs `work` in a transaction on the main engine. See [`Db::transaction`], also for when it is repeated.
    ///
    /// ```
    /// # use bobak::{aio::AsyncDb, prelude::*};
    /// # #[derive(Record)] struct Item { id: i64, name: String }
    /// # async fn program(db: AsyncDb) -> Result<(), Error> {
    /// let moved = db.transaction(|transaction| {
    ///     let items = transaction.table::<Item>()?;
    ///     items.delete(1)?;
    ///     items.insert(&Item { id: 0, name: "spade".into() })
    /// });
    /// moved.await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Db::transaction`].
    pub fn transaction<R: Send + 'static>(
        &self,
        work: impl FnMut(&Transaction<'_>) -> Result<R> + Send + 'static,
    ) -> DbFuture<Result<R>> {
        self.write(0, move |db| db.transaction(work))
    }

    /// Fills a batch with `fill`, and sends it.
    ///
    /// ```
    /// # use bobak::{aio::AsyncDb, prelude::*};
    /// # #[derive(Record)] struct Item { id: i64, name: String }
    /// # async fn program(db: AsyncDb, items: Vec<Item>) -> Result<(), Error> {
    /// let sent = db.batch(BatchOptions::new(), move |batch| {
    ///     items.iter().try_for_each(|item| batch.insert(item))
    /// });
    /// assert_eq!(sent.await?.failed, 0);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Batch`] and its [`finish`](Batch::finish), and those of `fill`.
    pub fn batch(
        &self,
        options: BatchOptions,
        fill: impl FnOnce(&mut Batch<'_>) -> Result<()> + Send + 'static,
    ) -> DbFuture<Result<BatchReport>> {
        self.write(0, move |db| {
            let mut batch = db.batch(options);
            fill(&mut batch)?;
            batch.finish()
        })
    }

    /// The rows of a join: see [`Db::list`].
    ///
    /// # Errors
    /// As [`Db::list`].
    #[track_caller]
    pub fn list<L, R>(&self, query: &JoinQuery<L, R>) -> DbFuture<Result<Vec<R>>>
    where
        L: 'static,
        R: Send + 'static,
    {
        let _at = CallSite::enter();
        let query = query.clone();
        self.run(move |db| db.list(&query))
    }

    /// One page of a join: see [`Db::page`].
    ///
    /// # Errors
    /// As [`Db::page`].
    #[track_caller]
    pub fn page<L, R>(
        &self,
        query: &JoinQuery<L, R>,
        request: PageRequest,
    ) -> DbFuture<Result<Page<R>>>
    where
        L: 'static,
        R: Send + 'static,
    {
        let _at = CallSite::enter();
        let query = query.clone();
        self.run(move |db| db.page(&query, request))
    }

    /// Runs SQL and reads all rows: see [`Db::sql`].
    ///
    /// # Errors
    /// As [`Db::sql`].
    #[track_caller]
    pub fn sql<R: FromRow + Send + 'static>(
        &self,
        text: &str,
        parameters: impl Parameters,
    ) -> DbFuture<Result<Vec<R>>> {
        let _at = CallSite::enter();
        let (text, parameters) = (text.to_owned(), parameters.into_arguments());
        self.run(move |db| db.sql(&text, parameters?))
    }

    /// Runs SQL that returns no rows; returns the number of changed rows: see [`Db::execute`].
    ///
    /// # Errors
    /// As [`Db::execute`].
    #[track_caller]
    pub fn execute(&self, text: &str, parameters: impl Parameters) -> DbFuture<Result<u64>> {
        let _at = CallSite::enter();
        let (text, parameters) = (text.to_owned(), parameters.into_arguments());
        self.write(0, move |db| db.execute(&text, parameters?))
    }

    /// Creates missing tables, columns and indexes: see [`Db::create_missing_tables`].
    ///
    /// # Errors
    /// As [`Db::create_missing_tables`].
    pub fn create_missing_tables(&self) -> DbFuture<Result<Vec<String>>> {
        self.write(0, Db::create_missing_tables)
    }

    /// Makes all committed changes durable: see [`Db::flush`].
    ///
    /// # Errors
    /// As [`Db::flush`].
    pub fn flush(&self) -> DbFuture<Result<()>> {
        self.run(Db::flush)
    }

    /// Queues a closure that writes to the engine at an index.
    pub(super) fn write<R: Send + 'static>(
        &self,
        engine: usize,
        work: impl FnOnce(&Db) -> Result<R> + Send + 'static,
    ) -> DbFuture<Result<R>> {
        let (db, queue) = (self.db.clone(), self.queues.get(engine).map(Arc::clone));
        let origin = Origin::now();
        let work = move || within(origin.as_ref(), || work(&db));
        DbFuture::of_closure(work, self.workers.clone(), queue)
    }

    /// The write queue of the engine that keeps a record type, and what dropping a queued record does. The first records
    /// of a type are compared with its table, on the thread that writes them.
    pub(super) fn queue_of<T: Record>(&self) -> Result<(&Arc<WriteQueue>, OnDrop)> {
        let catalog = self.db.catalog();
        let (engine, check) = match catalog.checked_engine::<T>() {
            Some(engine) => (engine, None),
            None => {
                let checked = Arc::clone(catalog);
                let check = move || checked.bind::<T>().map(drop);
                (catalog.engine_keeping::<T>()?, Some(Box::new(check) as _))
            }
        };
        let queue = self.queues.get(engine).ok_or_else(|| {
            Error::new(ErrorKind::Config, "the database has no engine for the record type")
        })?;
        Ok((queue, OnDrop::Cancel(check)))
    }
}

impl std::fmt::Debug for AsyncDb {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AsyncDb").field("workers", &self.workers).finish_non_exhaustive()
    }
}

/// Runs work on another thread as if it came from where it was begun.
fn within<R>(origin: Option<&Origin>, work: impl FnOnce() -> R) -> R {
    match origin {
        Some(origin) => origin.run(work),
        None => work(),
    }
}
