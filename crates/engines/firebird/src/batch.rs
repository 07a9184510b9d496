//! Batches: new rows go in blocks of several, whose executions go out in few packets. If one fails, all of a part are sent
//! again as an execution for each row, whose answer says which row was wrong: no part is halved until that row is found.

use crate::block;
use crate::connection::Connection;
use crate::wire::{FirebirdStatement, SentValue, ValueMessage};
use crate::writes::{advance, take_keys};
use bobak_core::codec::EncodedRow;
use bobak_core::{
    Error, ErrorKind, GeneratedKey, Interrupt, OnError, Outcome, Result, Row, Run, ValueRef,
};
use bobak_engine_common::{
    ServerBatch, ServerWrite, StatementDialect, is_row_error, kept_type, reject_null,
};

/// The rows whose answers are waited for together.
pub(crate) const ROWS: usize = 2_000;

/// A row of a batch, whose key may have been taken from the generator.
struct KeyedRow<'r> {
    row: EncodedRow<'r>,
    key: Option<(usize, i64)>,
}

impl Row for KeyedRow<'_> {
    fn len(&self) -> usize {
        self.row.len()
    }

    fn get(&self, column: usize) -> ValueRef<'_> {
        match self.key {
            Some((place, key)) if place == column => ValueRef::Int(key),
            _ => self.row.value(column),
        }
    }
}

/// Inserts rows, of which the first one has this number, in a transaction; the server makes their keys if the flag says so.
///
/// # Errors
/// As [`Session::batch`](bobak_core::Session::batch).
pub(crate) fn inserts(
    sender: &mut ServerBatch<'_, Connection>,
    run: &Run<'_>,
    part: &[EncodedRow<'_>],
    (first, made): (u64, bool),
) -> Result<()> {
    Interrupt::check()?;
    let table = run.table;
    let place = table.key().first().copied().unwrap_or(0);
    let keys = match made {
        false => None,
        true => match take_keys(sender.connection, table, part.len())? {
            Some(first) => Some(first),
            // The server knows better why there are none.
            None => return sender.singly(run, part, first),
        },
    };
    let key = |at: usize| keys.map(|first| (place, first + at as i64));
    let rows: Vec<KeyedRow<'_>> =
        part.iter().enumerate().map(|(at, row)| KeyedRow { row: *row, key: key(at) }).collect();
    let mut failures = send_rows(sender, run, &rows)?.into_iter().peekable();
    let mut largest = None;
    for (at, row) in rows.iter().enumerate() {
        let failed = failures.next_if(|(failed, _)| *failed == at).map(|(_, error)| error);
        let outcome = match failed {
            None => Ok(Outcome::Inserted(row.key.map(|(_, key)| GeneratedKey::Int(key)))),
            Some(error) => after_failure(sender, run, row, error),
        };
        if let (true, ValueRef::Int(key)) = (outcome.is_ok(), row.get(place)) {
            largest = largest.max(Some(key));
        }
        match outcome.map_err(|error| error.at_row(first + at as u64)) {
            Err(error) if sender.on_error == OnError::Stop || !is_row_error(error.kind()) => {
                return Err(error);
            }
            outcome => (sender.each)(outcome),
        }
    }
    match largest {
        Some(key) if !made => advance(sender.connection, table, key),
        _ => Ok(()),
    }
}

/// Writes a row again that failed because another transaction is in the way, or because a key was given that the
/// generator has not reached.
fn after_failure(
    sender: &mut ServerBatch<'_, Connection>,
    run: &Run<'_>,
    row: &KeyedRow<'_>,
    error: Error,
) -> Result<Outcome> {
    let is_passing = error.kind() == ErrorKind::Busy
        || row.key.is_some() && error.kind() == ErrorKind::Duplicate;
    if !is_passing {
        return Err(error);
    }
    sender.single(&ServerWrite::in_run(run, &row.row))
}

/// Sends rows, and returns which failed. Of those that are wrong by themselves, the first is the last that counts if
/// the batch stops at it.
fn send_rows(
    sender: &mut ServerBatch<'_, Connection>,
    run: &Run<'_>,
    rows: &[KeyedRow<'_>],
) -> Result<Vec<(usize, Error)>> {
    let table = run.table;
    let sql = sender.connection.names.insert(table, false);
    let statement = sender.connection.prepared(Some(table), &sql)?;
    let (mut values, mut sent, mut failures) = (Vec::new(), Vec::new(), Vec::new());
    for (at, row) in rows.iter().enumerate() {
        match sent_values(sender, run, &statement, row) {
            Ok(made) => {
                values.push(made);
                sent.push(at);
            }
            Err(error) => {
                failures.push((at, error));
                if sender.on_error == OnError::Stop {
                    break;
                }
            }
        }
    }
    let rejected = if send_blocks(sender, run, &sql, &statement, &values)? {
        Vec::new()
    } else {
        let messages = values.iter().map(|row| ValueMessage::new(row)).collect();
        sender.connection.run_all(table, &statement, messages)?
    };
    let place = |at: usize| sent.get(at).copied().unwrap_or(at);
    failures.extend(rejected.into_iter().map(|(at, error)| (place(at), error)));
    failures.sort_by_key(|(at, _)| *at);
    Ok(failures)
}

fn sent_values<'r>(
    sender: &mut ServerBatch<'_, Connection>,
    run: &Run<'_>,
    statement: &FirebirdStatement,
    row: &'r KeyedRow<'_>,
) -> Result<Vec<SentValue<'r>>> {
    let table = run.table;
    reject_null(table, row)?;
    let values = (0..row.len()).map(|place| (Some(place), kept_type(table, place), row.get(place)));
    sender.connection.sent_values(statement, Some(table), values)
}

/// Sends rows in blocks; `false` if they must be sent one by one, and nothing was done. Of a block, the server does not say
/// which row failed; and all after it must come later than a row that is sent again.
fn send_blocks(
    sender: &mut ServerBatch<'_, Connection>,
    run: &Run<'_>,
    insert: &str,
    statement: &FirebirdStatement,
    rows: &[Vec<SentValue<'_>>],
) -> Result<bool> {
    let size = block::rows(&statement.parameters).filter(|size| *size <= rows.len());
    let text = size.and_then(|size| block::text(insert, &statement.parameters, size));
    let (Some(size), Some(text)) = (size, text) else { return Ok(false) };
    // A BLOB that was sent before is gone with the first row that has it.
    if rows.iter().flatten().any(|value| matches!(value, SentValue::Blob(_))) {
        return Ok(false);
    }
    let table = run.table;
    let block = sender.connection.prepared(Some(table), &text)?;
    let (whole, rest) = rows.split_at(rows.len() - rows.len() % size);
    let blocks = whole.chunks(size).map(|rows| ValueMessage::new(&rows.concat())).collect();
    let singles = rest.iter().map(|row| ValueMessage::new(row)).collect();
    sender.connection.command(None, "SAVEPOINT BOBAK_PART")?;
    let mut failed = sender.connection.run_all(table, &block, blocks)?;
    if failed.is_empty() {
        failed = sender.connection.run_all(table, statement, singles)?;
    }
    if !failed.is_empty() {
        sender.connection.command(None, "ROLLBACK TO SAVEPOINT BOBAK_PART")?;
    }
    sender.connection.command(None, "RELEASE SAVEPOINT BOBAK_PART")?;
    Ok(failed.is_empty())
}
