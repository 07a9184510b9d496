//! Rows that a query locks.

use crate::connection::Connection;
use crate::texts;
use bobak_core::codec::EncodedRow;
use bobak_core::{Result, Row, RowLock, Select, Value};
use bobak_engine_common::{PreparedCondition, StatementConnection, encode_row, key_of_row};
use std::time::Duration;

/// Locks a row by its key; reads it as it is now, and returns whether it is there and still matches. In a transaction that sees
/// the moment of its beginning, one that another has changed since is an error.
///
/// # Errors
/// As [`ServerOperations::lock_row`](bobak_engine_common::ServerOperations::lock_row).
pub(crate) fn lock_row(
    connection: &mut Connection,
    select: &Select,
    lock: RowLock,
    values: &mut Vec<Value<'static>>,
) -> Result<bool> {
    let (table, shown) = (&*select.table, (0..values.len()).collect::<Vec<_>>());
    let (clause, limit) = lock_clause(lock, connection.busy_timeout());
    let sql = texts::lock(table, shown.iter().copied(), &clause);
    let condition = select.condition.as_ref();
    let condition = condition.map(|condition| PreparedCondition::new(condition, table));
    let (key, mut found) = (key_of_row(&connection.dialect(), table, values), None);
    connection.each_within(Some((table, &shown)), &sql, &key, (limit, true), &mut |row| {
        let encoded = encode_row(table, |place| row.get(place))?;
        let row = EncodedRow::new(&encoded);
        if condition.as_ref().is_none_or(|condition| condition.matches(table, row)) {
            found = Some((0..row.len()).map(|at| Value::from(row.get(at)).into_owned()).collect());
        }
        Ok(true)
    })?;
    let is_there = found.is_some();
    *values = found.unwrap_or_default();
    Ok(is_there)
}

/// What a statement says of a lock, and how long its call may take. The server waits for whole seconds; the limit of the call has
/// the rest.
fn lock_clause(lock: RowLock, busy_timeout: Duration) -> (String, Option<Duration>) {
    let time = match lock {
        RowLock::Wait => busy_timeout,
        RowLock::WaitAtMost(time) if !time.is_zero() => time,
        RowLock::SkipLocked => return (" FOR UPDATE SKIP LOCKED".to_owned(), None),
        _ => return (" FOR UPDATE NOWAIT".to_owned(), None),
    };
    let seconds = time.as_millis().div_ceil(1_000).clamp(1, 100_000);
    (format!(" FOR UPDATE WAIT {seconds}"), Some(time))
}
