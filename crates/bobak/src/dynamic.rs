//! Tables that no struct describes.

use crate::access::{TableAccess, key_value};
use crate::handle::SessionSource;
use crate::parameters::Parameters;
use crate::rows::RowCursor;
use bobak_core::{
    Assignment, Column, DynRow, Engine, Error, ErrorKind, Expr, FieldSet, Filter, FromRow, Outcome,
    Parameter, PartialInsert, Query, Result, ResultColumn, Row, Selection, SelectionPart,
    TableSchema, Value, Verb, prepare_dynamic_insert, prepare_update,
};
use std::sync::Arc;

/// A table known only at run time: rows with named values, and the same queries and engines.
///
/// ```
/// use bobak::prelude::*;
/// use bobak::schema::{ColumnSchema, TableSchema};
/// let db = Db::open("sqlite::memory:")?;
/// let planes = db.create_table(
///     TableSchema::builder("plane")
///         .column(ColumnSchema::of::<String>("tailnum"))
///         .column(ColumnSchema::of::<Option<i32>>("capacity"))
///         .key(["tailnum"])
///         .build()?,
/// )?;
/// let mut row = DynRow::new();
/// row.set("tailnum", "N10156")?;
/// row.set("capacity", 55)?;
/// planes.insert(&row)?;
/// let capacity = planes.column("capacity")?;
/// let large = planes.list(Query::filter(capacity.gt(50)).order_by(capacity.desc()))?;
/// assert_eq!(large[0].get::<String>("tailnum")?, "N10156");
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone)]
pub struct DynTable<'a> {
    pub(crate) access: TableAccess<'a>,
    columns: Arc<Vec<ResultColumn>>,
    partial_inserts: Arc<PartialInsert>,
}

impl<'a> DynTable<'a> {
    pub(crate) fn new(source: SessionSource<'a>, schema: Arc<TableSchema>) -> Self {
        let columns = Arc::new(ResultColumn::of_table(&schema));
        let partial_inserts = Arc::new(PartialInsert::new(Arc::clone(&schema)));
        Self { access: TableAccess::new(source, schema), columns, partial_inserts }
    }

    /// The engine, unless the table was opened in a transaction.
    pub(crate) fn engine(&self) -> Option<&Arc<dyn Engine>> {
        match &self.access.source {
            SessionSource::Engine(handle) => handle.engine().ok(),
            SessionSource::Transaction(_) => None,
        }
    }

    /// The columns of whole rows.
    pub(crate) fn result_columns(&self) -> &Arc<Vec<ResultColumn>> {
        &self.columns
    }

    /// The table's schema, as its engine describes it.
    #[must_use]
    pub fn schema(&self) -> &Arc<TableSchema> {
        &self.access.schema
    }

    /// The schema for inserting a row with these columns.
    pub(crate) fn schema_for(&self, given: FieldSet) -> Arc<TableSchema> {
        self.partial_inserts.table(given)
    }

    /// A column by its name, for conditions and orders.
    ///
    /// # Errors
    /// `Schema` if there is none.
    pub fn column(&self, name: &str) -> Result<Column<DynRow, Value<'static>>> {
        self.access.schema.column(name).map(Column::new)
    }

    /// Inserts a row and returns the values of its key. Missing columns get their defaults or NULL; a generated key may be
    /// missing or NULL. A key that is present is kept, also if it is 0, unlike that of a
    /// [record](crate::Table::insert).
    ///
    /// # Errors
    /// `Schema` for a column that the table does not have; `Mismatch`, `OutOfRange`, `TooLong` for a value that does not
    /// fit its column; `Constraint`, `Duplicate`.
    #[track_caller]
    pub fn insert(&self, row: &DynRow) -> Result<Vec<Value<'static>>> {
        self.insert_as(Verb::Insert, FieldSet::EMPTY, row)
    }

    /// Inserts the row, or updates the one with its key.
    ///
    /// # Errors
    /// As [`insert`](DynTable::insert).
    #[track_caller]
    pub fn upsert(&self, row: &DynRow) -> Result<Vec<Value<'static>>> {
        self.insert_as(Verb::Upsert, self.access.updated, row)
    }

    /// Inserts the row, or updates the one with the same values in the columns of a unique index; returns the values of
    /// its key, which an update keeps. See [`Table::upsert_on`](crate::Table::upsert_on).
    ///
    /// # Errors
    /// As [`insert`](DynTable::insert); `Schema` for columns that are neither the key nor those of a unique index.
    #[track_caller]
    pub fn upsert_on<N: AsRef<str>>(
        &self,
        columns: impl IntoIterator<Item = N>,
        row: &DynRow,
    ) -> Result<Vec<Value<'static>>> {
        self.insert_as(self.upsert_verb(columns)?, self.access.updated, row)
    }

    /// The verb of an upsert by these columns.
    pub(crate) fn upsert_verb<N: AsRef<str>>(
        &self,
        columns: impl IntoIterator<Item = N>,
    ) -> Result<Verb> {
        let schema = &self.access.schema;
        let columns = columns.into_iter().map(|name| schema.column(name.as_ref()));
        Verb::upsert_by(schema, &columns.collect::<Result<Vec<_>>>()?)
    }

    #[track_caller]
    fn insert_as(&self, verb: Verb, fields: FieldSet, row: &DynRow) -> Result<Vec<Value<'static>>> {
        let schema = &self.access.schema;
        schema.check_writable()?;
        let (values, given) = arrange(schema, row)?;
        let mut values = accept(schema, given, values)?;
        prepare_dynamic_insert(schema, &mut values)?;
        let outcome = self.access.write_as(&self.schema_for(given), verb, fields, &values)?;
        if let Outcome::Inserted(Some(key)) = outcome {
            return Ok(vec![key_value(key)]);
        }
        if let Some(key) = self.access.updated_key(verb, &outcome, &mut values)? {
            return Ok(key);
        }
        Ok(self.access.key_values(&values).into_iter().map(Value::into_owned).collect())
    }

    /// Updates the columns named in this row, of the stored row with the same key.
    ///
    /// # Errors
    /// `NotFound` if there is none; `Conflict` if the table has a version column and the row's version differs; as
    /// [`insert`](DynTable::insert).
    #[track_caller]
    pub fn update(&self, row: &DynRow) -> Result<()> {
        let (fields, mut values) = self.accept_update(row)?;
        prepare_update(&self.access.schema, &mut values)?;
        self.access.write(Verb::Update, fields, &values).map(|_| ())
    }

    /// The columns that an update with this row sets, and the row's values in schema order.
    pub(crate) fn accept_update(&self, row: &DynRow) -> Result<(FieldSet, Vec<Value<'static>>)> {
        let schema = &self.access.schema;
        schema.check_writable()?;
        let mut fields: FieldSet = schema.modified_at().into_iter().collect();
        let mut values = vec![Value::Null; schema.columns().len()];
        for (name, value) in row.names().zip(row.values()) {
            let position = schema.column(name)?;
            if let (Some(column), Some(slot)) =
                (schema.columns().get(position), values.get_mut(position))
            {
                *slot =
                    column.accept(value.clone()).map_err(|error| self.access.in_table(error))?;
            }
            let is_made = schema.version() == Some(position) || schema.is_generated(position);
            if !schema.key().contains(&position) && !is_made {
                fields.insert(position);
            }
        }
        Ok((fields, values))
    }

    /// The row with this key, or `None`: `table.get(["N10156"])`, `table.get((1, "a"))`.
    ///
    /// # Errors
    /// `Mismatch` if the values do not have the types of the key columns.
    #[track_caller]
    pub fn get(&self, key: impl Parameters) -> Result<Option<DynRow>> {
        self.access.schema.check_has_key()?;
        let key = self.accept_key(key)?;
        let read = |row: &dyn Row| DynRow::from_result_row(row, &self.columns);
        self.access.get(&key, read)
    }

    /// Deletes the row with this key; returns `false` if there is none.
    ///
    /// # Errors
    /// As [`get`](DynTable::get); `Constraint` if another row refers to it.
    #[track_caller]
    pub fn delete(&self, key: impl Parameters) -> Result<bool> {
        self.access.schema.check_writable()?;
        let key = self.accept_key(key)?;
        let outcome = self.access.write(Verb::Delete, FieldSet::EMPTY, &key)?;
        Ok(outcome != Outcome::Changed(0))
    }

    /// Assigns columns of every row that matches the filter; returns their number.
    ///
    /// # Errors
    /// As [`insert`](DynTable::insert).
    #[track_caller]
    pub fn set_where(
        &self,
        filter: Filter<DynRow>,
        assignments: impl IntoIterator<Item = Assignment<DynRow>>,
    ) -> Result<u64> {
        let assignments = assignments.into_iter().collect();
        self.access.change(Some(filter.into_condition()), Some(assignments))
    }

    /// Deletes every row that matches the filter; returns their number.
    ///
    /// # Errors
    /// As [`delete`](DynTable::delete).
    #[track_caller]
    pub fn delete_where(&self, filter: Filter<DynRow>) -> Result<u64> {
        self.access.change::<DynRow>(Some(filter.into_condition()), None)
    }

    /// The number of rows that match a query.
    ///
    /// # Errors
    /// `Mismatch` for a value that does not have its column's type.
    #[track_caller]
    pub fn count(&self, query: impl Into<Query<DynRow>>) -> Result<u64> {
        self.access.count(query.into())
    }

    /// The rows of a query, all at once.
    ///
    /// # Errors
    /// As [`count`](DynTable::count).
    #[track_caller]
    pub fn list(&self, query: impl Into<Query<DynRow>>) -> Result<Vec<DynRow>> {
        let mut rows = Vec::new();
        self.for_each_row(query, |row| {
            rows.push(DynRow::from_result_row(row, &self.columns)?);
            Ok(true)
        })?;
        Ok(rows)
    }

    /// Calls `each` with the engine's own rows, columns in schema order, until it returns `false`.
    ///
    /// # Errors
    /// As [`count`](DynTable::count), and those of `each`.
    #[track_caller]
    pub fn for_each_row(
        &self,
        query: impl Into<Query<DynRow>>,
        each: impl FnMut(&dyn Row) -> Result<bool>,
    ) -> Result<()> {
        let select = self.access.select_all(&query.into())?;
        self.access.scan(&select, each)
    }

    /// As [`for_each_row`](DynTable::for_each_row), with these columns alone, in this order: the others are not read.
    ///
    /// # Errors
    /// As there; `Schema` for an index that is that of no column.
    #[track_caller]
    pub fn for_each_row_of(
        &self,
        columns: &[usize],
        query: impl Into<Query<DynRow>>,
        each: impl FnMut(&dyn Row) -> Result<bool>,
    ) -> Result<()> {
        let schema = &self.access.schema;
        for &column in columns {
            schema.column_at(column)?;
        }
        let columns = columns.iter().map(|&column| Expr::Column(column)).collect();
        self.access.scan(&query.into().to_select(schema, columns)?, each)
    }

    /// Iterates over the rows of a query in constant memory. The table may be written meanwhile.
    ///
    /// # Errors
    /// As [`count`](DynTable::count).
    #[track_caller]
    pub fn iter(&self, query: impl Into<Query<DynRow>>) -> Result<DynRows<'_>> {
        self.access
            .cursor(&query.into())
            .map(|cursor| DynRows { cursor, columns: Arc::clone(&self.columns) })
    }

    /// Columns and aggregates of a query, as tuples. See [`Table::select`](crate::Table::select).
    ///
    /// # Errors
    /// As [`Table::select`](crate::Table::select).
    #[track_caller]
    pub fn select<S: Selection<DynRow>>(
        &self,
        query: impl Into<Query<DynRow>>,
        selection: S,
    ) -> Result<Vec<S::Row>> {
        self.access.select(&query.into(), selection.exprs())
    }

    /// One aggregate over a query.
    ///
    /// # Errors
    /// As [`select`](DynTable::select).
    #[track_caller]
    pub fn value<P: SelectionPart<DynRow>>(
        &self,
        query: impl Into<Query<DynRow>>,
        part: P,
    ) -> Result<P::Value>
    where
        (P::Value,): FromRow,
    {
        let rows: Vec<(P::Value,)> = self.access.select(&query.into(), vec![part.expr()])?;
        rows.into_iter().next().map(|(value,)| value).ok_or_else(|| {
            self.access.in_table(Error::new(ErrorKind::Engine, "an aggregate returned no row"))
        })
    }

    pub(crate) fn accept_key(&self, key: impl Parameters) -> Result<Vec<Value<'static>>> {
        let schema = &self.access.schema;
        let values = key.into_arguments()?.into_values()?;
        if values.len() != schema.key().len() {
            let (given, wanted) = (values.len(), schema.key().len());
            let error = Error::wrong_number(ErrorKind::Mismatch, given, wanted, "key column");
            return Err(self.access.in_table(error));
        }
        let accept =
            |(&position, given): (&usize, Parameter<'static>)| match schema.columns().get(position)
            {
                Some(column) => column.accept(given.value),
                None => Ok(given.value),
            };
        let values = schema.key().iter().zip(values).map(accept).collect::<Result<_>>();
        values.map_err(|error| self.access.in_table(error))
    }
}

/// An iterator over the rows of a [`DynTable`]: `Result<DynRow>`.
pub struct DynRows<'a> {
    cursor: RowCursor<'a>,
    columns: Arc<Vec<ResultColumn>>,
}

impl Iterator for DynRows<'_> {
    type Item = Result<DynRow>;

    fn next(&mut self) -> Option<Result<DynRow>> {
        let row = self.cursor.next_row().transpose()?;
        Some(row.and_then(|row| DynRow::from_result_row(&row, &self.columns)))
    }
}

/// The values of a row in schema order, and the columns that it has. Missing columns get their defaults.
///
/// # Errors
/// `Schema` for a column that the table does not have.
pub(crate) fn arrange<'r>(
    schema: &TableSchema,
    row: &'r DynRow,
) -> Result<(Vec<Value<'r>>, FieldSet)> {
    let generated = schema.key_generation() != bobak_core::KeyGeneration::Given;
    let default = |(position, column): (usize, &bobak_core::ColumnSchema)| {
        // A generated key does not take the default of its column.
        let default =
            column.default.clone().filter(|_| !(generated && schema.key().contains(&position)));
        default.unwrap_or_default()
    };
    let mut values: Vec<Value<'r>> = schema.columns().iter().enumerate().map(default).collect();
    let mut given = FieldSet::EMPTY;
    for (name, value) in row.names().zip(row.values()) {
        let position = schema.column(name)?;
        if let Some(slot) = values.get_mut(position) {
            *slot = Value::from(value.as_ref());
        }
        given.insert(position);
    }
    Ok((values, given))
}

/// Whether Bobak or the engine fills the column of a new row.
fn is_filled(schema: &TableSchema, column: usize) -> bool {
    let makes_key = schema.key_generation() != bobak_core::KeyGeneration::Given;
    makes_key && schema.key().contains(&column)
        || schema.is_generated(column)
        || [schema.created_at(), schema.modified_at()].contains(&Some(column))
}

/// Checks values in schema order against their columns. NULL is accepted for columns that Bobak or the engine fills, and
/// for columns that are not `given` and have a computed default.
///
/// # Errors
/// `Mismatch`, `OutOfRange`, `TooLong`, `Constraint`, naming table and column.
pub(crate) fn accept(
    schema: &TableSchema,
    given: FieldSet,
    values: Vec<Value<'_>>,
) -> Result<Vec<Value<'static>>> {
    let (found, wanted) = (values.len(), schema.columns().len());
    if found != wanted {
        let error = Error::wrong_number(ErrorKind::Mismatch, found, wanted, "column");
        return Err(error.in_table(schema.name()));
    }
    let filled = |column: usize| is_filled(schema, column);
    let accept = |(position, (column, value)): (usize, (&bobak_core::ColumnSchema, Value<'_>))| {
        if value.is_null() {
            if filled(position) || !given.contains(position) && column.default_sql.is_some() {
                return Ok(Value::Null);
            }
            if schema.version() == Some(position) {
                return Ok(Value::Int(0));
            }
        }
        column.accept(value)
    };
    let pairs = schema.columns().iter().zip(values).enumerate();
    let accepted: Result<_> = pairs.map(accept).collect();
    accepted.map_err(|error| error.in_table(schema.name()))
}
