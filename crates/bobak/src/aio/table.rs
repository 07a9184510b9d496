//! The typed handle on one record type, for async code.

use super::db::AsyncDb;
use super::future::DbFuture;
use super::stream::AsyncRows;
use crate::batch::{BatchOptions, BatchReport};
use crate::nested::NestedRecord;
use crate::shape::{Page, PageRequest, Shape};
use crate::write_queue::{OnDrop, Ticket, WriteQueue};
use crate::{FoundRecord, NearestRecord, Table};
use bobak_core::statements::CallSite;
use bobak_core::{
    Assignment, Error, Filter, FromRow, Outcome, Query, Record, Result, Selection, SelectionPart,
    SoftDelete, Timestamp, Verb,
};
use std::marker::PhantomData;
use std::sync::Arc;

/// The records of one type, for async code: the methods of [`Table`], with a [`DbFuture`] from each call.
/// Cheap to clone.
///
/// Records are passed by value, since they go to another thread; `insert_record` and `update_record` return them as
/// they are stored. Errors are those of the method with the same name.
///
/// ```
/// # use bobak::{aio::AsyncDb, prelude::*};
/// # #[derive(Record, Clone)] struct City { id: i64, name: String, people: i64 }
/// # async fn program(db: AsyncDb) -> Result<(), Error> {
/// let cities = db.table::<City>();
/// let id = cities.insert(City { id: 0, name: "Bern".into(), people: 134_000 }).await?;
/// cities.set(id, [City::PEOPLE.add(1)]).await?;
/// let large = cities.list(City::PEOPLE.gt(100_000)).await?;
/// # Ok(())
/// # }
/// ```
pub struct AsyncTable<T> {
    db: AsyncDb,
    record: PhantomData<fn() -> T>,
}

impl<T> Clone for AsyncTable<T> {
    fn clone(&self) -> Self {
        Self { db: self.db.clone(), record: PhantomData }
    }
}

impl<T: Record> AsyncTable<T> {
    pub(super) const fn new(db: AsyncDb) -> Self {
        Self { db, record: PhantomData }
    }

    /// The database of this table.
    #[must_use]
    pub const fn db(&self) -> &AsyncDb {
        &self.db
    }

    /// Runs a closure with the table on one of the database's threads.
    ///
    /// # Errors
    /// Those of `work`; `Schema` if the table is missing or differs.
    pub fn run<R: Send + 'static>(
        &self,
        work: impl FnOnce(&Table<'_, T>) -> Result<R> + Send + 'static,
    ) -> DbFuture<Result<R>> {
        self.db.run(move |db| work(&db.table()?))
    }

    /// As [`run`](AsyncTable::run), in the write queue of the table's engine.
    fn write<R: Send + 'static>(
        &self,
        work: impl FnOnce(&Table<'_, T>) -> Result<R> + Send + 'static,
    ) -> DbFuture<Result<R>> {
        match self.db.blocking().catalog().engine_keeping::<T>() {
            Ok(engine) => self.db.write(engine, move |db| work(&db.table()?)),
            Err(error) => self.db.run(|_| Err(error)),
        }
    }
}

impl<T: Record + Send> AsyncTable<T>
where
    T::Key: Send,
{
    /// Inserts a record and returns its key: see [`Table::insert`].
    pub fn insert(&self, record: T) -> DbFuture<Result<T::Key>> {
        self.send(move |queue, drop| queue.insert_key(drop, Verb::Insert, &record))
    }

    /// Inserts a record unless it exists: see [`Table::insert_or_ignore`].
    pub fn insert_or_ignore(&self, record: T) -> DbFuture<Result<Option<T::Key>>> {
        self.send(move |queue, drop| {
            queue.insert(
                drop,
                Verb::InsertOrIgnore,
                &record,
                Some,
                |outcome, given| match outcome {
                    Outcome::Ignored => Ok(None),
                    Outcome::Inserted(Some(key)) => key.to_key().map(Some),
                    _ => Ok(given.flatten()),
                },
            )
        })
    }

    /// Inserts a record in place of conflicting ones: see [`Table::insert_or_replace`].
    pub fn insert_or_replace(&self, record: T) -> DbFuture<Result<T::Key>> {
        self.send(move |queue, drop| queue.insert_key(drop, Verb::InsertOrReplace, &record))
    }

    /// Inserts the record, or updates the one with its key: see [`Table::upsert`].
    pub fn upsert(&self, record: T) -> DbFuture<Result<T::Key>> {
        self.send(move |queue, drop| queue.insert_key(drop, Verb::Upsert, &record))
    }

    /// Inserts the record, or updates the one with the same values in the columns of a unique index: see
    /// [`Table::upsert_on`].
    #[track_caller]
    pub fn upsert_on<S: Selection<T> + Send + 'static>(
        &self,
        columns: S,
        record: T,
    ) -> DbFuture<Result<T::Key>> {
        let _at = CallSite::enter();
        self.write(move |table| table.upsert_on(columns, &record))
    }

    /// Inserts a record and the new records that refer to it: see [`Table::insert_nested`]. For links, use
    /// [`run`](AsyncTable::run).
    #[track_caller]
    pub fn insert_nested(&self, record: impl Into<NestedRecord<T>>) -> DbFuture<Result<T::Key>> {
        let _at = CallSite::enter();
        let record = record.into();
        self.write(move |table| table.insert_nested(record))
    }

    /// Overwrites the stored record with the same key: see [`Table::update`].
    pub fn update(&self, record: T) -> DbFuture<Result<()>> {
        self.send(move |queue, drop| queue.update(drop, &record))
    }

    /// Deletes the record with this key; `false` if there is none: see [`Table::delete`].
    pub fn delete(&self, key: impl Into<T::Key>) -> DbFuture<Result<bool>> {
        let key = key.into();
        self.send(move |queue, drop| queue.delete::<T>(drop, &key))
    }

    /// Inserts a record and returns it as it was stored, with its key and times, so that it can be updated without
    /// reading it: [`Table::insert`] of `&mut record`.
    #[track_caller]
    pub fn insert_record(&self, mut record: T) -> DbFuture<Result<T>> {
        let _at = CallSite::enter();
        self.write(move |table| table.insert(&mut record).map(|_| record))
    }

    /// Overwrites the stored record with the same key and returns the record with its new version and modification
    /// time, so that it can be updated again: [`Table::update`] of `&mut record`.
    #[track_caller]
    pub fn update_record(&self, mut record: T) -> DbFuture<Result<T>> {
        let _at = CallSite::enter();
        self.write(move |table| table.update(&mut record).map(|()| record))
    }

    /// Deletes the stored record with the same key, if its version is the record's: see [`Table::delete_record`].
    #[track_caller]
    pub fn delete_record(&self, record: T) -> DbFuture<Result<()>> {
        let _at = CallSite::enter();
        self.write(move |table| table.delete_record(&record))
    }

    /// Inserts many records as one batch: see [`Db::batch`](crate::Db::batch).
    pub fn insert_all(
        &self,
        records: Vec<T>,
        options: BatchOptions,
    ) -> DbFuture<Result<BatchReport>> {
        self.write_batch(options, move |batch| {
            records.iter().try_for_each(|record| batch.insert(record))
        })
    }

    /// The record with this key, or `None`: see [`Table::get`].
    #[track_caller]
    pub fn get(&self, key: impl Into<T::Key>) -> DbFuture<Result<Option<T>>> {
        let _at = CallSite::enter();
        let key = key.into();
        self.run(move |table| table.get(key))
    }

    /// The record with this key, which must exist: see [`Table::require`].
    #[track_caller]
    pub fn require(&self, key: impl Into<T::Key>) -> DbFuture<Result<T>> {
        let _at = CallSite::enter();
        let key = key.into();
        self.run(move |table| table.require(key))
    }

    /// The records with these keys, `None` for each missing one: see [`Table::get_many`].
    #[track_caller]
    pub fn get_many(&self, keys: Vec<T::Key>) -> DbFuture<Result<Vec<Option<T>>>> {
        let _at = CallSite::enter();
        self.run(move |table| table.get_many(keys))
    }

    /// Whether a record has this key: see [`Table::exists`].
    #[track_caller]
    pub fn exists(&self, key: impl Into<T::Key>) -> DbFuture<Result<bool>> {
        let _at = CallSite::enter();
        let key = key.into();
        self.run(move |table| table.exists(key))
    }

    /// Assigns fields of the record with this key: see [`Table::set`].
    #[track_caller]
    pub fn set(
        &self,
        key: impl Into<T::Key>,
        assignments: impl IntoIterator<Item = Assignment<T>>,
    ) -> DbFuture<Result<bool>> {
        let _at = CallSite::enter();
        let (key, assignments) = (key.into(), assignments.into_iter().collect::<Vec<_>>());
        self.write(move |table| table.set(key, assignments))
    }

    /// The records of a query, all at once: see [`Table::list`].
    #[track_caller]
    pub fn list(&self, query: impl Into<Query<T>>) -> DbFuture<Result<Vec<T>>> {
        let _at = CallSite::enter();
        let query = query.into();
        self.run(move |table| table.list(query))
    }

    /// The records that a search finds: see [`Table::search`].
    #[track_caller]
    pub fn search(&self, query: impl Into<Query<T>>) -> DbFuture<Result<Vec<FoundRecord<T>>>> {
        let _at = CallSite::enter();
        let query = query.into();
        self.run(move |table| table.search(query))
    }

    /// The nearest records with their distances: see [`Table::nearest`].
    #[track_caller]
    pub fn nearest(&self, query: impl Into<Query<T>>) -> DbFuture<Result<Vec<NearestRecord<T>>>> {
        let _at = CallSite::enter();
        let query = query.into();
        self.run(move |table| table.nearest(query))
    }

    /// The first record of a query: see [`Table::first`].
    #[track_caller]
    pub fn first(&self, query: impl Into<Query<T>>) -> DbFuture<Result<Option<T>>> {
        let _at = CallSite::enter();
        let query = query.into();
        self.run(move |table| table.first(query))
    }

    /// The records of a query as a stream, in constant memory.
    #[must_use = "nothing is read before the stream is polled"]
    pub fn stream(&self, query: impl Into<Query<T>>) -> AsyncRows<T> {
        AsyncRows::new(self.db.blocking(), self.db.workers(), query.into())
    }
}

impl<T: Record> AsyncTable<T> {
    /// Assigns fields of every record that matches the filter: see [`Table::set_where`].
    #[track_caller]
    pub fn set_where(
        &self,
        filter: Filter<T>,
        assignments: impl IntoIterator<Item = Assignment<T>>,
    ) -> DbFuture<Result<u64>> {
        let _at = CallSite::enter();
        let assignments: Vec<_> = assignments.into_iter().collect();
        self.write(move |table| table.set_where(filter, assignments))
    }

    /// Deletes every record that matches the filter: see [`Table::delete_where`].
    #[track_caller]
    pub fn delete_where(&self, filter: Filter<T>) -> DbFuture<Result<u64>> {
        let _at = CallSite::enter();
        self.write(move |table| table.delete_where(filter))
    }

    /// Restores the deleted record with this key; `false` if there is none: see [`Table::restore`].
    #[track_caller]
    pub fn restore(&self, key: impl Into<T::Key>) -> DbFuture<Result<bool>>
    where
        T: SoftDelete<Key: Send>,
    {
        let _at = CallSite::enter();
        let key = key.into();
        self.write(move |table| table.restore(key))
    }

    /// Restores every deleted record that matches the filter: see [`Table::restore_where`].
    #[track_caller]
    pub fn restore_where(&self, filter: Filter<T>) -> DbFuture<Result<u64>>
    where
        T: SoftDelete,
    {
        let _at = CallSite::enter();
        self.write(move |table| table.restore_where(filter))
    }

    /// Removes the records for good that were deleted before a time: see [`Table::purge`].
    #[track_caller]
    pub fn purge(&self, before: Timestamp) -> DbFuture<Result<u64>>
    where
        T: SoftDelete,
    {
        let _at = CallSite::enter();
        self.write(move |table| table.purge(before))
    }

    /// Deletes every record: see [`Table::delete_all`].
    #[track_caller]
    pub fn delete_all(&self) -> DbFuture<Result<u64>> {
        let _at = CallSite::enter();
        self.write(|table| table.delete_all())
    }

    /// The number of records that match a query: see [`Table::count`].
    #[track_caller]
    pub fn count(&self, query: impl Into<Query<T>>) -> DbFuture<Result<u64>> {
        let _at = CallSite::enter();
        let query = query.into();
        self.run(move |table| table.count(query))
    }

    /// Columns and aggregates of a query, as tuples: see [`Table::select`].
    #[track_caller]
    pub fn select<S>(
        &self,
        query: impl Into<Query<T>>,
        selection: S,
    ) -> DbFuture<Result<Vec<S::Row>>>
    where
        S: Selection<T> + Send + 'static,
        S::Row: Send + 'static,
    {
        let _at = CallSite::enter();
        let query = query.into();
        self.run(move |table| table.select(query, selection))
    }

    /// One aggregate over a query: see [`Table::value`].
    #[track_caller]
    pub fn value<P>(&self, query: impl Into<Query<T>>, part: P) -> DbFuture<Result<P::Value>>
    where
        P: SelectionPart<T> + Send + 'static,
        P::Value: Send + 'static,
    {
        let _at = CallSite::enter();
        let query = query.into();
        self.run(move |table| table.value(query, part))
    }

    /// Shapes of the records of a query: see [`Table::load`].
    #[track_caller]
    pub fn load<S>(&self, query: impl Into<Query<T>>, with: S::With) -> DbFuture<Result<Vec<S>>>
    where
        S: Shape<Record = T, With: Send + 'static> + Send + 'static,
    {
        let _at = CallSite::enter();
        let query = query.into();
        self.run(move |table| table.load(query, &with))
    }

    /// The shape of the record with this key: see [`Table::load_one`].
    #[track_caller]
    pub fn load_one<S>(&self, key: impl Into<T::Key>, with: S::With) -> DbFuture<Result<Option<S>>>
    where
        S: Shape<Record = T, With: Send + 'static> + Send + 'static,
        T::Key: Send + 'static,
    {
        let _at = CallSite::enter();
        let key = key.into();
        self.run(move |table| table.load_one(key, &with))
    }

    /// One page of a query: see [`Table::page`].
    #[track_caller]
    pub fn page<S>(
        &self,
        query: impl Into<Query<T>>,
        with: S::With,
        request: PageRequest,
    ) -> DbFuture<Result<Page<S>>>
    where
        S: Shape<Record = T, With: Send + 'static> + Send + 'static,
    {
        let _at = CallSite::enter();
        let query = query.into();
        self.run(move |table| table.page(query, &with, request))
    }

    /// The records of a query as smaller structs: see [`Table::list_as`].
    #[track_caller]
    pub fn list_as<R>(&self, query: impl Into<Query<T>>) -> DbFuture<Result<Vec<R>>>
    where
        R: FromRow + Send + 'static,
    {
        let _at = CallSite::enter();
        let query = query.into();
        self.run(move |table| table.list_as(query))
    }

    /// A record that `push` queues once the future is polled.
    fn send<R: Send + 'static>(
        &self,
        push: impl FnOnce(&Arc<WriteQueue>, OnDrop) -> Result<Ticket<R>> + Send + 'static,
    ) -> DbFuture<Result<R>> {
        let db = self.db.clone();
        DbFuture::new(async move {
            let (queue, on_drop) = db.queue_of::<T>()?;
            let ticket = push(queue, on_drop)?;
            ticket.await
        })
    }

    fn write_batch(
        &self,
        options: BatchOptions,
        fill: impl FnOnce(&mut crate::Batch<'_>) -> Result<()> + Send + 'static,
    ) -> DbFuture<Result<BatchReport>> {
        let send = move |db: &crate::Db| {
            let mut batch = db.batch(options);
            fill(&mut batch)?;
            batch.finish()
        };
        match self.db.blocking().catalog().engine_keeping::<T>() {
            Ok(engine) => self.db.write(engine, send),
            Err(error) => self.db.run(|_| Err::<BatchReport, Error>(error)),
        }
    }
}

impl<T: Record> std::fmt::Debug for AsyncTable<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AsyncTable").field("table", &T::TABLE).finish_non_exhaustive()
    }
}
