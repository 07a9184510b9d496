//! Queries.
//!
//! The server reads the rows that a condition may keep, by its indexes, in the order of the key; Bobak applies the rest, so
//! that every condition, order and sum means what it means on every engine.

use crate::connection::Connection;
use crate::sql_text::sql_text;
use crate::texts;
use bobak_core::codec::EncodedRow;
use bobak_core::{Result, Row, RowLock, Select, Source, TableSchema, Type, Value};
use bobak_engine_common::{
    PreparedCondition, ServerRow, StatementConnection, encode_row, kept_type, key_of_row,
    lock_rows, query_table, rows_to_lock, typed_values,
};
use std::time::Duration;

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

/// Reads the rows, locks each by its key, and passes those on that could be locked and still match. In a transaction that sees
/// the moment of its beginning, one that another has changed since is an error.
fn run_locking(
    connection: &mut Connection,
    select: &Select,
    lock: RowLock,
    row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
) -> Result<()> {
    let table = &select.table;
    let rows = rows_to_lock(select, |plain, row| query_table(connection, plain, row))?;
    // The server waits for whole seconds; the limit of the call has the rest.
    let seconds = |time: Duration| time.as_millis().div_ceil(1_000).clamp(1, 100_000);
    let (clause, limit) = match lock {
        RowLock::Wait => {
            let time = connection.busy_timeout();
            (format!(" FOR UPDATE WAIT {}", seconds(time)), Some(time))
        }
        RowLock::WaitAtMost(time) if !time.is_zero() => {
            (format!(" FOR UPDATE WAIT {}", seconds(time)), Some(time))
        }
        RowLock::SkipLocked => (" FOR UPDATE SKIP LOCKED".to_owned(), None),
        _ => (" FOR UPDATE NOWAIT".to_owned(), None),
    };
    let sql = texts::lock(table, 0..table.columns().len(), &clause);
    let condition =
        select.condition.as_ref().map(|condition| PreparedCondition::new(condition, table));
    let lock = RowLocker { table, sql, limit, condition };
    lock_rows(select, rows, row, |values| lock.lock_row(connection, values))
}

/// How rows are locked.
struct RowLocker<'s> {
    table: &'s TableSchema,
    /// Locks a row by its key.
    sql: String,
    limit: Option<Duration>,
    condition: Option<PreparedCondition>,
}

impl RowLocker<'_> {
    /// Locks a row by its key; reads it as it is now, and returns whether it is there and still matches.
    fn lock_row(
        &self,
        connection: &mut Connection,
        values: &mut Vec<Value<'static>>,
    ) -> Result<bool> {
        let table = self.table;
        let key = key_of_row(&connection.dialect(), table, values);
        let key = typed_values(table, &key);
        let types: Vec<Type> =
            (0..table.columns().len()).map(|place| kept_type(table, place)).collect();
        let (limit, mut found) = ((self.limit, true), None);
        let mut take = |row: &ServerRow| {
            let encoded = encode_row(table, |place| row.get(place))?;
            let row = EncodedRow::new(&encoded);
            if self.condition.as_ref().is_none_or(|condition| condition.matches(table, row)) {
                found =
                    Some((0..row.len()).map(|at| Value::from(row.get(at)).into_owned()).collect());
            }
            Ok(true)
        };
        connection.each_within(Some(table), &self.sql, &key, Some(&types), limit, &mut take)?;
        Ok(found.is_some_and(|found| {
            *values = found;
            true
        }))
    }
}
