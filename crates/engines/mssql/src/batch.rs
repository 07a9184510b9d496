//! Batches: new rows go in a bulk load, or several in one statement if the server makes their keys. If one fails, they are
//! sent again in halves, until the few around the wrong row are sent one by one.

use crate::bulk;
use crate::connection::Connection;
use crate::texts;
use bobak_core::codec::EncodedRow;
use bobak_core::{GeneratedKey, Outcome, Result, Run, TableSchema, Verb};
use bobak_engine_common::{
    RowSteps, ServerWrite, StatementConnection, no_key_returned, written_columns,
};

/// The rows of one bulk load.
const ROWS: usize = 5_000;

/// How many rows are the next part of a batch, and whether they are sent together.
pub(crate) fn part(
    connection: &Connection,
    run: &Run<'_>,
    rows: &[EncodedRow<'_>],
    made: bool,
) -> (usize, bool) {
    let most = if made { texts::rows_per_insert(run.table) } else { ROWS };
    let has_columns = written_columns(run.table, made).next().is_some();
    let is_together = run.verb == Verb::Insert && has_columns && (made || connection.has_bulk);
    (rows.len().min(most), is_together)
}

/// Inserts all rows, or none; the keys that the server made.
pub(crate) fn together(
    connection: &mut Connection,
    table: &TableSchema,
    writes: &[ServerWrite<'_>],
    made: bool,
) -> Result<Vec<Outcome>> {
    writes.iter().try_for_each(|write| connection.check_row(write))?;
    if !made {
        bulk::load(connection, table, writes)?;
        return Ok(vec![Outcome::Inserted(None); writes.len()]);
    }
    let values = writes.iter().flat_map(|write| write.stored(written_columns(table, true)));
    let sql = texts::insert_rows(table, writes.len());
    let shown = Some((table, table.key()));
    let mut keys = connection.integers(shown, &sql, &values.collect::<Vec<_>>())?;
    if keys.len() != writes.len() {
        return Err(no_key_returned(table));
    }
    // They were made in the order of the rows.
    keys.sort_unstable();
    Ok(keys.into_iter().map(|key| Outcome::Inserted(Some(GeneratedKey::Int(key)))).collect())
}
