//! Writes of single rows. Each step is a statement; the caller makes those of one write atomic.

use crate::columns::oracle_type;
use crate::connection::Connection;
use crate::dialect::OracleStatements;
use crate::driver::{BindKind, OracleBind, OracleCell};
use crate::values::encode;
use crate::{sequences, texts};
use bobak_core::{
    Error, ErrorKind, GeneratedKey, Outcome, Result, Row, TableSchema, ValueRef, Verb,
};
use bobak_engine_common::{
    ColumnValue, RowSteps, ServerWrite, StatementConnection, StatementDialect, in_column,
    is_of_key, kept_types, makes_key, needs_key, no_key_left, no_key_returned, typed_values,
    written_columns,
};

/// The values of a statement.
pub(crate) type Binds<'v> = Vec<OracleBind<'v>>;

/// Values as a statement takes them.
///
/// # Errors
/// As [`encode`], with the column.
pub(crate) fn binds<'v>(table: &TableSchema, values: &'v [ColumnValue<'_>]) -> Result<Binds<'v>> {
    let bind = |(place, value): &'v ColumnValue<'_>| {
        encode(oracle_type(table, *place)?, value.as_ref())
            .map_err(|error| in_column(error, table, Some(*place)))
    };
    values.iter().map(bind).collect()
}

impl StatementConnection for Connection {
    type Dialect = OracleStatements;

    fn dialect(&self) -> OracleStatements {
        OracleStatements
    }

    fn run_with(
        &mut self,
        table: &TableSchema,
        sql: &str,
        values: &[ColumnValue<'_>],
    ) -> Result<u64> {
        let binds = [binds(table, values)?];
        self.run(Some(table), sql, &binds, None).map(|done| done.count)
    }

    fn each_with(
        &mut self,
        table: &TableSchema,
        sql: &str,
        values: &[ColumnValue<'_>],
        shown: &[usize],
        row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
    ) -> Result<()> {
        let (values, types) = (typed_values(table, values), kept_types(table, shown));
        self.each(Some(table), sql, &values, Some(&types), &mut |found| row(found))
    }
}

impl Connection {
    fn insert_once(&mut self, write: &ServerWrite<'_>, made: bool) -> Result<Outcome> {
        let (table, sql) = (write.table, OracleStatements.insert(write.table, made));
        let values: Vec<_> = write.stored(written_columns(table, made)).collect();
        if !made {
            self.run_with(table, &sql, &values)?;
            if let Some(ValueRef::Int(key)) = table.key().first().map(|&at| write.row.get(at)) {
                sequences::pass(self, table, key)?;
            }
            return Ok(Outcome::Inserted(None));
        }
        let key = table.key().first().copied().unwrap_or(0);
        let sql = texts::returning(table, &sql, key, values.len() + 1);
        let binds = [binds(table, &values)?];
        let done = self.run(Some(table), &sql, &binds, Some(BindKind::Number));
        let done = done.map_err(|error| out_of_keys(error, table))?;
        match done.returned.first().and_then(|row| row.first()).and_then(made_key) {
            Some(key) => Ok(Outcome::Inserted(Some(key))),
            None => Err(no_key_returned(table)),
        }
    }
}

impl RowSteps for Connection {
    /// Rejects an empty text in the key, which Oracle takes for NULL.
    fn check_value(&self, table: &TableSchema, place: usize, value: ValueRef<'_>) -> Result<()> {
        if value == ValueRef::Text("") && table.key().contains(&place) {
            let message = "on Oracle, an empty text is no key: Oracle has no empty texts";
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        Ok(())
    }

    fn insert_row(&mut self, write: &ServerWrite<'_>) -> Result<Outcome> {
        let table = write.table;
        let made = needs_key(table, write.row);
        self.check_row(write)?;
        match self.insert_once(write, made) {
            // Keys were given that the sequence has not reached.
            Err(error) if made && is_of_key(table, &error) && has_sequence(table) => {
                sequences::skip(self, table)?;
                self.insert_once(write, made)
            }
            other => other,
        }
    }

    /// One statement returns the key, too.
    fn overwrite_row(&mut self, write: &ServerWrite<'_>) -> Result<Option<Outcome>> {
        let (table, columns) = (write.table, write.verb.conflict_columns(write.table));
        let sql = OracleStatements.overwrite(table, write.fields, columns);
        let values = write.assigned(&OracleStatements, columns);
        let (key, kind) = returned_key(table)?;
        let sql = texts::returning(table, &sql, key, values.len() + 1);
        let done = self.run(Some(table), &sql, &[binds(table, &values)?], Some(kind))?;
        let found = done.returned.first().and_then(|rows| rows.first());
        Ok(found.map(|key| overwritten(write, key)))
    }
}

/// The outcome of an upsert that found a row, the first column of whose key is this.
pub(crate) fn overwritten(write: &ServerWrite<'_>, key: &OracleCell) -> Outcome {
    let bytes = if let OracleCell::Bytes(bytes) = key { bytes.as_slice() } else { &[] };
    match (write.verb, made_key(key)) {
        (Verb::Upsert, _) => Outcome::Changed(1),
        (_, Some(GeneratedKey::Int(key))) => {
            Outcome::of_updated(write.table, |_| ValueRef::Int(key))
        }
        _ => Outcome::of_updated(write.table, |_| ValueRef::Bytes(bytes)),
    }
}

/// The first column of the key, and what its values are returned as.
pub(crate) fn returned_key(table: &TableSchema) -> Result<(usize, BindKind)> {
    let place = table.key().first().copied().unwrap_or(0);
    Ok((place, oracle_type(table, place)?.bind()))
}

/// A key of the server's.
pub(crate) fn made_key(cell: &OracleCell) -> Option<GeneratedKey> {
    match cell {
        OracleCell::Number(digits) => digits.parse().ok().map(GeneratedKey::Int),
        _ => None,
    }
}

/// Whether the keys of a table are those of a sequence of Bobak's.
pub(crate) fn has_sequence(table: &TableSchema) -> bool {
    table.key().first().is_some_and(|&place| makes_key(table, place))
}

/// The error of an insert for which the server has no key.
pub(crate) fn out_of_keys(error: Error, table: &TableSchema) -> Error {
    match error.code() == Some(8_004) {
        true => no_key_left(table),
        false => error,
    }
}
