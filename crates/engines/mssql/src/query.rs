//! Queries.
//!
//! The server reads the rows that a condition may keep, by its indexes, in the order of the key; Bobak applies the rest, so
//! that every condition, order and sum means what it means on every engine.

use crate::connection::{Connection, TypedValue};
use crate::dialect::MssqlStatements;
use crate::names::{columns, quoted};
use crate::sql_text::sql_text;
use crate::texts;
use crate::values::{check_text, is_text};
use crate::writes::{compared, given};
use bobak_core::{Expr, Result, Row, RowLock, Select, Source, TableSchema, Type, Value, ValueRef};
use bobak_engine_common::{
    EachRow, ServerCondition, check_texts, each_by_key, kept_type, lock_rows, rows_to_lock,
    run_select,
};

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
    check_texts(select.condition.as_ref(), &check_text)?;
    let pushed = ServerCondition::of(&MssqlStatements, table, select.condition.as_ref());
    if pushed.is_whole && select.columns == [Expr::Count] && select.group.is_empty() {
        let name = quoted(table.name());
        let sql = format!("SELECT COUNT_BIG(*) FROM {name}{}", pushed.text());
        let (limit, offset) = (select.limit.unwrap_or(1), select.offset);
        return connection.each(Some(table), &sql, &pushed.values(), None, &mut |found| {
            if limit == 0 || offset > 0 { Ok(false) } else { row(found) }
        });
    }
    let scan = |each: &mut EachRow<'_>| scan(connection, table, &pushed, each);
    run_select(table, select, scan, row)
}

fn scan_text(table: &TableSchema, pushed: &ServerCondition<'_>, is_sorted: bool) -> String {
    let shown = columns(table, 0..table.columns().len());
    let order = match is_sorted {
        true => format!(" ORDER BY {}", columns(table, table.key().iter().copied())),
        false => String::new(),
    };
    format!("SELECT {shown} FROM {}{}{order}", quoted(table.name()), pushed.text())
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
    let values = pushed.values();
    each_by_key(table, is_sorted, each, |row| {
        connection.each(Some(table), &sql, &values, Some(&types), &mut |found| row(found))
    })
    .map(drop)
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
    let rows = rows_to_lock(select, |plain, row| run_plain(connection, plain, row))?;
    let milliseconds = match lock {
        RowLock::Wait => connection.lock_timeout,
        RowLock::WaitAtMost(time) => time.as_millis().min(i32::MAX as u128),
        _ => 0,
    };
    let get =
        texts::get(table, table.key().first().copied(), table.key(), " WITH (UPDLOCK, ROWLOCK)");
    let usual = connection.lock_timeout;
    let sql = format!("SET LOCK_TIMEOUT {milliseconds}; {get}; SET LOCK_TIMEOUT {usual}");
    lock_rows(select, rows, row, |values| lock_row(connection, table, &sql, values))
}

/// Locks a row by its key; `false` if there is none any more.
fn lock_row(
    connection: &mut Connection,
    table: &TableSchema,
    sql: &str,
    values: &[Value<'static>],
) -> Result<bool> {
    let value = |place: usize| values.get(place).map_or(ValueRef::Null, Value::as_ref);
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
