//! Rows that a query locks.

use crate::connection::{Connection, RETRY};
use crate::error::holder;
use bobak_core::{Error, ErrorKind, Interrupt, Result, RowLock, TableSchema, Value};
use bobak_engine_common::{StatementConnection, StatementDialect, StatementValue, key_of_row};
use std::time::{Duration, Instant};

/// Locks a row of the transaction's moment by its key: one that another has changed since cannot be locked. How long a transaction
/// waits is fixed; so another one first finds out whether the row is free.
///
/// # Errors
/// As [`ServerOperations::lock_row`](bobak_engine_common::ServerOperations::lock_row).
pub(crate) fn lock_row(
    connection: &mut Connection,
    table: &TableSchema,
    lock: RowLock,
    values: &[Value<'static>],
) -> Result<bool> {
    let names = connection.names;
    let sql = names.get(table, table.key().first().copied(), table.key()) + " WITH LOCK";
    let key = key_of_row(&names, table, values);
    let free = match lock {
        RowLock::Wait => Ok(()),
        RowLock::WaitAtMost(time) => wait_for_row(connection, table, time, &sql, &key),
        _ => wait_for_row(connection, table, Duration::ZERO, &sql, &key),
    };
    match free.and_then(|()| take(connection, table, &sql, &key)) {
        Err(error) if lock == RowLock::SkipLocked && is_in_the_way(&error) => Ok(false),
        locked => locked.map(|()| true),
    }
}

fn take(
    connection: &mut Connection,
    table: &TableSchema,
    sql: &str,
    key: &[StatementValue<'_>],
) -> Result<()> {
    connection.each(Some((table, &[])), sql, key, &mut |_| Ok(true))
}

/// Waits until a row is not locked by another transaction, at most so long.
fn wait_for_row(
    connection: &mut Connection,
    table: &TableSchema,
    busy_timeout: Duration,
    sql: &str,
    key: &[StatementValue<'_>],
) -> Result<()> {
    let end = Instant::now() + busy_timeout;
    let own = connection.integers(None, "SELECT CURRENT_TRANSACTION FROM RDB$DATABASE", &[])?;
    while let Err(error) = connection.in_another(|other| take(other, table, sql, key)) {
        if holder(&error) == own.first().copied() {
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
