//! Batches: arrays of rows for one statement. If one fails, its rows are sent again in halves, until the few around the wrong row
//! are sent one by one.

use crate::binds::binds;
use crate::connection::Connection;
use crate::dialect::OracleStatements;
use crate::driver::OracleCell;
use crate::writes::{made_key, overwritten, returned};
use bobak_core::codec::EncodedRow;
use bobak_core::{GeneratedKey, Outcome, Result, Row, Run, TableSchema, ValueRef, Verb};
use bobak_engine_common::{
    RowSteps, ServerOperations, ServerWrite, StatementDialect, StatementValue, is_of_key,
    no_key_returned, no_such_row, written_columns,
};

/// The rows of one array.
const ROWS: usize = 1_000;
/// The bytes of one array, about.
const BYTES: usize = 4 << 20;
/// A row with a longer value goes alone: it is sent after the others of its array.
const LONG: usize = 32_767;

fn length(value: ValueRef<'_>) -> usize {
    match value {
        ValueRef::Text(text) => text.len(),
        ValueRef::Bytes(bytes) => bytes.len(),
        _ => 0,
    }
}

/// How many rows are the next part of a batch, and whether they are sent together. Their bytes are about those that a request
/// may have.
pub(crate) fn part(run: &Run<'_>, rows: &[EncodedRow<'_>]) -> (usize, bool) {
    // The bytes of the longest value, and of all.
    let size = |row: &EncodedRow<'_>| {
        let lengths = (0..row.len()).map(|place| length(row.get(place)));
        lengths.fold((0, 0), |(most, all), length| (length.max(most), all + length))
    };
    let is_long = rows.first().is_some_and(|row| size(row).0 > LONG);
    let mut bytes = 0;
    let is_alike = |row: &&EncodedRow<'_>| {
        let (longest, all) = size(row);
        bytes += all;
        bytes <= BYTES && (longest > LONG) == is_long
    };
    (rows.iter().take(ROWS).take_while(is_alike).count(), !is_long && has_arrays(run))
}

/// Writes all rows, or none.
///
/// # Errors
/// Those of the server, after which nothing of it is done.
pub(crate) fn send(
    connection: &mut Connection,
    run: &Run<'_>,
    writes: &[ServerWrite<'_>],
    made: bool,
) -> Result<Vec<Outcome>> {
    let sent = connection.undoing(|connection| together(connection, run, writes, made));
    if let Err(error) = &sent
        && made
        && is_of_key(run.table, error)
    {
        connection.skip_keys(run.table)?;
    }
    sent
}

/// Writes all rows, or fails without saying which is wrong.
fn together(
    connection: &mut Connection,
    run: &Run<'_>,
    writes: &[ServerWrite<'_>],
    made: bool,
) -> Result<Vec<Outcome>> {
    match run.verb {
        Verb::Insert => inserts(connection, run.table, writes, made),
        Verb::Upsert if made => inserts(connection, run.table, writes, made),
        Verb::Upsert | Verb::UpsertOn(_) => upserts(connection, run, writes, made),
        Verb::Delete => deletes(connection, run.table, writes),
        _ => updates(connection, run, writes),
    }
}

fn inserts(
    connection: &mut Connection,
    table: &TableSchema,
    writes: &[ServerWrite<'_>],
    made: bool,
) -> Result<Vec<Outcome>> {
    writes.iter().try_for_each(|write| connection.check_row(write))?;
    let values = writes.iter().map(|write| write.stored(written_columns(table, made)).collect());
    let values: Vec<Vec<StatementValue<'_>>> = values.collect();
    let sql = OracleStatements.insert(table, made);
    if !made {
        let binds = values.iter().map(|values| binds(Some(table), values));
        connection.run_rows(Some(table), &sql, &binds.collect::<Result<Vec<_>>>()?, None)?;
        connection.pass_keys(table, writes)?;
        return Ok(vec![Outcome::Inserted(None); writes.len()]);
    }
    let key = |cells: &Vec<OracleCell>| {
        let made = cells.first().and_then(made_key).ok_or_else(|| no_key_returned(table))?;
        Ok(Outcome::Inserted(Some(GeneratedKey::Int(made))))
    };
    returned(connection, table, &sql, &values)?.iter().map(key).collect()
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
