//! Changes that return the rows that they wrote.

use crate::access::TableAccess;
use crate::handle::SessionSource;
use crate::join;
use crate::record_arg::RecordArg;
use crate::row_changes::in_transaction;
use crate::table::Table;
use bobak_core::join::{InnerJoined, JoinSelection};
use bobak_core::statements::CallSite;
use bobak_core::{
    AnyColumn, Assignment, Condition, Error, ErrorKind, Filter, JoinQuery, Key, Query, Record,
    Result, Selection, Value,
};

/// The list of tables of a query of one record.
type OneTable<T> = (InnerJoined<T>, ());

/// A table whose changes return what they wrote, as by SQL's `RETURNING`: see [`Table::returning`].
///
/// Each change is one transaction, or a part of that of its table: it writes, and reads the rows that it wrote.
pub struct ReturningTable<'a, T, R> {
    table: Table<'a, T>,
    query: JoinQuery<OneTable<T>, R>,
}

impl<'a, T: Record> Table<'a, T> {
    /// The table with changes that return columns, expressions or [whole records](bobak_core::join::whole) of the rows that
    /// they wrote: as the rows are afterwards, with generated keys, defaults, timestamps and versions, and the results of
    /// triggers. A delete returns the rows as they were.
    ///
    /// ```
    /// use bobak::prelude::*;
    /// use bobak::query::whole;
    ///
    /// #[derive(Record, Debug, PartialEq)]
    /// struct Job {
    ///     id: i64,
    ///     name: String,
    ///     tries: i64,
    /// }
    ///
    /// let db = Db::builder().record::<Job>().open("memory:")?;
    /// db.create_missing_tables()?;
    /// let jobs = db.table::<Job>()?;
    /// let added = jobs.returning(whole::<Job>()).insert(&Job { id: 0, name: "mail".into(), tries: 0 })?;
    /// assert_eq!(added.id, 1);
    /// let tries = jobs.returning((Job::NAME, Job::TRIES));
    /// assert_eq!(tries.set(1, [Job::TRIES.add(1)])?, Some(("mail".to_owned(), 1)));
    /// assert_eq!(tries.set_where(Job::TRIES.gt(5), [Job::TRIES.set(0)])?, []);
    /// assert_eq!(jobs.returning(Job::NAME).delete(1)?.as_deref(), Some("mail"));
    /// # Ok::<(), Error>(())
    /// ```
    #[must_use]
    pub fn returning<S: JoinSelection<OneTable<T>, P>, P>(
        &self,
        selection: S,
    ) -> ReturningTable<'a, T, S::Row> {
        ReturningTable { table: self.clone(), query: Query::all().select(selection) }
    }
}

impl<T: Record, R> ReturningTable<'_, T, R> {
    /// As [`Table::insert`].
    ///
    /// # Errors
    /// As [`Table::insert`].
    #[track_caller]
    pub fn insert(&self, record: impl RecordArg<T>) -> Result<R> {
        self.write(|table| table.insert(record))
    }

    /// As [`Table::insert_or_ignore`]; `None` if the record was not inserted.
    ///
    /// # Errors
    /// As [`Table::insert_or_ignore`].
    #[track_caller]
    pub fn insert_or_ignore(&self, record: impl RecordArg<T>) -> Result<Option<R>> {
        self.run(|source| match Table::<T>::new(source.clone()).insert_or_ignore(record)? {
            Some(key) => self.written(source, &key).map(Some),
            None => Ok(None),
        })
    }

    /// As [`Table::insert_or_replace`].
    ///
    /// # Errors
    /// As [`Table::insert_or_replace`].
    #[track_caller]
    pub fn insert_or_replace(&self, record: impl RecordArg<T>) -> Result<R> {
        self.write(|table| table.insert_or_replace(record))
    }

    /// As [`Table::upsert`].
    ///
    /// # Errors
    /// As [`Table::upsert`].
    #[track_caller]
    pub fn upsert(&self, record: impl RecordArg<T>) -> Result<R> {
        self.write(|table| table.upsert(record))
    }

    /// As [`Table::upsert_on`].
    ///
    /// # Errors
    /// As [`Table::upsert_on`].
    #[track_caller]
    pub fn upsert_on(&self, columns: impl Selection<T>, record: impl RecordArg<T>) -> Result<R> {
        self.write(|table| table.upsert_on(columns, record))
    }

    /// As [`Table::update`].
    ///
    /// # Errors
    /// As [`Table::update`].
    #[track_caller]
    pub fn update(&self, record: impl RecordArg<T>) -> Result<R> {
        let key = record.as_record().key();
        self.write(|table| table.update(record).map(|()| key))
    }

    /// As [`Table::update_fields`].
    ///
    /// # Errors
    /// As [`Table::update_fields`].
    #[track_caller]
    pub fn update_fields(
        &self,
        record: impl RecordArg<T>,
        fields: impl IntoIterator<Item = AnyColumn<T>>,
    ) -> Result<R> {
        let key = record.as_record().key();
        self.write(|table| table.update_fields(record, fields).map(|()| key))
    }

    /// As [`Table::set`]; `None` if no record has the key.
    ///
    /// # Errors
    /// As [`Table::set`].
    #[track_caller]
    pub fn set(
        &self,
        key: impl Into<T::Key>,
        assignments: impl IntoIterator<Item = Assignment<T>>,
    ) -> Result<Option<R>> {
        let condition = key.into().with_values(|key| self.table.access.key_condition(key));
        self.set_all(condition, assignments).map(|mut rows| rows.pop())
    }

    /// As [`Table::set_where`]: the records that matched the filter before, in the order of their keys.
    ///
    /// # Errors
    /// As [`Table::set_where`].
    #[track_caller]
    pub fn set_where(
        &self,
        filter: Filter<T>,
        assignments: impl IntoIterator<Item = Assignment<T>>,
    ) -> Result<Vec<R>> {
        self.set_all(filter.into_condition(), assignments)
    }

    /// As [`Table::delete`]: what the record was; `None` if no record has the key.
    ///
    /// # Errors
    /// As [`Table::delete`].
    #[track_caller]
    pub fn delete(&self, key: impl Into<T::Key>) -> Result<Option<R>> {
        let condition = key.into().with_values(|key| self.table.access.key_condition(key));
        self.delete_all(condition).map(|mut rows| rows.pop())
    }

    /// As [`Table::delete_where`]: what the records were, in the order of their keys.
    ///
    /// # Errors
    /// As [`Table::delete_where`].
    #[track_caller]
    pub fn delete_where(&self, filter: Filter<T>) -> Result<Vec<R>> {
        self.delete_all(filter.into_condition())
    }

    #[track_caller]
    fn set_all(
        &self,
        condition: Condition,
        assignments: impl IntoIterator<Item = Assignment<T>>,
    ) -> Result<Vec<R>> {
        let access = &self.table.access;
        let (assigns, exprs) = access.resolve_assignments(assignments.into_iter().collect())?;
        self.run(|source| {
            let access = access.within(source);
            let keys = access.lock_keys(Some(condition))?;
            for condition in access.key_conditions(&keys) {
                access.set_all(Some(condition), &assigns, &exprs)?;
            }
            self.rows(&access, &keys)
        })
    }

    #[track_caller]
    fn delete_all(&self, condition: Condition) -> Result<Vec<R>> {
        self.run(|source| {
            let access = self.table.access.within(source);
            let keys = access.lock_keys(Some(condition))?;
            let rows = self.rows(&access, &keys)?;
            for condition in access.key_conditions(&keys) {
                access.change_all(Some(condition), None)?;
            }
            Ok(rows)
        })
    }

    #[track_caller]
    fn run<A>(&self, work: impl FnOnce(&SessionSource<'_>) -> Result<A>) -> Result<A> {
        let _at = CallSite::enter();
        let access = &self.table.access;
        in_transaction(&access.source, work).map_err(|error| access.in_table(error))
    }

    #[track_caller]
    fn write(&self, write: impl FnOnce(&Table<'_, T>) -> Result<T::Key>) -> Result<R> {
        self.run(|source| {
            let key = write(&Table::<T>::new(source.clone()))?;
            self.written(source, &key)
        })
    }

    /// The row that was just written.
    fn written(&self, source: &SessionSource<'_>, key: &T::Key) -> Result<R> {
        let key =
            key.with_values(|key| key.iter().map(|value| value.as_ref().to_owned()).collect());
        self.rows(&self.table.access.within(source), &[key])?.pop().ok_or_else(|| {
            let message = "the row that was written is not in the table: a trigger removed it, or \
                           a row rule hides it";
            Error::new(ErrorKind::NotFound, message)
        })
    }

    fn rows(&self, access: &TableAccess<'_>, keys: &[Vec<Value<'static>>]) -> Result<Vec<R>> {
        let mut rows = Vec::with_capacity(keys.len());
        for condition in access.key_conditions(keys) {
            let query = self.query.clone().and(Filter::<T>::new(condition));
            rows.append(&mut join::list(&access.source, &query)?);
        }
        Ok(rows)
    }
}
