//! Writes one row: what each verb does, for engines that have no query language.

use crate::rules::RowRules;
use crate::sort_key::{push_sort_key, sort_key};
use bobak_core::codec::{self, EncodedRow, FRAME};
use bobak_core::{
    Error, ErrorKind, GeneratedKey, KeyGeneration, Outcome, Result, TableSchema, Value, ValueRef,
    Verb, Write,
};
use std::sync::Arc;

/// A stored table: its schema, and its rules parsed.
#[derive(Debug)]
pub struct StoredTable {
    /// The table as it is stored.
    pub schema: Arc<TableSchema>,
    rules: RowRules,
}

/// The rows of one table, for [`write_row`].
///
/// Indexes are numbered: 0 is the table's key, 1 the first of [`TableSchema::indexes`].
pub trait RowStore {
    /// The row that has this [sort key](crate::sort_key()) in a unique index.
    ///
    /// # Errors
    /// Those of the storage.
    fn find(&self, index: usize, key: &[u8]) -> Result<Option<Vec<u8>>>;

    /// The row with the largest key.
    ///
    /// # Errors
    /// Those of the storage.
    fn last(&self) -> Result<Option<Vec<u8>>>;

    /// The largest key that the table ever had, if it [never reuses keys](TableSchema::never_reuses_keys); 0 at first.
    ///
    /// # Errors
    /// Those of the storage.
    fn largest_key(&self) -> Result<i64>;

    /// Stores the largest key that the table ever had.
    ///
    /// # Errors
    /// Those of the storage.
    fn set_largest_key(&mut self, key: i64) -> Result<()>;

    /// Removes `old` from the table and its indexes, and adds `new`.
    ///
    /// # Errors
    /// Those of the storage.
    fn replace(&mut self, old: Option<EncodedRow<'_>>, new: Option<EncodedRow<'_>>) -> Result<()>;
}

impl StoredTable {
    /// The table with this schema.
    ///
    /// # Errors
    /// As [`RowRules::new`].
    pub fn new(schema: Arc<TableSchema>) -> Result<Self> {
        Ok(Self { rules: RowRules::new(&schema)?, schema })
    }

    /// The row with the values of its generated columns.
    ///
    /// # Errors
    /// `OutOfRange` for a number that its column can't hold.
    pub fn complete(&self, row: Vec<u8>) -> Result<Vec<u8>> {
        Ok(with_generated(&self.schema, &self.rules, EncodedRow::new(&row))?.unwrap_or(row))
    }

    /// A row of these values, with those of its generated columns.
    ///
    /// # Errors
    /// As [`complete`](Self::complete).
    pub fn complete_row<'v>(&self, value: impl Fn(usize) -> ValueRef<'v>) -> Result<Vec<u8>> {
        self.complete(self.encode(value)?)
    }

    /// The columns of an index.
    #[must_use]
    pub fn index_columns(&self, index: usize) -> &[usize] {
        match index.checked_sub(1) {
            None => self.schema.key(),
            Some(at) => self.schema.indexes().get(at).map_or(&[], |index| &index.columns),
        }
    }

    /// The sort key of a row in an index.
    #[must_use]
    pub fn index_key(&self, index: usize, row: EncodedRow<'_>) -> Vec<u8> {
        sort_key(&self.schema, self.index_columns(index), |column| row.value(column))
    }

    /// The sort key of a key's values, in key order.
    ///
    /// # Errors
    /// `Mismatch` for another number of values.
    pub fn key_of(&self, values: &[Value<'_>]) -> Result<Vec<u8>> {
        let columns = self.schema.key();
        if values.len() != columns.len() {
            let (given, wanted) = (values.len(), columns.len());
            let error = Error::wrong_number(ErrorKind::Mismatch, given, wanted, "key column");
            return Err(error.in_table(self.schema.name()));
        }
        let mut key = Vec::new();
        for (&column, value) in columns.iter().zip(values) {
            push_sort_key(&mut key, &self.schema, column, value.as_ref());
        }
        Ok(key)
    }

    /// Checks a row whose table gets a new form: its values, its rules, and that no other row has its key or one of
    /// its unique values.
    ///
    /// # Errors
    /// `Constraint`, `Mismatch`, `TooLong`, `OutOfRange`, `Duplicate`.
    pub fn check_new(&self, store: &dyn RowStore, row: EncodedRow<'_>) -> Result<()> {
        self.schema.check_stored(false, &row)?;
        self.rules.check(&self.schema, row)?;
        match self.conflict(store, row, None)? {
            Some((index, _)) => Err(duplicate_error(&self.schema, index)),
            None => Ok(()),
        }
    }

    /// Another row with the row's key, or with its values in a unique index: the index and the row.
    fn conflict(
        &self,
        store: &dyn RowStore,
        row: EncodedRow<'_>,
        own_key: Option<&[u8]>,
    ) -> Result<Option<(usize, Vec<u8>)>> {
        for index in 0..=self.schema.indexes().len() {
            if let Some(found) = self.conflict_in(store, index, row)?
                && own_key != Some(&self.index_key(0, EncodedRow::new(&found)))
            {
                return Ok(Some((index, found)));
            }
        }
        Ok(None)
    }

    /// The stored row with the row's values in one index, if that is unique.
    fn conflict_in(
        &self,
        store: &dyn RowStore,
        index: usize,
        row: EncodedRow<'_>,
    ) -> Result<Option<Vec<u8>>> {
        let is_unique =
            index == 0 || self.schema.indexes().get(index - 1).is_some_and(|index| index.unique);
        let columns = self.index_columns(index);
        // NULL equals no other value.
        if !is_unique || columns.iter().any(|column| row.value(*column).is_null()) {
            return Ok(None);
        }
        store.find(index, &self.index_key(index, row))
    }

    fn encode<'v>(&self, value: impl Fn(usize) -> ValueRef<'v>) -> Result<Vec<u8>> {
        encode_row(&self.schema, value)
    }
}

/// Encodes a row of a table from its columns' values, without the codec's frame.
///
/// # Errors
/// `OutOfRange` if the row is larger than the codec allows.
pub fn encode_row<'v>(
    schema: &TableSchema,
    value: impl Fn(usize) -> ValueRef<'v>,
) -> Result<Vec<u8>> {
    let mut row = Vec::new();
    codec::encode_values(&mut row, schema.columns().len(), value)
        .map_err(|error| error.in_table(schema.name()))?;
    row.drain(..FRAME);
    Ok(row)
}

/// The row with the values of its generated columns; `None` if the table has none.
///
/// # Errors
/// `OutOfRange` for a number that its column can't hold, or if the row is larger than the codec allows.
pub fn with_generated(
    schema: &TableSchema,
    rules: &RowRules,
    row: EncodedRow<'_>,
) -> Result<Option<Vec<u8>>> {
    if !schema.has_generated_columns() {
        return Ok(None);
    }
    let made = rules.generate(schema, row)?;
    let value = |column: usize| {
        let made = made.iter().find(|(place, _)| *place == column);
        made.map_or_else(|| row.value(column), |(_, value)| value.as_ref())
    };
    encode_row(schema, value).map(Some)
}

/// Writes one row, as [`Session::write`](bobak_core::Session::write) describes.
///
/// After an error the store may have changed: the caller undoes the changes.
///
/// # Errors
/// Those of `Session::write`.
pub fn write_row(
    store: &mut dyn RowStore,
    table: &StoredTable,
    write: &Write<'_>,
) -> Result<Outcome> {
    table.schema.check_written(write.verb)?;
    match write.verb {
        Verb::Update => update(store, table, write),
        Verb::Delete => {
            let Some(old) = store.find(0, &table.key_of(write.values)?)? else {
                return Ok(Outcome::Changed(0));
            };
            store.replace(Some(EncodedRow::new(&old)), None)?;
            Ok(Outcome::Changed(1))
        }
        _ => insert(store, table, write),
    }
}

fn value_at<'v>(write: &Write<'v>, column: usize) -> ValueRef<'v> {
    write.values.get(column).map_or(ValueRef::Null, Value::as_ref)
}

fn check_width(table: &StoredTable, write: &Write<'_>) -> Result<()> {
    let (given, wanted) = (write.values.len(), table.schema.columns().len());
    if given == wanted {
        return Ok(());
    }
    let error = Error::wrong_number(ErrorKind::Mismatch, given, wanted, "column");
    Err(error.in_table(table.schema.name()))
}

fn insert(store: &mut dyn RowStore, table: &StoredTable, write: &Write<'_>) -> Result<Outcome> {
    check_width(table, write)?;
    let generated = match (write.table.key_generation(), table.schema.key()) {
        (KeyGeneration::Engine, [column]) if value_at(write, *column).is_null() => {
            Some((*column, next_key(store, table, *column)?))
        }
        _ => None,
    };
    let row = table.encode(|column| match generated {
        Some((position, key)) if position == column => ValueRef::Int(key),
        _ => value_at(write, column),
    })?;
    let row = table.complete(row)?;
    let row = EncodedRow::new(&row);
    table.rules.check(&table.schema, row)?;
    if write.verb.is_upsert() {
        let index = write.verb.upsert_index(write.table, &table.schema)?;
        if let Some(old) = table.conflict_in(store, index, row)? {
            let old = EncodedRow::new(&old);
            let outcome = set_fields(store, table, write, old)?;
            // An update does not change the key.
            return Ok(match index {
                0 => outcome,
                _ => Outcome::of_updated(&table.schema, |column| old.value(column)),
            });
        }
    }
    match (write.verb, table.conflict(store, row, None)?) {
        (_, None) => {}
        (Verb::InsertOrIgnore, Some(_)) => return Ok(Outcome::Ignored),
        (Verb::InsertOrReplace, Some(first)) => {
            let mut conflict = Some(first);
            while let Some((_, old)) = conflict {
                store.replace(Some(EncodedRow::new(&old)), None)?;
                conflict = table.conflict(store, row, None)?;
            }
        }
        (_, Some((index, _))) => return Err(duplicate_error(&table.schema, index)),
    }
    store.replace(None, Some(row))?;
    if let (true, [column]) = (table.schema.never_reuses_keys(), table.schema.key())
        && let ValueRef::Int(key) = row.value(*column)
        && key > store.largest_key()?
    {
        store.set_largest_key(key)?;
    }
    Ok(Outcome::Inserted(generated.map(|(_, key)| GeneratedKey::Int(key))))
}

/// One more than the largest key, 1 in an empty table.
fn next_key(store: &dyn RowStore, table: &StoredTable, column: usize) -> Result<i64> {
    let last = store.last()?.map(|row| match EncodedRow::new(&row).value(column) {
        ValueRef::Int(last) => last,
        _ => 0,
    });
    let unused = match table.schema.never_reuses_keys() {
        true => Some(store.largest_key()?),
        false => None,
    };
    let Some(last) = last.max(unused) else { return Ok(1) };
    last.checked_add(1).ok_or_else(|| no_key_left(&table.schema))
}

/// The error if the largest integer is a key already.
#[cold]
#[must_use]
pub fn no_key_left(schema: &TableSchema) -> Error {
    let message = "the largest possible key is in use, so no other key can be generated";
    let key = schema.key().first().and_then(|&place| schema.columns().get(place));
    let error = Error::new(ErrorKind::Full, message).in_table(schema.name());
    match key {
        Some(column) => error.in_column(column.name.clone()),
        None => error,
    }
}

fn update(store: &mut dyn RowStore, table: &StoredTable, write: &Write<'_>) -> Result<Outcome> {
    check_width(table, write)?;
    let schema = &table.schema;
    let key = sort_key(schema, schema.key(), |column| value_at(write, column));
    let Some(old) = store.find(0, &key)? else {
        return Err(no_such_row(schema));
    };
    let old = EncodedRow::new(&old);
    if let Some(version) = write.table.version() {
        check_version(schema, old.value(version), value_at(write, version))?;
    }
    set_fields(store, table, write, old)
}

/// Gives a row the values of the written fields, and raises its version.
fn set_fields(
    store: &mut dyn RowStore,
    table: &StoredTable,
    write: &Write<'_>,
    old: EncodedRow<'_>,
) -> Result<Outcome> {
    let version = raised_version(&table.schema, old, write.table.version())?;
    let new = table.encode(|column| match version {
        Some((position, version)) if position == column => ValueRef::Int(version),
        _ if write.fields.contains(column) => value_at(write, column),
        _ => old.value(column),
    })?;
    let new = table.complete(new)?;
    let new = EncodedRow::new(&new);
    table.rules.check(&table.schema, new)?;
    let own_key = table.index_key(0, old);
    if let Some((index, _)) = table.conflict(store, new, Some(&own_key))? {
        return Err(duplicate_error(&table.schema, index));
    }
    store.replace(Some(old), Some(new))?;
    Ok(Outcome::Changed(1))
}

/// The error for an update of a row that does not exist.
#[cold]
#[must_use]
pub fn no_such_row(schema: &TableSchema) -> Error {
    Error::new(ErrorKind::NotFound, "no row has this key").in_table(schema.name())
}

/// Checks that an update names the row's present version.
///
/// # Errors
/// `Conflict`.
pub fn check_version(schema: &TableSchema, found: ValueRef<'_>, given: ValueRef<'_>) -> Result<()> {
    if found == given {
        return Ok(());
    }
    let show = |version: ValueRef<'_>| match version {
        ValueRef::Int(version) => version.to_string(),
        other => other.class().to_owned(),
    };
    let (found, given) = (show(found), show(given));
    let message =
        format!("the row was changed since it was read: its version is {found}, not {given}");
    Err(Error::new(ErrorKind::Conflict, message).in_table(schema.name()))
}

/// The version column, if any, and the row's version plus one.
///
/// # Errors
/// `OutOfRange` at `i64::MAX`.
pub fn raised_version(
    schema: &TableSchema,
    row: EncodedRow<'_>,
    column: Option<usize>,
) -> Result<Option<(usize, i64)>> {
    let Some(column) = column else {
        return Ok(None);
    };
    let version = match row.value(column) {
        ValueRef::Int(version) => version,
        _ => 0,
    };
    match version.checked_add(1) {
        Some(version) => Ok(Some((column, version))),
        None => Err(Error::new(ErrorKind::OutOfRange, "the version cannot be incremented further")
            .in_table(schema.name())),
    }
}

/// The error for a row whose values in a unique index another row has: 0 is the key.
#[cold]
#[must_use]
pub fn duplicate_error(schema: &TableSchema, index: usize) -> Error {
    let columns = match index.checked_sub(1) {
        None => schema.key(),
        Some(at) => schema.indexes().get(at).map_or(&[][..], |index| &index.columns),
    };
    Error::duplicate(schema, columns)
}

/// The error for a table that does not exist.
#[cold]
#[must_use]
pub fn missing_table(schema: &TableSchema) -> Error {
    let message = "the table does not exist: create it first";
    Error::new(ErrorKind::Schema, message).in_table(schema.name())
}

/// The error for a table that is created a second time.
#[cold]
#[must_use]
pub fn table_exists(schema: &TableSchema) -> Error {
    Error::new(ErrorKind::Schema, "the table already exists").in_table(schema.name())
}

/// Rejects a table with generated columns, for an engine that has none.
///
/// # Errors
/// `Unsupported`, naming the first generated column.
pub fn reject_generated(engine: &str, schema: &TableSchema) -> Result<()> {
    match schema.columns().iter().find(|column| column.generated.is_some()) {
        Some(column) => Err(Error::unsupported(engine, "generated columns")
            .in_table(schema.name())
            .in_column(column.name.clone())),
        None => Ok(()),
    }
}

/// Rejects a table with foreign keys, for an engine that cannot enforce them.
///
/// # Errors
/// `Unsupported`, naming the first foreign key's column.
pub fn reject_references(engine: &str, schema: &TableSchema) -> Result<()> {
    match schema.all_foreign_keys().first() {
        Some(key) => Err(Error::unsupported(engine, "foreign keys")
            .in_table(schema.name())
            .in_column(schema.column_names(&key.columns))),
        None => Ok(()),
    }
}
