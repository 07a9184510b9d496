//! Batches: arrays of rows for one statement. If one fails, its rows are sent again in halves, until the few around the wrong row
//! are sent one by one.

use crate::connection::Connection;
use crate::dialect::OracleStatements;
use crate::driver::OracleCell;
use crate::sequences;
use crate::texts;
use crate::writes::{Binds, binds, has_sequence, made_key, out_of_keys, overwritten, returned_key};
use bobak_core::codec::EncodedRow;
use bobak_core::{Outcome, Result, Row, Run, TableSchema, ValueRef, Verb};
use bobak_engine_common::{
    ColumnValue, RowSteps, ServerBatch, ServerOperations, ServerWrite, StatementDialect, is_of_key,
    is_row_error, needs_key, no_key_returned, no_such_row, written_columns,
};

/// The rows of one array.
const ROWS: usize = 1_000;
/// The bytes of one array, about.
const BYTES: usize = 4 << 20;
/// Fewer rows are sent one by one.
const FEW: usize = 4;
/// A row with a longer value goes alone: it is sent after the others of its array.
const LONG: usize = 32_767;

/// What the rows of an array have in common: the columns that are written.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Likeness {
    made: bool,
    is_long: bool,
}

impl Likeness {
    fn of(run: &Run<'_>, row: &EncodedRow<'_>) -> Self {
        let made = run.verb != Verb::Delete && needs_key(run.table, row);
        Self { made, is_long: (0..row.len()).any(|place| length(row.get(place)) > LONG) }
    }
}

fn length(value: ValueRef<'_>) -> usize {
    match value {
        ValueRef::Text(text) => text.len(),
        ValueRef::Bytes(bytes) => bytes.len(),
        _ => 0,
    }
}

/// Sends rows that are written in the same way, in a transaction.
///
/// # Errors
/// As [`Session::batch`](bobak_core::Session::batch).
pub(crate) fn send_run(sender: &mut ServerBatch<'_, Connection>, run: &Run<'_>) -> Result<()> {
    let rows: Vec<EncodedRow<'_>> = run.iter().collect();
    let mut number = run.first;
    for alike in rows.chunk_by(|a, b| Likeness::of(run, a) == Likeness::of(run, b)) {
        let Some(first) = alike.first() else { continue };
        let like = Likeness::of(run, first);
        let mut rest = alike;
        while !rest.is_empty() {
            let (part, later) = rest.split_at(part_length(rest));
            let mut send = |connection: &mut Connection, rows: &[EncodedRow<'_>]| {
                send_part(connection, run, rows, like.made)
            };
            match like.is_long || !has_arrays(run) {
                true => sender.singly(run, part, number)?,
                false => sender.in_halves(run, part, number, FEW, &mut send)?,
            }
            number += part.len() as u64;
            rest = later;
        }
    }
    Ok(())
}

/// Writes all rows, or none.
fn send_part(
    connection: &mut Connection,
    run: &Run<'_>,
    rows: &[EncodedRow<'_>],
    made: bool,
) -> Result<Vec<Outcome>> {
    let sent = connection.undoing(|connection| together(connection, run, rows, made));
    if let Err(error) = &sent
        && (made && is_row_error(error.kind()) && is_of_key(run.table, error))
        && has_sequence(run.table)
    {
        sequences::skip(connection, run.table)?;
    }
    sent
}

/// Writes all rows, or fails without saying which is wrong.
fn together(
    connection: &mut Connection,
    run: &Run<'_>,
    rows: &[EncodedRow<'_>],
    made: bool,
) -> Result<Vec<Outcome>> {
    let writes: Vec<ServerWrite<'_>> =
        rows.iter().map(|row| ServerWrite::in_run(run, row)).collect();
    match run.verb {
        Verb::Insert => inserts(connection, run.table, &writes, made),
        Verb::Upsert if made => inserts(connection, run.table, &writes, made),
        Verb::Upsert | Verb::UpsertOn(_) => upserts(connection, run, &writes, made),
        Verb::Delete => deletes(connection, run.table, &writes),
        _ => updates(connection, run, &writes),
    }
}

fn inserts(
    connection: &mut Connection,
    table: &TableSchema,
    writes: &[ServerWrite<'_>],
    made: bool,
) -> Result<Vec<Outcome>> {
    writes.iter().try_for_each(|write| connection.check_row(write))?;
    let values: Vec<Vec<ColumnValue<'_>>> =
        writes.iter().map(|write| write.stored(written_columns(table, made)).collect()).collect();
    let binds = all_binds(table, &values)?;
    let sql = OracleStatements.insert(table, made);
    if !made {
        connection.run(Some(table), &sql, &binds, None)?;
        let key = table.key().first().copied().unwrap_or(0);
        let given = writes.iter().filter_map(|write| match write.row.get(key) {
            ValueRef::Int(key) => Some(key),
            _ => None,
        });
        if let Some(largest) = given.max() {
            sequences::pass(connection, table, largest)?;
        }
        return Ok(vec![Outcome::Inserted(None); writes.len()]);
    }
    let (key, kind) = returned_key(table)?;
    let sql = texts::returning(table, &sql, key, written_columns(table, made).count() + 1);
    let done = connection.run(Some(table), &sql, &binds, Some(kind));
    let done = done.map_err(|error| out_of_keys(error, table))?;
    let key = |cells: &Vec<OracleCell>| {
        let made = cells.first().and_then(made_key).ok_or_else(|| no_key_returned(table))?;
        Ok(Outcome::Inserted(Some(made)))
    };
    match done.returned.len() == writes.len() {
        true => done.returned.iter().map(key).collect(),
        false => Err(no_key_returned(table)),
    }
}

fn all_binds<'v>(
    table: &TableSchema,
    values: &'v [Vec<ColumnValue<'_>>],
) -> Result<Vec<Binds<'v>>> {
    values.iter().map(|values| binds(table, values)).collect()
}

/// What rows a statement has found for each row of values.
fn returned(
    connection: &mut Connection,
    table: &TableSchema,
    sql: &str,
    values: &[Vec<ColumnValue<'_>>],
) -> Result<Vec<Vec<OracleCell>>> {
    let (key, kind) = returned_key(table)?;
    let binds = all_binds(table, values)?;
    let at = binds.first().map_or(0, Vec::len) + 1;
    let sql = texts::returning(table, sql, key, at);
    let done = connection.run(Some(table), &sql, &binds, Some(kind))?;
    match done.returned.len() == binds.len() {
        true => Ok(done.returned),
        false => Err(no_key_returned(table)),
    }
}

fn updates(
    connection: &mut Connection,
    run: &Run<'_>,
    writes: &[ServerWrite<'_>],
) -> Result<Vec<Outcome>> {
    let values: Vec<_> = writes.iter().map(|write| write.updated(&OracleStatements)).collect();
    let sql = OracleStatements.update(run.table, run.fields);
    let found = returned(connection, run.table, &sql, &values)?;
    // Why it is not found, its own statement says.
    match found.iter().all(|rows| !rows.is_empty()) {
        true => Ok(vec![Outcome::Changed(1); writes.len()]),
        false => Err(no_such_row(run.table)),
    }
}

fn deletes(
    connection: &mut Connection,
    table: &TableSchema,
    writes: &[ServerWrite<'_>],
) -> Result<Vec<Outcome>> {
    let keys: Vec<_> = writes.iter().map(|write| write.deleted_key(&OracleStatements)).collect();
    let found = returned(connection, table, &OracleStatements.delete(table), &keys)?;
    Ok(found.iter().map(|rows| Outcome::Changed(rows.len().min(1) as u64)).collect())
}

/// Sets the fields of the rows that are there, then inserts the others.
fn upserts(
    connection: &mut Connection,
    run: &Run<'_>,
    writes: &[ServerWrite<'_>],
    made: bool,
) -> Result<Vec<Outcome>> {
    writes.iter().try_for_each(|write| connection.check_row(write))?;
    let columns = run.verb.conflict_columns(run.table);
    let values: Vec<_> =
        writes.iter().map(|write| write.assigned(&OracleStatements, columns)).collect();
    let sql = OracleStatements.overwrite(run.table, run.fields, columns);
    let found = returned(connection, run.table, &sql, &values)?;
    let missing: Vec<ServerWrite<'_>> = writes
        .iter()
        .zip(&found)
        .filter(|(_, rows)| rows.is_empty())
        .map(|(write, _)| *write)
        .collect();
    let mut inserted = match missing.is_empty() {
        true => Vec::new(),
        false => inserts(connection, run.table, &missing, made)?,
    }
    .into_iter();
    let outcomes = writes.iter().zip(&found).map(|(write, rows)| match rows.first() {
        Some(key) => Ok(overwritten(write, key)),
        None => inserted.next().ok_or_else(|| no_key_returned(run.table)),
    });
    outcomes.collect()
}

/// How many of the rows one array takes.
fn part_length(rows: &[EncodedRow<'_>]) -> usize {
    let mut bytes = 0;
    let fits = |row: &&EncodedRow<'_>| {
        bytes += (0..row.len()).map(|place| length(row.get(place))).sum::<usize>();
        bytes <= BYTES
    };
    rows.iter().take(ROWS).take_while(fits).count().max(1)
}

/// Whether an array means the same as its rows one by one. An array of upserts updates before it inserts, which must not decide
/// what is a duplicate.
fn has_arrays(run: &Run<'_>) -> bool {
    match run.verb {
        Verb::Insert | Verb::Update | Verb::Delete => true,
        Verb::Upsert | Verb::UpsertOn(_) => {
            let columns = run.verb.conflict_columns(run.table);
            let mut unique = run.table.indexes().iter().filter(|index| index.unique);
            let is_key = columns == run.table.key();
            is_key && unique.next().is_none()
        }
        _ => false,
    }
}
