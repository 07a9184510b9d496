//! The typed handle on one record type.

use crate::access::{Access, Handle};
use crate::rows::Rows;
use bobak_core::{
    AnyColumn, Assignment, Column, Error, ErrorKind, Field, FieldSet, Filter, FromRow, GivenKey,
    Key, Outcome, Query, Record, Result, Row, Selection, SelectionPart, Value, ValueRef, Verb,
    prepare_insert, prepare_update,
};
use std::marker::PhantomData;
use std::sync::Arc;

/// The records of one type: insert, get, update, delete, and queries.
///
/// [`Db::table`](crate::Db::table) gives one on which each call is a transaction of its own;
/// [`Transaction::table`](crate::Transaction::table) one inside the transaction. Cheap to clone.
///
/// ```
/// use bobak::prelude::*;
///
/// #[derive(Record, Debug, PartialEq)]
/// struct City {
///     id: i64,
///     #[record(max = 60, unique)]
///     name: String,
///     people: i64,
/// }
///
/// let db = Db::builder().record::<City>().open("memory:")?;
/// db.create_missing_tables()?;
/// let cities = db.table::<City>()?;
///
/// let id = cities.insert(&City { id: 0, name: "Bern".into(), people: 134_000 })?;
/// cities.set(id, [City::PEOPLE.add(1)])?;
/// assert_eq!(cities.get(id)?, Some(City { id, name: "Bern".into(), people: 134_001 }));
/// assert_eq!(cities.count(City::NAME.starts_with("B"))?, 1);
/// # Ok::<(), Error>(())
/// ```
pub struct Table<'a, T> {
    pub(crate) access: Access<'a>,
    record: PhantomData<fn() -> T>,
}

impl<T> Clone for Table<'_, T> {
    fn clone(&self) -> Self {
        Self { access: self.access.clone(), record: PhantomData }
    }
}

impl<'a, T: Record> Table<'a, T> {
    pub(crate) fn new(handle: Handle<'a>) -> Self {
        Self { access: Access::new(handle, Arc::clone(T::schema())), record: PhantomData }
    }

    /// Inserts a record and gives its key.
    ///
    /// A key of 0 (`i64`) or nil (UUID) is made: by the engine, or by Bobak in version 7, unless
    /// the key is `key = "given"`; so it is by each verb that may insert, `upsert` and
    /// `insert_or_replace` too. (A row with the key 0, which another program has made, is written
    /// by [`update`](Table::update), or as a row of a [`DynTable`](crate::DynTable).) Creation and
    /// modification times are filled. The record itself is not touched.
    ///
    /// # Errors
    /// `Duplicate` where the key or a unique value is there; `Constraint` for a check or foreign
    /// key; `TooLong`, `OutOfRange` before any I/O.
    pub fn insert(&self, record: &T) -> Result<T::Key> {
        self.insert_as(Verb::Insert, FieldSet::EMPTY, record).map(|(key, _)| key)
    }

    /// Inserts a record, unless its key or a unique value is there; gives the key where it was
    /// inserted.
    ///
    /// # Errors
    /// As [`insert`](Table::insert), `Duplicate` aside.
    pub fn insert_or_ignore(&self, record: &T) -> Result<Option<T::Key>> {
        let (key, outcome) = self.insert_as(Verb::InsertOrIgnore, FieldSet::EMPTY, record)?;
        Ok((outcome != Outcome::Ignored).then_some(key))
    }

    /// Inserts a record; rows with its key, or with its values of unique fields, are deleted
    /// first.
    ///
    /// # Errors
    /// As [`insert`](Table::insert), `Duplicate` aside.
    pub fn insert_or_replace(&self, record: &T) -> Result<T::Key> {
        self.insert_as(Verb::InsertOrReplace, FieldSet::EMPTY, record).map(|(key, _)| key)
    }

    /// Inserts the record, or updates the one with its key; gives the key. The creation time of
    /// an updated record stays, its version is raised without being checked.
    ///
    /// # Errors
    /// As [`insert`](Table::insert); `Duplicate` for a unique field other than the key.
    pub fn upsert(&self, record: &T) -> Result<T::Key> {
        self.insert_as(Verb::Upsert, self.access.updated, record).map(|(key, _)| key)
    }

    fn insert_as(&self, verb: Verb, fields: FieldSet, record: &T) -> Result<(T::Key, Outcome)> {
        let mut values = record.values()?;
        prepare_insert(&self.access.schema, values.as_mut())?;
        let outcome = self.access.write(verb, fields, values.as_ref())?;
        let key = match outcome {
            Outcome::Inserted(Some(GivenKey::Int(id))) => {
                T::Key::from_values(&[ValueRef::Int(id)])?
            }
            _ => key_of(record, values.as_ref())?,
        };
        Ok((key, outcome))
    }

    /// Writes a record in any way; gives its key and what happened.
    #[cfg(feature = "async")]
    pub(crate) fn write_as(&self, verb: Verb, record: &T) -> Result<(T::Key, Outcome)> {
        match verb {
            Verb::Update => self.update(record).map(|()| (record.key(), Outcome::Changed(1))),
            Verb::Upsert => self.insert_as(verb, self.access.updated, record),
            _ => self.insert_as(verb, FieldSet::EMPTY, record),
        }
    }

    /// The record with this key, or `None`.
    ///
    /// # Errors
    /// Those of the engine; `Mismatch`, `OutOfRange` where a column does not fit its field.
    pub fn get(&self, key: impl Into<T::Key>) -> Result<Option<T>> {
        key.into().with_values(|key| self.access.get(key, T::read))
    }

    /// The record with this key.
    ///
    /// # Errors
    /// `NotFound` where there is none; as [`get`](Table::get).
    pub fn require(&self, key: impl Into<T::Key>) -> Result<T> {
        key.into().with_values(|key| {
            self.access.get(key, T::read)?.ok_or_else(|| {
                let key = key.iter().map(|part| format!("{:?}", part.as_ref())).collect::<Vec<_>>();
                let message = format!("no record has the key {}", key.join(", "));
                self.access.name(Error::new(ErrorKind::NotFound, message))
            })
        })
    }

    /// Reads the record with this key into `record`, reusing its memory; `false` where there is
    /// none.
    ///
    /// # Errors
    /// As [`get`](Table::get).
    pub fn get_into(&self, key: impl Into<T::Key>, record: &mut T) -> Result<bool> {
        let read = |row: &dyn Row| record.read_from(row);
        key.into().with_values(|key| self.access.get(key, read)).map(|found| found.is_some())
    }

    /// The records with these keys, in the order of the keys; `None` for each that is not there.
    ///
    /// # Errors
    /// As [`get`](Table::get).
    pub fn get_many<K: Into<T::Key>>(
        &self,
        keys: impl IntoIterator<Item = K>,
    ) -> Result<Vec<Option<T>>> {
        let keys: Vec<T::Key> = keys.into_iter().map(Into::into).collect();
        let mut found = Vec::with_capacity(keys.len());
        let schema = &self.access.schema;
        self.access.handle.with(|session| {
            for key in &keys {
                let mut record = None;
                let mut each = |row: &dyn Row| {
                    record = Some(T::read(row)?);
                    Ok(())
                };
                key.with_values(|key| session.get(schema, key, &mut each))?;
                found.push(record);
            }
            Ok(())
        })?;
        Ok(found)
    }

    /// Whether a record has this key.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn exists(&self, key: impl Into<T::Key>) -> Result<bool> {
        let seen = |_: &dyn Row| Ok(());
        key.into().with_values(|key| self.access.get(key, seen)).map(|found| found.is_some())
    }

    /// Overwrites the record that has this one's key: every field but the key and the creation
    /// time. The modification time is filled.
    ///
    /// Where the record has a version field, the stored version must be the record's, and is
    /// raised by one.
    ///
    /// # Errors
    /// `NotFound` where no record has the key; `Conflict` where its version differs; `Duplicate`,
    /// `Constraint`, `TooLong`, `OutOfRange` as [`insert`](Table::insert).
    pub fn update(&self, record: &T) -> Result<()> {
        self.update_set(record, self.access.updated)
    }

    /// As [`update`](Table::update), of these fields only, and the modification time.
    ///
    /// ```
    /// # use bobak::prelude::*;
    /// # #[derive(Record)] struct City { id: i64, name: String, people: i64 }
    /// # let db = Db::builder().record::<City>().open("memory:")?;
    /// # db.create_missing_tables()?;
    /// # let cities = db.table::<City>()?;
    /// let mut city = City { id: 7, name: "Bern".into(), people: 1 };
    /// cities.insert(&city)?;
    /// city.people = 2;
    /// cities.update_fields(&city, [City::PEOPLE.into()])?;
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`update`](Table::update); `Misuse` for a key or version field.
    pub fn update_fields(
        &self,
        record: &T,
        fields: impl IntoIterator<Item = AnyColumn<T>>,
    ) -> Result<()> {
        let schema = &self.access.schema;
        let mut set: FieldSet = schema.modified_at().into_iter().collect();
        for field in fields {
            let place = field.place();
            if schema.key().contains(&place) || schema.version() == Some(place) {
                let message =
                    "a key or version can't be updated: delete the record and insert another";
                return Err(self.access.name(Error::new(ErrorKind::Misuse, message)));
            }
            set.insert(place);
        }
        self.update_set(record, set)
    }

    fn update_set(&self, record: &T, fields: FieldSet) -> Result<()> {
        let mut values = record.values()?;
        prepare_update(&self.access.schema, values.as_mut())?;
        self.access.write(Verb::Update, fields, values.as_ref()).map(|_| ())
    }

    /// Assigns fields of the record with this key, in one step at the engine: no read before it.
    /// `false` where there is none. The modification time is filled, the version raised.
    ///
    /// # Errors
    /// As [`update`](Table::update), `NotFound` aside; `OutOfRange` where an addition overflows.
    pub fn set(
        &self,
        key: impl Into<T::Key>,
        assignments: impl IntoIterator<Item = Assignment<T>>,
    ) -> Result<bool> {
        let condition = key.into().with_values(|key| self.access.key_condition(key));
        let assignments = assignments.into_iter().collect();
        self.access.change(Some(condition), Some(assignments)).map(|rows| rows > 0)
    }

    /// Assigns fields of every record that the filter keeps; gives their number.
    ///
    /// # Errors
    /// As [`set`](Table::set).
    pub fn set_where(
        &self,
        filter: Filter<T>,
        assignments: impl IntoIterator<Item = Assignment<T>>,
    ) -> Result<u64> {
        let assignments = assignments.into_iter().collect();
        self.access.change(Some(filter.into_condition()), Some(assignments))
    }

    /// Deletes the record with this key; `false` where there is none.
    ///
    /// # Errors
    /// `Constraint` where another record refers to it and its foreign key restricts.
    pub fn delete(&self, key: impl Into<T::Key>) -> Result<bool> {
        let delete = |key: &[Value<'_>]| self.access.write(Verb::Delete, FieldSet::EMPTY, key);
        let outcome = key.into().with_values(delete)?;
        Ok(outcome != Outcome::Changed(0))
    }

    /// Deletes every record that the filter keeps; gives their number.
    ///
    /// # Errors
    /// As [`delete`](Table::delete).
    pub fn delete_where(&self, filter: Filter<T>) -> Result<u64> {
        self.access.change::<T>(Some(filter.into_condition()), None)
    }

    /// Deletes every record; gives their number.
    ///
    /// # Errors
    /// As [`delete`](Table::delete).
    pub fn delete_all(&self) -> Result<u64> {
        self.access.change::<T>(None, None)
    }

    /// How many records a query keeps; its order, limit and offset have no say.
    ///
    /// # Errors
    /// `Mismatch` for a value that is not of its column's type; those of the engine.
    pub fn count(&self, query: impl Into<Query<T>>) -> Result<u64> {
        self.access.count(&query.into())
    }

    /// The records of a query, all at once.
    ///
    /// # Errors
    /// As [`count`](Table::count); `Mismatch`, `OutOfRange` where a column does not fit its field.
    pub fn list(&self, query: impl Into<Query<T>>) -> Result<Vec<T>> {
        let mut records = Vec::new();
        self.for_each(query, |record| {
            records.push(record);
            Ok(())
        })?;
        Ok(records)
    }

    /// The first record of a query.
    ///
    /// # Errors
    /// As [`list`](Table::list).
    pub fn first(&self, query: impl Into<Query<T>>) -> Result<Option<T>> {
        Ok(self.list(query.into().limit(1))?.pop())
    }

    /// Hands each record of a query to `each`, the fastest way to read records. An error of `each`
    /// ends the walk and is given back.
    ///
    /// The engine is busy with the walk: `each` must not use this database where it has a single
    /// connection, or this transaction; [`iter`](Table::iter) allows that.
    ///
    /// # Errors
    /// As [`list`](Table::list); `Misuse` where `each` writes through the busy connection.
    pub fn for_each(
        &self,
        query: impl Into<Query<T>>,
        mut each: impl FnMut(T) -> Result<()>,
    ) -> Result<()> {
        let select = self.access.select_all(&query.into())?;
        self.access.scan(&select, |row| {
            each(T::read(row)?)?;
            Ok(true)
        })
    }

    /// As [`for_each`](Table::for_each), over the engine's own rows: nothing is allocated or
    /// copied. The row's columns are in schema order; `each` says whether to go on.
    ///
    /// ```
    /// # use bobak::{prelude::*, Row, ValueRef};
    /// # #[derive(Record)] struct City { id: i64, name: String, people: i64 }
    /// # let db = Db::builder().record::<City>().open("memory:")?;
    /// # db.create_missing_tables()?;
    /// # let cities = db.table::<City>()?;
    /// # cities.insert(&City { id: 0, name: "Bern".into(), people: 134_000 })?;
    /// let mut longest = 0;
    /// cities.for_each_row(Query::all(), |row| {
    ///     if let ValueRef::Text(name) = row.get(City::NAME.place()) {
    ///         longest = longest.max(name.len());
    ///     }
    ///     Ok(true)
    /// })?;
    /// assert_eq!(longest, 4);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`for_each`](Table::for_each).
    pub fn for_each_row(
        &self,
        query: impl Into<Query<T>>,
        each: impl FnMut(&dyn Row) -> Result<bool>,
    ) -> Result<()> {
        let select = self.access.select_all(&query.into())?;
        self.access.scan(&select, each)
    }

    /// The records of a query one after the other, in constant memory. See [`Rows`].
    ///
    /// # Errors
    /// As [`count`](Table::count).
    pub fn iter(&self, query: impl Into<Query<T>>) -> Result<Rows<'_, T>> {
        self.access.lines(&query.into()).map(Rows::new)
    }

    /// Columns and aggregates of a query, as tuples.
    ///
    /// ```
    /// # use bobak::prelude::*;
    /// # #[derive(Record)] struct City { id: i64, country: String, people: i64 }
    /// # let db = Db::builder().record::<City>().open("memory:")?;
    /// # db.create_missing_tables()?;
    /// # let cities = db.table::<City>()?;
    /// # cities.insert(&City { id: 0, country: "CH".into(), people: 134_000 })?;
    /// let by_country = cities.select(
    ///     Query::filter(City::PEOPLE.gt(1_000)).group_by(City::COUNTRY),
    ///     (City::COUNTRY, count(), City::PEOPLE.sum()),
    /// )?;
    /// assert_eq!(by_country, [("CH".to_owned(), 1, Some(134_000))]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`count`](Table::count); `Schema` for a column beside an aggregate that is not grouped
    /// by; `OutOfRange` where a sum overflows.
    pub fn select<S: Selection<T>>(
        &self,
        query: impl Into<Query<T>>,
        selection: S,
    ) -> Result<Vec<S::Row>> {
        self.access.select(&query.into(), selection.exprs())
    }

    /// One aggregate over a query: `people.value(Query::all(), Person::AGE.max())`.
    ///
    /// # Errors
    /// As [`select`](Table::select).
    pub fn value<P: SelectionPart<T>>(
        &self,
        query: impl Into<Query<T>>,
        part: P,
    ) -> Result<P::Value> {
        let mut value = P::Value::from_value(ValueRef::Null);
        let select = query.into().to_select(&self.access.schema, vec![part.expr()])?;
        self.access.scan(&select, |row| {
            value = P::Value::from_value(row.get(0));
            Ok(false)
        })?;
        value.map_err(|error| self.access.name(error))
    }

    /// The sum of a column over a query; `None` where no record has a value.
    ///
    /// # Errors
    /// As [`select`](Table::select).
    pub fn sum<V: bobak_core::Summable>(
        &self,
        query: impl Into<Query<T>>,
        column: Column<T, V>,
    ) -> Result<Option<V::Sum>> {
        self.value(query, column.sum())
    }

    /// The records of a query as smaller ones: only the columns that `R` names are read.
    ///
    /// # Errors
    /// As [`list`](Table::list); `Schema` for a column that the record has not.
    pub fn list_as<R: FromRow>(&self, query: impl Into<Query<T>>) -> Result<Vec<R>> {
        self.access.list_as(&query.into())
    }
}

/// The key of a record whose values were prepared: the one that Bobak made for it, its own where
/// the engine is to make one.
pub(crate) fn key_of<T: Record>(record: &T, values: &[Value<'_>]) -> Result<T::Key> {
    let value = |&place: &usize| values.get(place).map_or(ValueRef::Null, Value::as_ref);
    let key: Vec<ValueRef<'_>> = T::schema().key().iter().map(value).collect();
    match &key[..] {
        [ValueRef::Null] => Ok(record.key()),
        key => T::Key::from_values(key),
    }
}
