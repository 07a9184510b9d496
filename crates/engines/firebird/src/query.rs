//! Queries.
//!
//! The server reads the rows that a condition may keep, by its indexes, in the order of the key; Bobak applies the rest, so
//! that every condition, order and sum means what it means on every engine.

use crate::connection::{Connection, RETRY};
use crate::error::holder;
use crate::sql_text::sql_text;
use bobak_core::{
    Error, ErrorKind, Interrupt, Result, Row, RowLock, Select, Source, TableSchema, Type, Value,
    ValueRef,
};
use bobak_engine_common::{
    ColumnValue, StatementConnection, StatementDialect, key_of_row, lock_rows, query_table,
    rows_to_lock,
};
use std::time::{Duration, Instant};

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
            None => query_table(connection, select, row),
        },
        Source::Sql { text, parameters } => {
            let (text, values) = sql_text(text, parameters)?;
            connection.each(None, &text, &values, None, &mut |found| row(found))
        }
    }
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
    let rows = rows_to_lock(select, |plain, row| query_table(connection, plain, row))?;
    let get = connection.names.get(table, table.key().first().copied(), table.key());
    let sql = format!("{get} WITH LOCK");
    lock_rows(select, rows, row, |values| match lock_row(connection, table, lock, &sql, values) {
        Err(error) if lock == RowLock::SkipLocked && is_in_the_way(&error) => Ok(false),
        locked => locked.map(|()| true),
    })
}

/// Locks a row by its key. How long a transaction waits is fixed: so another one first finds out whether the row is free.
fn lock_row(
    connection: &mut Connection,
    table: &TableSchema,
    lock: RowLock,
    sql: &str,
    values: &[Value<'static>],
) -> Result<()> {
    let key = key_of_row(&connection.names, table, values);
    let busy_timeout = match lock {
        RowLock::Wait => None,
        RowLock::WaitAtMost(time) => Some(time),
        _ => Some(Duration::ZERO),
    };
    if let Some(busy_timeout) = busy_timeout {
        wait_for_row(connection, table, busy_timeout, sql, &key)?;
    }
    connection.each_with(table, sql, &key, &[], &mut |_| Ok(true))
}

/// Waits until a row is not locked by another transaction, at most so long.
fn wait_for_row(
    connection: &mut Connection,
    table: &TableSchema,
    busy_timeout: Duration,
    sql: &str,
    key: &[ColumnValue<'_>],
) -> Result<()> {
    let end = Instant::now() + busy_timeout;
    let take =
        |connection: &mut Connection| connection.each_with(table, sql, key, &[], &mut |_| Ok(true));
    let own = current_transaction(connection)?;
    while let Err(error) = connection.in_another(take) {
        if holder(&error) == Some(own) {
            break;
        }
        if !is_in_the_way(&error) {
            return Err(error);
        }
        if Instant::now() >= end {
            let message = "another transaction has locked the row";
            return Err(Error::new(ErrorKind::Busy, message).in_table(table.name().to_owned()));
        }
        Interrupt::check()?;
        std::thread::sleep(RETRY.1.min(end.saturating_duration_since(Instant::now())));
    }
    Ok(())
}

fn is_in_the_way(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Busy | ErrorKind::Serialization)
}

/// The number of the transaction that is open.
fn current_transaction(connection: &mut Connection) -> Result<i64> {
    let (sql, mut number) = ("SELECT CURRENT_TRANSACTION FROM RDB$DATABASE", 0);
    connection.each(None, sql, &[], Some(&[Type::I64]), &mut |row| {
        if let ValueRef::Int(found) = row.get(0) {
            number = found;
        }
        Ok(true)
    })?;
    Ok(number)
}
