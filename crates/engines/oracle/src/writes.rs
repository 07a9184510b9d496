//! Writes of single rows. Each step is a statement; the caller makes those of one write atomic.

use crate::binds::{Binds, binds};
use crate::columns::oracle_type;
use crate::connection::Connection;
use crate::dialect::OracleStatements;
use crate::driver::OracleCell;
use crate::{sequences, texts};
use bobak_core::{Error, ErrorKind, Outcome, Result, TableSchema, ValueRef, Verb};
use bobak_engine_common::{
    RowSteps, ServerWrite, StatementDialect, StatementValue, makes_key, no_key_returned,
};

impl RowSteps for Connection {
    /// Rejects an empty text in the key, which Oracle takes for NULL.
    fn check_value(&self, table: &TableSchema, place: usize, value: ValueRef<'_>) -> Result<()> {
        if value == ValueRef::Text("") && table.key().contains(&place) {
            let message = "on Oracle, an empty text is no key: Oracle has no empty texts";
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        Ok(())
    }

    fn insert_for_key(
        &mut self,
        table: &TableSchema,
        sql: &str,
        values: &[StatementValue<'_>],
    ) -> Result<Option<i64>> {
        let found = returned(self, table, sql, &[values])?;
        Ok(found.first().and_then(|rows| rows.first()).and_then(made_key))
    }

    fn pass_key(&mut self, table: &TableSchema, key: i64) -> Result<()> {
        sequences::pass(self, table, key)
    }

    fn skip_keys(&mut self, table: &TableSchema) -> Result<bool> {
        let has_sequence = has_sequence(table);
        if has_sequence {
            sequences::skip(self, table)?;
        }
        Ok(has_sequence)
    }

    fn overwrite_row(&mut self, write: &ServerWrite<'_>) -> Result<Option<Outcome>> {
        let (table, columns) = (write.table, write.verb.conflict_columns(write.table));
        let sql = OracleStatements.overwrite(table, write.fields, columns);
        let values = write.assigned(&OracleStatements, columns);
        let found = returned(self, table, &sql, &[values])?;
        let found = found.first().and_then(|rows| rows.first());
        Ok(found.map(|key| overwritten(write, key)))
    }
}

/// The outcome of an upsert that found a row, the first column of whose key is this.
pub(crate) fn overwritten(write: &ServerWrite<'_>, key: &OracleCell) -> Outcome {
    let bytes = if let OracleCell::Bytes(bytes) = key { bytes.as_slice() } else { &[] };
    match (write.verb, made_key(key)) {
        (Verb::Upsert, _) => Outcome::Changed(1),
        (_, Some(key)) => Outcome::of_updated(write.table, |_| ValueRef::Int(key)),
        _ => Outcome::of_updated(write.table, |_| ValueRef::Bytes(bytes)),
    }
}

/// Runs a statement for each row of values; the first columns of the keys of the rows that each has written.
///
/// # Errors
/// Those of the server, and of a value with its column.
pub(crate) fn returned<'v>(
    connection: &mut Connection,
    table: &TableSchema,
    sql: &str,
    rows: &[impl AsRef<[StatementValue<'v>]>],
) -> Result<Vec<Vec<OracleCell>>> {
    let place = table.key().first().copied().unwrap_or(0);
    let kind = oracle_type(table, place)?.bind();
    let binds = rows.iter().map(|values| binds(Some(table), values.as_ref()));
    let binds: Vec<Binds<'_>> = binds.collect::<Result<_>>()?;
    let at = binds.first().map_or(0, Vec::len) + 1;
    let sql = texts::returning(table, sql, place, at);
    let done = connection.run_rows(Some(table), &sql, &binds, Some(kind))?;
    match done.returned.len() == binds.len() {
        true => Ok(done.returned),
        false => Err(no_key_returned(table)),
    }
}

/// A key of the server's.
pub(crate) fn made_key(cell: &OracleCell) -> Option<i64> {
    match cell {
        OracleCell::Number(digits) => digits.parse().ok(),
        _ => None,
    }
}

/// Whether the keys of a table are those of a sequence of Bobak's.
pub(crate) fn has_sequence(table: &TableSchema) -> bool {
    table.key().first().is_some_and(|&place| makes_key(table, place))
}
