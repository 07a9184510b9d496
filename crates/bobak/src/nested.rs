//! Records that are inserted together with new records that refer to them.

use crate::access::{TableAccess, key_value};
use crate::handle::SessionSource;
use crate::table::Table;
use bobak_core::statements::CallSite;
use bobak_core::{
    ColumnPair, Error, ErrorKind, Expr, FieldSet, GeneratedKey, Key, OnError, Outcome, Record,
    Result, Select, Session, Source, TableSchema, ToMany, Value, Verb, Write, WriteBatch,
    atomically, check_loaded, prepare_insert,
};
use std::collections::HashMap;
use std::marker::PhantomData;
use std::sync::Arc;

/// The most bytes of rows that are sent to an engine in one call.
const PART_BYTES: usize = 4 << 20;

/// A new record with new records that refer to it, nested to any depth: for [`Table::insert_nested`].
///
/// Each record that is added by [`with`](NestedRecord::with) gets the key of the record above in its reference, or the values
/// that it refers to, whatever it has there: as they are written, after rules and hooks. A record converts into one without others (`From`).
///
/// ```
/// use bobak::prelude::*;
/// use bobak::relation::{NestedRecord, ToMany};
///
/// #[derive(Record)]
/// struct Order {
///     id: i64,
///     placed: Date,
/// }
///
/// #[derive(Record)]
/// struct Line {
///     id: i64,
///     #[record(references = Order, on_delete = "cascade", index)]
///     order_id: i64,
///     amount: u32,
/// }
///
/// impl Order {
///     const LINES: ToMany<Order, Line> = Line::ORDER.inverse();
/// }
///
/// let db = Db::builder().record::<Order>().record::<Line>().open("memory:")?;
/// db.create_missing_tables()?;
/// let lines = [3, 5].map(|amount| Line { id: 0, order_id: 0, amount });
/// let order = NestedRecord::new(Order { id: 0, placed: "2026-11-23".parse()? });
/// let id = db.table::<Order>()?.insert_nested(order.with(Order::LINES, lines))?;
/// assert_eq!(db.table::<Line>()?.count(Line::ORDER_ID.eq(id))?, 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct NestedRecord<T> {
    row: NestedRow,
    /// Why the record cannot be inserted.
    error: Option<Error>,
    record: PhantomData<fn() -> T>,
}

/// The row of a new record, and the rows that will refer to it.
#[derive(Debug)]
struct NestedRow {
    /// In schema order.
    values: Vec<Value<'static>>,
    children: Vec<(ChildLink, Vec<NestedRow>)>,
}

/// How new rows refer to the row above: columns of their table get the values of columns of that row.
#[derive(Debug)]
struct ChildLink {
    table: &'static Arc<TableSchema>,
    pairs: Vec<ColumnPair>,
}

/// New rows of one table at one depth, which are inserted together.
struct NewLevel {
    table: &'static Arc<TableSchema>,
    depth: usize,
    rows: Vec<NestedRow>,
}

impl<T: Record> NestedRecord<T> {
    /// A new record without others.
    #[must_use]
    pub fn new(record: T) -> Self {
        let values = check_loaded(&record, T::ON_REQUEST).and_then(|()| record.values());
        let (values, error) = match values {
            Ok(values) => (values.as_ref().iter().map(|v| v.as_ref().to_owned()).collect(), None),
            Err(error) => (Vec::new(), Some(error.in_table(T::TABLE))),
        };
        Self { row: NestedRow { values, children: Vec::new() }, error, record: PhantomData }
    }

    /// Adds new records that refer to this one. The relation is the inverse of a reference, such as
    /// `Line::ORDER.inverse()`; one of several steps makes the insert fail with `Misuse`.
    #[must_use]
    pub fn with<C: Record, R: Into<NestedRecord<C>>>(
        mut self,
        relation: ToMany<T, C>,
        records: impl IntoIterator<Item = R>,
    ) -> Self {
        let mut steps = relation.steps();
        let (Some(step), None) = (steps.next(), steps.next()) else {
            let message = "nested records need a relation of one step: nest the records of each \
                           step, or use `links` for records that exist";
            let error = Error::new(ErrorKind::Misuse, message).in_table(T::TABLE);
            self.error.get_or_insert(error);
            return self;
        };
        let (table, pairs) = (step.table(), step.pairs(T::schema()).collect());
        let mut rows = Vec::new();
        for record in records {
            let NestedRecord { mut row, error, .. } = record.into();
            self.error = self.error.or(error);
            if let Some((column, table)) = step.to_text()
                && let Some(slot) = row.values.get_mut(column)
            {
                *slot = table.into();
            }
            rows.push(row);
        }
        self.row.children.push((ChildLink { table, pairs }, rows));
        self
    }
}

impl<T: Record> From<T> for NestedRecord<T> {
    fn from(record: T) -> Self {
        Self::new(record)
    }
}

impl<T: Record> Table<'_, T> {
    /// Inserts a record and the new records that refer to it, and returns its key. See
    /// [`insert_all_nested`](Table::insert_all_nested).
    ///
    /// # Errors
    /// As [`insert_all_nested`](Table::insert_all_nested).
    #[track_caller]
    pub fn insert_nested(&self, record: impl Into<NestedRecord<T>>) -> Result<T::Key> {
        let _at = CallSite::enter();
        let key = self.insert_all_nested([record])?.pop();
        let none = || Error::new(ErrorKind::NotFound, "the engine returned no key");
        key.ok_or_else(|| self.access.in_table(none()))
    }

    /// Inserts records and the new records that refer to them, and returns the keys of the former, in their order.
    ///
    /// The call is one transaction, or a part of the table's own: if a row fails, none is inserted. It sends one batch for
    /// each table and depth, however many rows there are. Keys and timestamps are generated as by
    /// [`insert`](Table::insert).
    ///
    /// # Errors
    /// As [`insert`](Table::insert), with the table of the row that failed; `Unsupported` if another engine keeps one of the
    /// tables; `Schema` if a table is missing; `Misuse` for a relation of several steps, and for
    /// a record that is not registered.
    #[track_caller]
    pub fn insert_all_nested<R: Into<NestedRecord<T>>>(
        &self,
        records: impl IntoIterator<Item = R>,
    ) -> Result<Vec<T::Key>> {
        let _at = CallSite::enter();
        let mut level = NewLevel { table: T::schema(), depth: 0, rows: Vec::new() };
        for record in records {
            let NestedRecord { row, error, .. } = record.into();
            error.map_or(Ok(()), Err)?;
            level.rows.push(row);
        }
        let source = &self.access.source;
        let insert = |session: &dyn Session| {
            atomically(session, "bobak_nested", || insert_levels(source, session, level))
        };
        let keys = source.with(insert)?;
        let key = |key: &Vec<Value<'_>>| {
            T::Key::from_values(&key.iter().map(Value::as_ref).collect::<Vec<_>>())
        };
        keys.iter().map(key).collect()
    }
}

/// Inserts the rows of a level and all levels below it; returns the keys of the first.
fn insert_levels(
    source: &SessionSource<'_>,
    session: &dyn Session,
    first: NewLevel,
) -> Result<Vec<Vec<Value<'static>>>> {
    let key = |row: &NestedRow| -> Vec<Value<'static>> {
        let value = |&column: &usize| row.values.get(column).cloned().unwrap_or_default();
        first.table.key().iter().map(value).collect()
    };
    let (mut keys, mut levels) = (Vec::new(), vec![first]);
    let mut next = 0;
    while let Some(level) = levels.get_mut(next) {
        let NewLevel { table, depth, .. } = *level;
        let mut rows = std::mem::take(&mut level.rows);
        source.check_table(session, table)?;
        for row in &mut rows {
            source.engines().normalize(source.engine_index(), table, &mut row.values)?;
        }
        insert_rows(session, table, &mut rows)
            .and_then(|()| read_referenced(source, session, table, &mut rows))
            .map_err(|error| error.in_table(table.name()))?;
        if depth == 0 {
            keys = rows.iter().map(key).collect();
        }
        for row in rows {
            add_children(&mut levels, row, depth + 1);
        }
        next += 1;
    }
    Ok(keys)
}

/// Moves the rows that refer to a row, which is inserted, to their levels.
fn add_children(levels: &mut Vec<NewLevel>, row: NestedRow, depth: usize) {
    for (ChildLink { table, pairs }, children) in row.children {
        let linked = children.into_iter().map(|mut child| {
            for pair in &pairs {
                if let Some(slot) = child.values.get_mut(pair.to) {
                    *slot = row.values.get(pair.from).cloned().unwrap_or_default();
                }
            }
            child
        });
        let same = |level: &&mut NewLevel| level.depth == depth && Arc::ptr_eq(level.table, table);
        match levels.iter_mut().find(same) {
            Some(level) => level.rows.extend(linked),
            None => levels.push(NewLevel { table, depth, rows: linked.collect() }),
        }
    }
}

/// Inserts rows of one table, and sets their generated keys.
fn insert_rows(
    session: &dyn Session,
    table: &Arc<TableSchema>,
    rows: &mut [NestedRow],
) -> Result<()> {
    let mut batch = WriteBatch::new();
    let mut keys: Vec<Option<GeneratedKey>> = Vec::with_capacity(rows.len());
    let mut send = |batch: &mut WriteBatch| {
        let mut each = |outcome: Result<Outcome>| {
            keys.push(match outcome {
                Ok(Outcome::Inserted(key)) => key,
                _ => None,
            });
        };
        session.batch(batch, OnError::Stop, &mut each).map(|()| batch.clear())
    };
    for row in &mut *rows {
        prepare_insert(table, &mut row.values)?;
        let (verb, fields) = (Verb::Insert, FieldSet::EMPTY);
        batch.push(&Write { table, verb, fields, values: &row.values })?;
        if batch.bytes() >= PART_BYTES {
            send(&mut batch)?;
        }
    }
    if !batch.is_empty() {
        send(&mut batch)?;
    }
    if let &[column] = table.key() {
        for (row, key) in rows.iter_mut().zip(keys) {
            if let (Some(slot), Some(key)) = (row.values.get_mut(column), key) {
                *slot = key_value(key);
            }
        }
    }
    Ok(())
}

/// Reads the values, other than keys, that children of inserted rows refer to: hooks and triggers may have changed them.
fn read_referenced(
    source: &SessionSource<'_>,
    session: &dyn Session,
    table: &Arc<TableSchema>,
    rows: &mut [NestedRow],
) -> Result<()> {
    let pairs = |row: &NestedRow| -> FieldSet {
        let pairs = row.children.iter().flat_map(|(link, _)| &link.pairs);
        pairs.map(|pair| pair.from).filter(|from| !table.key().contains(from)).collect()
    };
    let columns: FieldSet =
        rows.iter().flat_map(|row| pairs(row).iter().collect::<Vec<_>>()).collect();
    if columns.is_empty() {
        return Ok(());
    }
    let access = TableAccess::new(source.clone(), Arc::clone(table));
    let mut select = Select::all(table);
    select.order.clear();
    select.columns = table.key().iter().copied().chain(columns.iter()).map(Expr::Column).collect();
    for rows in rows.chunks_mut(access.most_keys()) {
        read_columns(&access, session, &mut select, columns, rows)?;
    }
    Ok(())
}

/// Sets columns of rows to their stored values, which `select` reads after the key.
fn read_columns(
    access: &TableAccess<'_>,
    session: &dyn Session,
    select: &mut Select,
    columns: FieldSet,
    rows: &mut [NestedRow],
) -> Result<()> {
    let width = access.schema.key().len();
    let (mut places, mut keys) = (HashMap::with_capacity(rows.len()), Vec::new());
    for (at, row) in rows.iter().enumerate() {
        let key = access.key_values(&row.values).into_iter().map(Value::into_owned);
        let key: Vec<Value<'static>> = key.collect();
        places.insert(access.folded(key.iter().map(Value::as_ref)), at);
        keys.push(key);
    }
    select.condition = Some(access.any_key(keys));
    session.query(&Source::Select(select), &mut |found| {
        let at = places.get(&access.folded((0..width).map(|at| found.get(at))));
        if let Some(row) = at.and_then(|&at| rows.get_mut(at)) {
            for (at, column) in (width..).zip(columns.iter()) {
                if let Some(slot) = row.values.get_mut(column) {
                    *slot = found.get(at).to_owned();
                }
            }
        }
        Ok(true)
    })
}
