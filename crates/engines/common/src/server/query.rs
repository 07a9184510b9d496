//! Queries over rows that a server sends: what Bobak does of them itself, so that it means the same on every engine.

use crate::{EachRow, StatementDialect, StatementValue, encode_row, sort_key};
use bobak_core::codec::EncodedRow;
use bobak_core::{
    Condition, ErrorKind, Expr, Result, Row, RowLock, Select, TableSchema, Value, ValueRef,
};
use std::collections::BTreeMap;

/// Passes a table's rows on in the order of their keys: as `read` gives them, if the server sorts them as Bobak does. `shown` are
/// the columns that they are read with, in their order; the others are NULL. Returns whether more are wanted.
///
/// # Errors
/// Those of `read`, with the table; those of `each`.
pub fn each_by_key(
    (table, shown): (&TableSchema, &[usize]),
    is_sorted: bool,
    each: &mut EachRow<'_>,
    read: impl FnOnce(&mut dyn FnMut(&dyn Row) -> Result<bool>) -> Result<()>,
) -> Result<bool> {
    let (mut sorted, mut goes_on) = (BTreeMap::new(), true);
    let done = read(&mut |row| {
        let value =
            |place: usize| shown.binary_search(&place).map_or(ValueRef::Null, |at| row.get(at));
        let encoded = encode_row(table, value)?;
        if is_sorted {
            goes_on = each(EncodedRow::new(&encoded))?;
            return Ok(goes_on);
        }
        sorted.insert(sort_key(table, table.key(), value), encoded);
        Ok(true)
    });
    done.map_err(|error| match error.table() {
        None if error.column().is_some() => error.in_table(table.name().to_owned()),
        _ => error,
    })?;
    for row in sorted.values() {
        if !each(EncodedRow::new(row))? {
            return Ok(false);
        }
    }
    Ok(goes_on)
}

/// Checks the texts that a condition compares with.
///
/// # Errors
/// Those of `check`.
pub fn check_texts(
    condition: Option<&Condition>,
    check: &dyn Fn(&str) -> Result<()>,
) -> Result<()> {
    let check_value = |value: &Value<'_>| match value {
        Value::Text(text) => check(text),
        _ => Ok(()),
    };
    match condition {
        Some(Condition::And(parts) | Condition::Or(parts)) => {
            parts.iter().try_for_each(|part| check_texts(Some(part), check))
        }
        Some(Condition::Not(inner)) => check_texts(Some(inner), check),
        Some(Condition::Compare { value, .. }) => check_value(value),
        Some(Condition::In { values, .. }) => values.iter().try_for_each(check_value),
        _ => Ok(()),
    }
}

/// All columns of the rows that a query locks, read without locks.
///
/// # Errors
/// Those of `read`.
pub fn rows_to_lock(
    select: &Select,
    read: impl FnOnce(&Select, &mut dyn FnMut(&dyn Row) -> Result<bool>) -> Result<()>,
) -> Result<Vec<Vec<Value<'static>>>> {
    let is_skipping = select.lock == Some(RowLock::SkipLocked);
    let plain = Select {
        columns: (0..select.table.columns().len()).map(Expr::Column).collect(),
        lock: None,
        limit: if is_skipping { None } else { select.limit },
        offset: if is_skipping { 0 } else { select.offset },
        ..select.clone()
    };
    let mut rows = Vec::new();
    read(&plain, &mut |found| {
        rows.push((0..found.len()).map(|at| Value::from(found.get(at)).into_owned()).collect());
        Ok(true)
    })?;
    Ok(rows)
}

/// The key of a row with all columns, as values by which it is found.
pub fn key_of_row<'v, D: StatementDialect>(
    dialect: &D,
    table: &TableSchema,
    row: &'v [Value<'_>],
) -> Vec<StatementValue<'v>> {
    let value = |place: usize| row.get(place).map_or(ValueRef::Null, Value::as_ref);
    table.key().iter().map(|&place| dialect.compared(table, place, value(place))).collect()
}

/// Locks the rows of [`rows_to_lock`] one by one, and passes those on that could be locked. `lock_row` locks a row by its key; it
/// may replace the values by those of now, and returns `false` if the row is not there any more.
///
/// # Errors
/// Those of `lock_row`; `Busy` is none if the query skips locked rows.
pub fn lock_rows(
    select: &Select,
    rows: Vec<Vec<Value<'static>>>,
    row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
    mut lock_row: impl FnMut(&mut Vec<Value<'static>>) -> Result<bool>,
) -> Result<()> {
    let is_skipping = select.lock == Some(RowLock::SkipLocked);
    let (mut skip, mut left) = match is_skipping {
        true => (select.offset, select.limit.unwrap_or(u64::MAX)),
        false => (0, u64::MAX),
    };
    for mut values in rows {
        if left == 0 {
            break;
        }
        match lock_row(&mut values) {
            Err(error) if is_skipping && error.kind() == ErrorKind::Busy => continue,
            Ok(false) => continue,
            locked => locked?,
        };
        if skip > 0 {
            skip -= 1;
            continue;
        }
        left -= 1;
        let value = |place: usize| values.get(place).map_or(ValueRef::Null, Value::as_ref);
        let shown = select.columns.iter().map(|expr| expr.column().map_or(ValueRef::Null, value));
        let shown: Vec<Value<'_>> = shown.map(Value::from).collect();
        if !row(&shown.as_slice())? {
            break;
        }
    }
    Ok(())
}
