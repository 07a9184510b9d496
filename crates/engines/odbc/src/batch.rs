//! Batches: inserts go as arrays of parameters, all other rows one by one.
//!
//! If an array fails, it is undone and its halves are sent, until the row is found. A database that Bobak does not know may
//! have no savepoints: there, all of the batch is undone, and sent row by row.

use crate::connection::Connection;
use crate::product::ProductKind;
use crate::values::{BoundParameter, Target};
use crate::writes::insert_text;
use bobak_core::codec::EncodedRow;
use bobak_core::{
    Error, ErrorKind, GeneratedKey, Outcome, Result, Run, TableSchema, Verb, WriteBatch,
};
use bobak_engine_common::{
    RowSteps, ServerOperations, ServerWrite, StatementConnection, StatementDialect, is_row_error,
    needs_key, no_key_returned, written_columns,
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
        let writes: Vec<_> = rows.iter().map(|row| ServerWrite::in_run(&run, row)).collect();
        match send_array(connection, &run, &writes) {
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

/// How many rows are the next part of a batch, and whether they are sent together.
pub(crate) fn part(
    connection: &Connection,
    run: &Run<'_>,
    rows: &[EncodedRow<'_>],
    made: bool,
) -> (usize, bool) {
    let is_together = run.verb == Verb::Insert
        && connection.product.kind != ProductKind::Other
        && connection.has_arrays
        && !cuts_bytes(connection, run.table)
        && (!made || returns_keys(connection, run.table));
    let most = connection.array_rows();
    if !made {
        return (rows.len().min(most), is_together);
    }
    let columns = written_columns(run.table, true).count().max(1);
    let most = (PARAMETERS / columns).clamp(1, most);
    // Few sizes, so that each is soon prepared.
    (if rows.len() >= most { most } else { 1 << rows.len().ilog2() }, is_together)
}

/// Whether the driver would give the bytes of all rows the length of those of the first: libsqliteodbc does.
fn cuts_bytes(connection: &Connection, table: &TableSchema) -> bool {
    let kind = connection.product.kind;
    let is_bytes = |column| Target::of(kind, column) == Target::Bytes;
    kind == ProductKind::Sqlite && table.columns().iter().any(is_bytes)
}

/// Writes all rows, or none.
///
/// # Errors
/// Those of the driver, after which nothing of it is done.
pub(crate) fn send(
    connection: &mut Connection,
    run: &Run<'_>,
    writes: &[ServerWrite<'_>],
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
        true => send_for_keys(connection, run.table, writes),
        false => send_array(connection, run, writes)?.ok_or_else(incomplete),
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
    writes: &[ServerWrite<'_>],
) -> Result<Option<Vec<Outcome>>> {
    let (table, kind) = (run.table, connection.product.kind);
    let sql = insert_text(connection, table, Verb::Insert, 1, false);
    check_amounts(connection, table, writes)?;
    for part in writes.chunks(connection.array_rows()) {
        let mut parameters = Vec::with_capacity(table.columns().len());
        for (place, column) in table.columns().iter().enumerate() {
            let mut parameter = BoundParameter::new(kind, Target::of(kind, column));
            for write in part {
                let pushed = parameter.push(write.row.get(place));
                pushed.map_err(|e| e.in_table(table.name()).in_column(column.name.as_ref()))?;
            }
            parameters.push(parameter);
        }
        if !connection.run_array(table, &sql, parameters, part.len())?
            || !has_last(connection, table, part)?
        {
            connection.has_arrays = false;
            return Ok(None);
        }
        connection.pass_keys(table, part)?;
    }
    Ok(Some(vec![Outcome::Inserted(None); writes.len()]))
}

/// Rejects amounts that the database would round.
fn check_amounts(
    connection: &mut Connection,
    table: &TableSchema,
    writes: &[ServerWrite<'_>],
) -> Result<()> {
    connection.prepare_checks(table)?;
    let columns = 0..table.columns().len();
    writes.iter().try_for_each(|write| connection.check_values(write, columns.clone()))
}

/// Whether the last row of an array is there. Without a key it cannot be found: then what the driver says is believed.
fn has_last(
    connection: &mut Connection,
    table: &TableSchema,
    writes: &[ServerWrite<'_>],
) -> Result<bool> {
    let Some(write) = writes.last().filter(|_| writes.len() > 1 && !table.has_hidden_key()) else {
        return Ok(true);
    };
    let (key, mut is_there) = (table.key(), false);
    let by = write.compared(&connection.dialect(), key);
    let sql = connection.dialect().get(table, key.iter().copied(), key);
    connection.each(Some((table, key)), &sql, &by, &mut |_| {
        is_there = true;
        Ok(true)
    })?;
    Ok(is_there)
}

/// Sends rows whose keys the database makes: one statement for all, which returns the keys.
fn send_for_keys(
    connection: &mut Connection,
    table: &TableSchema,
    writes: &[ServerWrite<'_>],
) -> Result<Vec<Outcome>> {
    check_amounts(connection, table, writes)?;
    let sql = insert_text(connection, table, Verb::Insert, writes.len(), true);
    let values = writes.iter().flat_map(|write| write.stored(written_columns(table, true)));
    let values: Vec<_> = values.collect();
    let keys = connection.integers(Some((table, &[])), &sql, &values)?;
    if keys.len() != writes.len() {
        return Err(no_key_returned(table));
    }
    Ok(keys.into_iter().map(|key| Outcome::Inserted(Some(GeneratedKey::Int(key)))).collect())
}
