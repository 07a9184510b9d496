//! Queries.
//!
//! The server reads the rows that a condition may keep, by its indexes, in the order of the key; Bobak applies the rest, so
//! that every condition, order and sum means what it means on every engine.

use crate::connection::{Connection, TypedValue};
use crate::names::{columns, quoted};
use crate::pushed::ServerCondition;
use crate::sql_text::sql_text;
use crate::texts;
use crate::values::is_text;
use crate::writes::{compared, given};
use bobak_core::codec::EncodedRow;
use bobak_core::{
    Condition, Error, ErrorKind, Expr, Result, Row, RowLock, Select, Source, TableSchema, Type,
    Value, ValueRef,
};
use bobak_engine_common::{EachRow, encode_row, kept_type, run_select, sort_key};
use std::collections::BTreeMap;

/// Runs a query and hands its rows out.
///
/// # Errors
/// As [`Session::query`](bobak_core::Session::query).
pub(crate) fn run(
    connection: &mut Connection,
    source: &Source<'_>,
    row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
) -> Result<()> {
    match *source {
        Source::Select(select) => match select.lock {
            Some(lock) => run_locking(connection, select, lock, row),
            None => run_plain(connection, select, row),
        },
        Source::Sql { text, parameters } => {
            let (text, values) = sql_text(text, parameters)?;
            connection.each(None, &text, &values, None, &mut |found| row(found))
        }
    }
}

fn run_plain(
    connection: &mut Connection,
    select: &Select,
    row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
) -> Result<()> {
    let table = &select.table;
    check_texts(select.condition.as_ref())?;
    let pushed = ServerCondition::of(table, select.condition.as_ref());
    if pushed.is_whole && select.columns == [Expr::Count] && select.group.is_empty() {
        let name = quoted(table.name());
        let sql = format!("SELECT COUNT_BIG(*) FROM {name}{}", pushed.condition());
        let (limit, offset) = (select.limit.unwrap_or(1), select.offset);
        return connection.each(Some(table), &sql, &pushed.values(), None, &mut |found| {
            if limit == 0 || offset > 0 { Ok(false) } else { row(found) }
        });
    }
    let scan = |each: &mut EachRow<'_>| scan(connection, table, &pushed, each);
    run_select(table, select, scan, row)
}

/// Rejects a condition with texts that SQL Server does not have.
fn check_texts(condition: Option<&Condition>) -> Result<()> {
    let check = |value: &Value<'_>| match value {
        Value::Text(text) => crate::values::check_text(text),
        _ => Ok(()),
    };
    match condition {
        Some(Condition::And(parts) | Condition::Or(parts)) => {
            parts.iter().try_for_each(|part| check_texts(Some(part)))
        }
        Some(Condition::Not(inner)) => check_texts(Some(inner)),
        Some(Condition::Compare { value, .. }) => check(value),
        Some(Condition::In { values, .. }) => values.iter().try_for_each(check),
        _ => Ok(()),
    }
}

fn scan_text(table: &TableSchema, pushed: &ServerCondition<'_>, is_sorted: bool) -> String {
    let shown = columns(table, 0..table.columns().len());
    let order = match is_sorted {
        true => format!(" ORDER BY {}", columns(table, table.key().iter().copied())),
        false => String::new(),
    };
    format!("SELECT {shown} FROM {}{}{order}", quoted(table.name()), pushed.condition())
}

/// Passes the rows on that may match the condition, in the order of their keys.
fn scan(
    connection: &mut Connection,
    table: &TableSchema,
    pushed: &ServerCondition<'_>,
    each: &mut EachRow<'_>,
) -> Result<()> {
    // The server sorts these as Bobak does.
    let is_sorted = table.key().iter().all(|&place| {
        let column = table.columns().get(place);
        column.is_some_and(|column| {
            !is_text(column) && !matches!(column.ty, Type::Bytes | Type::Uuid | Type::Any)
        })
    });
    let sql = scan_text(table, pushed, is_sorted);
    let types: Vec<Type> =
        (0..table.columns().len()).map(|place| kept_type(table, place)).collect();
    let mut sorted = BTreeMap::new();
    let read = connection.each(Some(table), &sql, &pushed.values(), Some(&types), &mut |row| {
        let encoded = encode_row(table, |place| row.get(place))?;
        if is_sorted {
            return each(EncodedRow::new(&encoded));
        }
        sorted.insert(sort_key(table, table.key(), |place| row.get(place)), encoded);
        Ok(true)
    });
    read.map_err(|error| match error.table() {
        None if error.column().is_some() => error.in_table(table.name().to_owned()),
        _ => error,
    })?;
    for row in sorted.values() {
        if !each(EncodedRow::new(row))? {
            break;
        }
    }
    Ok(())
}

/// Reads the rows, locks each by its key, and passes those on that could be locked. All are of the transaction's moment: a
/// row that another has changed since cannot be locked.
fn run_locking(
    connection: &mut Connection,
    select: &Select,
    lock: RowLock,
    row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
) -> Result<()> {
    let table = &select.table;
    let plain = Select {
        columns: (0..table.columns().len()).map(Expr::Column).collect(),
        lock: None,
        limit: if lock == RowLock::SkipLocked { None } else { select.limit },
        offset: if lock == RowLock::SkipLocked { 0 } else { select.offset },
        ..select.clone()
    };
    let mut rows: Vec<Vec<Value<'static>>> = Vec::new();
    run_plain(connection, &plain, &mut |found| {
        rows.push((0..found.len()).map(|at| Value::from(found.get(at)).into_owned()).collect());
        Ok(true)
    })?;
    let milliseconds = match lock {
        RowLock::Wait => connection.lock_timeout,
        RowLock::WaitAtMost(time) => time.as_millis().min(i32::MAX as u128),
        _ => 0,
    };
    let get =
        texts::get(table, table.key().first().copied(), table.key(), " WITH (UPDLOCK, ROWLOCK)");
    let usual = connection.lock_timeout;
    let sql = format!("SET LOCK_TIMEOUT {milliseconds}; {get}; SET LOCK_TIMEOUT {usual}");
    lock_rows(connection, select, lock, &sql, &rows, row)
}

/// Locks a row by its key; `false` if there is none any more.
fn lock_row<'v>(
    connection: &mut Connection,
    table: &TableSchema,
    sql: &str,
    value: &dyn Fn(usize) -> ValueRef<'v>,
) -> Result<bool> {
    let key = table.key().iter().map(|&place| compared(table, place, value(place)));
    let key: Vec<_> = key.collect();
    let key: Vec<TypedValue<'_>> = key.iter().map(given).collect();
    let mut is_there = false;
    connection.each(Some(table), sql, &key, None, &mut |_| {
        is_there = true;
        Ok(true)
    })?;
    Ok(is_there)
}

fn is_in_the_way(error: &Error) -> bool {
    error.kind() == ErrorKind::Busy
}

fn lock_rows(
    connection: &mut Connection,
    select: &Select,
    lock: RowLock,
    sql: &str,
    rows: &[Vec<Value<'static>>],
    row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
) -> Result<()> {
    let table = &select.table;
    let is_skipping = lock == RowLock::SkipLocked;
    let (mut skip, mut left) = match is_skipping {
        true => (select.offset, select.limit.unwrap_or(u64::MAX)),
        false => (0, u64::MAX),
    };
    for values in rows {
        if left == 0 {
            break;
        }
        let value = |place: usize| values.get(place).map_or(ValueRef::Null, Value::as_ref);
        match lock_row(connection, table, sql, &value) {
            Err(error) if is_skipping && is_in_the_way(&error) => continue,
            Ok(false) => continue,
            other => other?,
        };
        if skip > 0 {
            skip -= 1;
            continue;
        }
        left -= 1;
        let shown: Vec<Value<'_>> = select
            .columns
            .iter()
            .map(|expr| expr.column().map_or(Value::Null, |place| value(place).into()))
            .collect();
        if !row(&shown.as_slice())? {
            break;
        }
    }
    Ok(())
}
