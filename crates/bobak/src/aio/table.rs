//! The typed handle on one record type, for async code.

use super::answer::Answer;
use super::db::AsyncDb;
use super::stream::AsyncRows;
use super::write::{Subject, send};
use crate::Table;
use crate::batch::{BatchOptions, BatchReport};
use bobak_core::{
    Assignment, Error, Filter, FromRow, Outcome, Query, Record, Result, Selection, SelectionPart,
    Verb,
};
use std::marker::PhantomData;

/// The records of one type, for async code: what [`Table`] has, with an [`Answer`] from each call.
/// Cheap to clone.
///
/// Records are taken by value, since they go to another thread. Errors are those of the method of
/// the same name, and come with the answer.
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

    /// The database that it belongs to.
    #[must_use]
    pub const fn db(&self) -> &AsyncDb {
        &self.db
    }

    /// Does any work with the table on one of the database's threads.
    ///
    /// # Errors
    /// Those of `work`; `Schema` where the table is missing or differs.
    pub fn run<R: Send + 'static>(
        &self,
        work: impl FnOnce(&Table<'_, T>) -> Result<R> + Send + 'static,
    ) -> Answer<Result<R>> {
        self.db.run(move |db| work(&db.table()?))
    }

    /// As [`run`](AsyncTable::run), in the line of those who write to the table's engine.
    fn write<R: Send + 'static>(
        &self,
        work: impl FnOnce(&Table<'_, T>) -> Result<R> + Send + 'static,
    ) -> Answer<Result<R>> {
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
    /// Inserts a record and gives its key: see [`Table::insert`].
    pub fn insert(&self, record: T) -> Answer<Result<T::Key>> {
        send(&self.db, Verb::Insert, Subject::record(record), |key, _| key)
    }

    /// Inserts a record unless it is there: see [`Table::insert_or_ignore`].
    pub fn insert_or_ignore(&self, record: T) -> Answer<Result<Option<T::Key>>> {
        let subject = Subject::record(record);
        send(&self.db, Verb::InsertOrIgnore, subject, |key, outcome| {
            (outcome != Outcome::Ignored).then_some(key)
        })
    }

    /// Inserts a record in place of those that it clashes with: see [`Table::insert_or_replace`].
    pub fn insert_or_replace(&self, record: T) -> Answer<Result<T::Key>> {
        send(&self.db, Verb::InsertOrReplace, Subject::record(record), |key, _| key)
    }

    /// Inserts the record, or updates the one with its key: see [`Table::upsert`].
    pub fn upsert(&self, record: T) -> Answer<Result<T::Key>> {
        send(&self.db, Verb::Upsert, Subject::record(record), |key, _| key)
    }

    /// Overwrites the record that has this one's key: see [`Table::update`].
    pub fn update(&self, record: T) -> Answer<Result<()>> {
        send(&self.db, Verb::Update, Subject::record(record), |_, _| ())
    }

    /// Deletes the record with this key; `false` where there is none: see [`Table::delete`].
    pub fn delete(&self, key: impl Into<T::Key>) -> Answer<Result<bool>> {
        send(&self.db, Verb::Delete, Subject::<T>::Key(key.into()), |_, outcome| {
            outcome != Outcome::Changed(0)
        })
    }

    /// Inserts many records as one batch: see [`Db::batch`](crate::Db::batch).
    pub fn insert_all(
        &self,
        records: Vec<T>,
        options: BatchOptions,
    ) -> Answer<Result<BatchReport>> {
        self.write_batch(options, move |batch| {
            records.iter().try_for_each(|record| batch.insert(record))
        })
    }

    /// The record with this key, or `None`: see [`Table::get`].
    pub fn get(&self, key: impl Into<T::Key>) -> Answer<Result<Option<T>>> {
        let key = key.into();
        self.run(move |table| table.get(key))
    }

    /// The record with this key, which must be there: see [`Table::require`].
    pub fn require(&self, key: impl Into<T::Key>) -> Answer<Result<T>> {
        let key = key.into();
        self.run(move |table| table.require(key))
    }

    /// The records with these keys, `None` for each that is not there: see [`Table::get_many`].
    pub fn get_many(&self, keys: Vec<T::Key>) -> Answer<Result<Vec<Option<T>>>> {
        self.run(move |table| table.get_many(keys))
    }

    /// Whether a record has this key: see [`Table::exists`].
    pub fn exists(&self, key: impl Into<T::Key>) -> Answer<Result<bool>> {
        let key = key.into();
        self.run(move |table| table.exists(key))
    }

    /// Assigns fields of the record with this key: see [`Table::set`].
    pub fn set(
        &self,
        key: impl Into<T::Key>,
        assignments: impl IntoIterator<Item = Assignment<T>>,
    ) -> Answer<Result<bool>> {
        let (key, assignments) = (key.into(), assignments.into_iter().collect::<Vec<_>>());
        self.write(move |table| table.set(key, assignments))
    }

    /// The records of a query, all at once: see [`Table::list`].
    pub fn list(&self, query: impl Into<Query<T>>) -> Answer<Result<Vec<T>>> {
        let query = query.into();
        self.run(move |table| table.list(query))
    }

    /// The first record of a query: see [`Table::first`].
    pub fn first(&self, query: impl Into<Query<T>>) -> Answer<Result<Option<T>>> {
        let query = query.into();
        self.run(move |table| table.first(query))
    }

    /// The records of a query one after the other, in constant memory: a stream.
    #[must_use = "nothing is read before the stream is polled"]
    pub fn stream(&self, query: impl Into<Query<T>>) -> AsyncRows<T> {
        AsyncRows::new(&self.db, query.into())
    }
}

impl<T: Record> AsyncTable<T> {
    /// Assigns fields of every record that the filter keeps: see [`Table::set_where`].
    pub fn set_where(
        &self,
        filter: Filter<T>,
        assignments: impl IntoIterator<Item = Assignment<T>>,
    ) -> Answer<Result<u64>> {
        let assignments: Vec<_> = assignments.into_iter().collect();
        self.write(move |table| table.set_where(filter, assignments))
    }

    /// Deletes every record that the filter keeps: see [`Table::delete_where`].
    pub fn delete_where(&self, filter: Filter<T>) -> Answer<Result<u64>> {
        self.write(move |table| table.delete_where(filter))
    }

    /// Deletes every record: see [`Table::delete_all`].
    pub fn delete_all(&self) -> Answer<Result<u64>> {
        self.write(|table| table.delete_all())
    }

    /// How many records a query keeps: see [`Table::count`].
    pub fn count(&self, query: impl Into<Query<T>>) -> Answer<Result<u64>> {
        let query = query.into();
        self.run(move |table| table.count(query))
    }

    /// Columns and aggregates of a query, as tuples: see [`Table::select`].
    pub fn select<S>(&self, query: impl Into<Query<T>>, selection: S) -> Answer<Result<Vec<S::Row>>>
    where
        S: Selection<T> + Send + 'static,
        S::Row: Send + 'static,
    {
        let query = query.into();
        self.run(move |table| table.select(query, selection))
    }

    /// One aggregate over a query: see [`Table::value`].
    pub fn value<P>(&self, query: impl Into<Query<T>>, part: P) -> Answer<Result<P::Value>>
    where
        P: SelectionPart<T> + Send + 'static,
        P::Value: Send + 'static,
    {
        let query = query.into();
        self.run(move |table| table.value(query, part))
    }

    /// The records of a query as smaller ones: see [`Table::list_as`].
    pub fn list_as<R>(&self, query: impl Into<Query<T>>) -> Answer<Result<Vec<R>>>
    where
        R: FromRow + Send + 'static,
    {
        let query = query.into();
        self.run(move |table| table.list_as(query))
    }

    fn write_batch(
        &self,
        options: BatchOptions,
        fill: impl FnOnce(&mut crate::Batch<'_>) -> Result<()> + Send + 'static,
    ) -> Answer<Result<BatchReport>> {
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
