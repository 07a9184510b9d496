//! Queries.
//!
//! The server reads the rows that a condition may keep, by its indexes, in the order of the key; Bobak applies the rest, so
//! that every condition, order and sum means what it means on every engine.

use crate::connection::Connection;
use crate::sql_text::sql_text;
use crate::texts;
use bobak_core::{Result, Row, RowLock, Select, Source};
use bobak_engine_common::{StatementConnection, key_of_row, lock_rows, query_table, rows_to_lock};

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
    let milliseconds = match lock {
        RowLock::Wait => connection.lock_timeout,
        RowLock::WaitAtMost(time) => time.as_millis().min(i32::MAX as u128),
        _ => 0,
    };
    let get = texts::lock(table, table.key().first().copied());
    let usual = connection.lock_timeout;
    let sql = format!("SET LOCK_TIMEOUT {milliseconds}; {get}; SET LOCK_TIMEOUT {usual}");
    lock_rows(select, rows, row, |values| {
        let (key, mut is_there) = (key_of_row(&connection.dialect(), table, values), false);
        connection.each_with(table, &sql, &key, &[], &mut |_| {
            is_there = true;
            Ok(true)
        })?;
        Ok(is_there)
    })
}
