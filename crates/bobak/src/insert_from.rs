//! Inserts of the rows of a query.

use crate::dynamic;
use crate::handle::SessionSource;
use crate::join;
use crate::row_changes::{PART_BYTES, in_transaction};
use crate::table::Table;
use bobak_core::join::FilledColumns;
use bobak_core::statements::CallSite;
use bobak_core::{
    DynRow, FieldSet, Interrupt, Join, JoinQuery, OnError, PartialInsert, Record, Result,
    RowBuffer, Session, TableSchema, Value, ValueRef, Verb, Write, WriteBatch,
    prepare_dynamic_insert,
};
use std::sync::Arc;

impl<T: Record> Table<'_, T> {
    /// Inserts a record for each row of a query, and returns their number: `INSERT INTO … SELECT …`. `columns` is a column, or
    /// a tuple of columns, that take what the query selects; other columns get their defaults, generated keys and timestamps.
    ///
    /// The insert is one transaction, or a part of the table's own: if a row fails, none is inserted. The rows are read before
    /// the first one is inserted, so the query may read the same table; they must fit into memory.
    ///
    /// ```
    /// use bobak::prelude::*;
    /// use bobak::query::from;
    ///
    /// #[derive(Record)]
    /// struct Sale {
    ///     id: i64,
    ///     city: String,
    ///     total: Currency,
    /// }
    ///
    /// #[derive(Record)]
    /// struct CityTotal {
    ///     #[record(key)]
    ///     city: String,
    ///     total: Currency,
    /// }
    ///
    /// let db = Db::builder().record::<Sale>().record::<CityTotal>().open("memory:")?;
    /// db.create_missing_tables()?;
    /// for total in [500, 250] {
    ///     let total = Currency::from_units(total)?;
    ///     db.table()?.insert(&Sale { id: 0, city: "Bern".into(), total })?;
    /// }
    /// let sums = from::<Sale>()
    ///     .group_by(Sale::CITY)
    ///     .select((Sale::CITY, Sale::TOTAL.sum().coalesce(Currency::ZERO)));
    /// let totals = db.table::<CityTotal>()?;
    /// assert_eq!(totals.insert_from((CityTotal::CITY, CityTotal::TOTAL), &sums)?, 1);
    /// assert_eq!(totals.require("Bern")?.total, Currency::from_units(750)?);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`insert`](Table::insert), with the number of the row; those of the query; `Unsupported` in a transaction for a
    /// query of another engine's tables.
    #[track_caller]
    pub fn insert_from<L, R, C: FilledColumns<T, R>>(
        &self,
        columns: C,
        query: &JoinQuery<L, R>,
    ) -> Result<u64> {
        let _at = CallSite::enter();
        let (join, columns) = (query.to_join()?, columns.columns());
        let access = &self.access;
        access.schema.check_writable()?;
        let insert = |source: &SessionSource<'_>, rows: RowBuffer| {
            source.with(|session| insert(session, &access.schema, &columns, rows))
        };
        let inserted = if is_kept_with(&join, &access.source) {
            in_transaction(&access.source, |source| insert(source, read(source, &join)?))
        } else {
            let rows = read(&access.source, &join)?;
            in_transaction(&access.source, |source| insert(source, rows))
        };
        inserted.map_err(|error| access.in_table(error))
    }
}

/// Whether the engine of a source keeps all tables of a query.
fn is_kept_with(join: &Join, source: &SessionSource<'_>) -> bool {
    let engine = source.engine_index();
    let tables = |each: &mut dyn FnMut(&_)| join.for_each_table(&mut |table| each(table));
    source.engines().engine_with_all(engine, tables) == Some(engine)
}

fn read(source: &SessionSource<'_>, join: &Join) -> Result<RowBuffer> {
    let mut rows = RowBuffer::default();
    join::run(source, join, &mut |row| {
        Interrupt::check()?;
        rows.push(row).map(|()| true)
    })?;
    Ok(rows)
}

/// Inserts rows that have values of some of a table's columns.
fn insert(
    session: &dyn Session,
    table: &Arc<TableSchema>,
    columns: &[usize],
    mut rows: RowBuffer,
) -> Result<u64> {
    let given: FieldSet = columns.iter().copied().collect();
    let described = PartialInsert::new(Arc::clone(table)).table(given);
    let (empty, (mut batch, mut inserted)) = (DynRow::new(), (WriteBatch::new(), 0));
    let (defaults, _) = dynamic::arrange(table, &empty)?;
    while let Some(row) = rows.next_row()? {
        let mut values: Vec<Value<'_>> =
            defaults.iter().map(|value| Value::from(value.as_ref())).collect();
        for (place, &column) in columns.iter().enumerate() {
            if let Some(slot) = values.get_mut(column) {
                let value: ValueRef<'_> = row.value(place);
                *slot = value.into();
            }
        }
        let values = dynamic::accept(table, given, values)
            .and_then(|mut values| prepare_dynamic_insert(table, &mut values).map(|()| values))
            .map_err(|error| error.at_row(inserted))?;
        let (verb, fields) = (Verb::Insert, FieldSet::EMPTY);
        batch.push(&Write { table: &described, verb, fields, values: &values })?;
        inserted += 1;
        if batch.bytes() >= PART_BYTES {
            send(session, &mut batch)?;
        }
    }
    if !batch.is_empty() {
        send(session, &mut batch)?;
    }
    Ok(inserted)
}

fn send(session: &dyn Session, batch: &mut WriteBatch) -> Result<()> {
    Interrupt::check()?;
    session.batch(batch, OnError::Stop, &mut |_| {})?;
    batch.clear();
    Ok(())
}
