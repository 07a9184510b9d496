//! Batches: inserts go as arrays of parameters, all other rows one by one.
//!
//! If an array fails, it is undone and its halves are sent, until the row is found. A database that Bobak does not know may
//! have no savepoints: there, all of the batch is undone, and sent row by row.

use crate::connection::Connection;
use crate::product::ProductKind;
use crate::values::{BoundParameter, Target};
use crate::writes::{advance, insert_text, value_of};
use bobak_core::codec::EncodedRow;
use bobak_core::{
    Error, ErrorKind, GeneratedKey, Outcome, Result, Row, Run, TableSchema, ValueRef, Verb,
    WriteBatch,
};
use bobak_engine_common::{
    ServerBatch, ServerOperations, ServerWrite, StatementConnection, StatementDialect,
    is_row_error, needs_key, no_key_returned, written_columns,
};
use bobak_sql::Dialect;

/// The most parameters of one statement: drivers count them in 16 bits.
const PARAMETERS: usize = 32_000;

/// Sends the inserts of a batch in arrays, without savepoints; `false` if the batch must be undone and sent row by row.
pub(crate) fn send_at_once(
    connection: &mut Connection,
    batch: &WriteBatch,
) -> Result<Option<Vec<Outcome>>> {
    let mut outcomes = Vec::new();
    for run in batch.runs() {
        let rows: Vec<EncodedRow<'_>> = run.iter().collect();
        match send_array(connection, &run, &rows) {
            Ok(Some(sent)) => outcomes.extend(sent),
            Ok(None) => return Ok(None),
            Err(error) if is_row_error(error.kind()) => return Ok(None),
            Err(error) => return Err(error),
        }
    }
    Ok(Some(outcomes))
}

/// Whether all of a batch can be sent in arrays.
pub(crate) fn is_all_inserts(batch: &WriteBatch) -> bool {
    batch
        .runs()
        .all(|run| run.verb == Verb::Insert && run.iter().all(|row| !needs_key(run.table, &row)))
}

/// Sends rows that are written in the same way, in a transaction.
///
/// # Errors
/// As [`Session::batch`](bobak_core::Session::batch).
pub(crate) fn send_run(sender: &mut ServerBatch<'_, Connection>, run: &Run<'_>) -> Result<()> {
    let rows: Vec<EncodedRow<'_>> = run.iter().collect();
    if run.verb != Verb::Insert || sender.connection.product.kind == ProductKind::Other {
        return sender.singly(run, &rows, run.first);
    }
    let mut number = run.first;
    for alike in rows.chunk_by(|a, b| needs_key(run.table, a) == needs_key(run.table, b)) {
        let made = alike.first().is_some_and(|row| needs_key(run.table, row));
        let mut rest = alike;
        while !rest.is_empty() {
            let (part, later) = rest.split_at(part_size(sender.connection, run, rest, made));
            let connection = &*sender.connection;
            let is_together =
                connection.has_arrays && (!made || returns_keys(connection, run.table));
            let mut send = |connection: &mut Connection, rows: &[EncodedRow<'_>]| {
                send_part(connection, run, rows, made)
            };
            match is_together {
                true => sender.in_halves(run, part, number, 2, &mut send)?,
                false => sender.singly(run, part, number)?,
            }
            number += part.len() as u64;
            rest = later;
        }
    }
    Ok(())
}

/// How many of these rows go together.
fn part_size(connection: &Connection, run: &Run<'_>, rows: &[EncodedRow<'_>], made: bool) -> usize {
    let most = connection.array_rows();
    if !made {
        return rows.len().min(most);
    }
    let columns = written_columns(run.table, true).count().max(1);
    let most = (PARAMETERS / columns).clamp(1, most);
    // Few sizes, so that each is soon prepared.
    if rows.len() >= most { most } else { 1 << rows.len().ilog2() }
}

/// Writes all rows, or none.
fn send_part(
    connection: &mut Connection,
    run: &Run<'_>,
    rows: &[EncodedRow<'_>],
    made: bool,
) -> Result<Vec<Outcome>> {
    let incomplete = || {
        let message = "the ODBC driver does not process all rows of an array";
        Error::new(ErrorKind::Unsupported, message).in_table(run.table.name())
    };
    if !connection.has_arrays {
        // It has turned out: the rows go one by one.
        return Err(incomplete());
    }
    connection.undoing(|connection| match made {
        true => send_for_keys(connection, run, rows),
        false => send_array(connection, run, rows)?.ok_or_else(incomplete),
    })
}

/// Whether one statement can insert rows whose keys the database makes, and return those.
fn returns_keys(connection: &Connection, table: &TableSchema) -> bool {
    let product = &connection.product;
    (product.kind == ProductKind::Postgres || product.dialect == Dialect::MariaDb)
        && written_columns(table, true).next().is_some()
}

/// Sends rows with keys: one statement, executed for each row of an array. `None` if the driver has not processed all, or
/// says that it has, and the last row is not there.
fn send_array(
    connection: &mut Connection,
    run: &Run<'_>,
    rows: &[EncodedRow<'_>],
) -> Result<Option<Vec<Outcome>>> {
    let (table, kind) = (run.table, connection.product.kind);
    let sql = insert_text(connection, table, Verb::Insert, 1, false);
    for part in rows.chunks(connection.array_rows()) {
        let mut parameters = Vec::with_capacity(table.columns().len());
        for (place, column) in table.columns().iter().enumerate() {
            let mut parameter = BoundParameter::new(kind, Target::of(kind, column));
            for row in part {
                let pushed = parameter.push(row.value(place));
                pushed.map_err(|e| e.in_table(table.name()).in_column(column.name.as_ref()))?;
            }
            parameters.push(parameter);
        }
        if !connection.run_array(table, &sql, parameters, part.len())?
            || !has_last(connection, run, part)?
        {
            connection.has_arrays = false;
            return Ok(None);
        }
        if let Some(largest) = largest_key(table, part) {
            advance(connection, table, largest)?;
        }
    }
    Ok(Some(rows.iter().map(|_| Outcome::Inserted(None)).collect()))
}

/// Whether the last row of an array is there. Without a key it cannot be found: then what the driver says is believed.
fn has_last(connection: &mut Connection, run: &Run<'_>, rows: &[EncodedRow<'_>]) -> Result<bool> {
    let table = run.table;
    let Some(row) = rows.last().filter(|_| rows.len() > 1 && !table.has_hidden_key()) else {
        return Ok(true);
    };
    let (key, mut is_there) = (table.key(), false);
    let by = ServerWrite::in_run(run, row).compared(&connection.dialect(), key);
    let sql = connection.dialect().get(table, key.iter().copied(), key);
    connection.each_with(table, &sql, &by, key, &mut |_| {
        is_there = true;
        Ok(true)
    })?;
    Ok(is_there)
}

/// The largest integer key.
fn largest_key(table: &TableSchema, rows: &[EncodedRow<'_>]) -> Option<i64> {
    let place = *table.key().first()?;
    let key = |row: &EncodedRow<'_>| match row.value(place) {
        ValueRef::Int(key) => Some(key),
        _ => None,
    };
    rows.iter().filter_map(key).max()
}

/// Sends rows whose keys the database makes: one statement for all, which returns the keys.
fn send_for_keys(
    connection: &mut Connection,
    run: &Run<'_>,
    rows: &[EncodedRow<'_>],
) -> Result<Vec<Outcome>> {
    let table = run.table;
    let sql = insert_text(connection, table, Verb::Insert, rows.len(), true);
    let mut parameters = Vec::new();
    for row in rows {
        for place in written_columns(table, true) {
            parameters.push(value_of(connection, table, place, row.value(place))?);
        }
    }
    let mut outcomes = Vec::with_capacity(rows.len());
    connection.each(Some(table), &sql, parameters, Some(vec![Target::Int]), &mut |row| {
        if let ValueRef::Int(key) = row.get(0) {
            outcomes.push(Outcome::Inserted(Some(GeneratedKey::Int(key))));
        }
        Ok(true)
    })?;
    if outcomes.len() != rows.len() {
        return Err(no_key_returned(table));
    }
    Ok(outcomes)
}
