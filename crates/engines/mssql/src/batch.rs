//! Batches: new rows go in a bulk load, or several in one statement if the server makes their keys. If one fails, they are
//! sent again in halves, until the few around the wrong row are sent one by one.

use crate::bulk;
use crate::connection::{Connection, TypedValue};
use crate::texts;
use crate::writes::out_of_keys;
use bobak_core::codec::EncodedRow;
use bobak_core::{GeneratedKey, Outcome, Result, Row, Run, TableSchema, Type, ValueRef, Verb};
use bobak_engine_common::{
    RowSteps, ServerBatch, ServerWrite, kept_type, needs_key, no_key_returned, written_columns,
};

/// The rows of one bulk load.
const ROWS: usize = 5_000;
/// Fewer rows are sent one by one.
const FEW: usize = 4;

/// Sends rows that are written in the same way, in a transaction.
///
/// # Errors
/// As [`Session::batch`](bobak_core::Session::batch).
pub(crate) fn send_run(sender: &mut ServerBatch<'_, Connection>, run: &Run<'_>) -> Result<()> {
    let rows: Vec<EncodedRow<'_>> = run.iter().collect();
    if run.verb != Verb::Insert {
        return sender.singly(run, &rows, run.first);
    }
    let mut number = run.first;
    for alike in rows.chunk_by(|a, b| needs_key(run.table, a) == needs_key(run.table, b)) {
        let made = alike.first().is_some_and(|row| needs_key(run.table, row));
        let most = if made { texts::rows_per_insert(run.table) } else { ROWS };
        let has_columns = written_columns(run.table, made).next().is_some();
        let is_together = has_columns && (made || sender.connection.has_bulk);
        for part in alike.chunks(most.max(1)) {
            let mut send = |connection: &mut Connection, rows: &[EncodedRow<'_>]| {
                together(connection, run, rows, made)
            };
            match is_together {
                true => sender.in_halves(run, part, number, FEW, &mut send)?,
                false => sender.singly(run, part, number)?,
            }
            number += part.len() as u64;
        }
    }
    Ok(())
}

/// Inserts all rows, or none; the keys that the server made.
fn together(
    connection: &mut Connection,
    run: &Run<'_>,
    rows: &[EncodedRow<'_>],
    made: bool,
) -> Result<Vec<Outcome>> {
    let table = run.table;
    for row in rows {
        connection.check_row(&ServerWrite::in_run(run, row))?;
    }
    if !made {
        bulk::load(connection, table, rows)?;
        return Ok(vec![Outcome::Inserted(None); rows.len()]);
    }
    let mut keys = insert_rows(connection, table, rows)?;
    if keys.len() != rows.len() {
        return Err(no_key_returned(table));
    }
    // They were made in the order of the rows.
    keys.sort_unstable();
    Ok(keys.into_iter().map(|key| Outcome::Inserted(Some(GeneratedKey::Int(key)))).collect())
}

/// Inserts rows whose keys the server makes, and returns those.
fn insert_rows(
    connection: &mut Connection,
    table: &TableSchema,
    rows: &[EncodedRow<'_>],
) -> Result<Vec<i64>> {
    let values: Vec<TypedValue<'_>> = rows
        .iter()
        .flat_map(|row| {
            written_columns(table, true).map(|place| (kept_type(table, place), row.get(place)))
        })
        .collect();
    let sql = texts::insert_rows(table, rows.len());
    let mut keys = Vec::with_capacity(rows.len());
    let done = connection.each(Some(table), &sql, &values, Some(&[Type::I64]), &mut |row| {
        if let ValueRef::Int(key) = row.get(0) {
            keys.push(key);
        }
        Ok(true)
    });
    done.map_err(|error| out_of_keys(error, table))?;
    Ok(keys)
}
