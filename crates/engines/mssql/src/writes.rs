//! Writes of single rows. Each step is a statement; the caller makes those of one write atomic.

use crate::columns::sent_kind;
use crate::connection::{Connection, TypedValue};
use crate::dialect::MssqlStatements;
use crate::texts;
use crate::values::encode;
use bobak_core::{
    Error, ErrorKind, GeneratedKey, Outcome, Result, Row, TableSchema, Type, ValueRef,
};
use bobak_engine_common::{
    ColumnValue, RowSteps, ServerRow, ServerWrite, StatementConnection, in_column, is_exact,
    kept_type, kept_types, needs_key, no_key_left, no_key_returned, typed_values, written_columns,
};

impl StatementConnection for Connection {
    type Dialect = MssqlStatements;

    fn dialect(&self) -> MssqlStatements {
        MssqlStatements
    }

    fn run_with(
        &mut self,
        table: &TableSchema,
        sql: &str,
        values: &[ColumnValue<'_>],
    ) -> Result<u64> {
        let place = |at: usize| values.get(at).map(|(place, _)| *place);
        let located = |error: Error, at: usize| in_column(error, table, place(at));
        self.run(Some(table), sql, &typed_values(table, values), &located)
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

impl RowSteps for Connection {
    /// Rejects what the server would change, or find equal to another value.
    fn check_value(&self, table: &TableSchema, place: usize, value: ValueRef<'_>) -> Result<()> {
        encode(sent_kind(table, place)?, value)?;
        match value {
            ValueRef::Text(text) if text.ends_with(' ') && is_exact(table, place) => {
                let message = "a text that must be unique or is referenced ends with a space, which SQL Server ignores";
                Err(Error::new(ErrorKind::Unsupported, message))
            }
            _ => Ok(()),
        }
    }

    fn insert_row(&mut self, write: &ServerWrite<'_>) -> Result<Outcome> {
        let table = write.table;
        let made = needs_key(table, write.row);
        self.check_row(write)?;
        let sql = texts::insert(table, made);
        let places: Vec<usize> = written_columns(table, made).collect();
        let values: Vec<TypedValue<'_>> =
            places.iter().map(|&place| (kept_type(table, place), write.row.get(place))).collect();
        let located = |error: Error, at: usize| in_column(error, table, places.get(at).copied());
        if !made {
            self.run(Some(table), &sql, &values, &located)?;
            return Ok(Outcome::Inserted(None));
        }
        let (mut key, types) = (None, [Type::I64]);
        let each = &mut |row: &ServerRow| {
            if let ValueRef::Int(made) = row.get(0) {
                key = Some(made);
            }
            Ok(true)
        };
        let done = self.each_located(Some(table), &sql, &values, Some(&types), &located, each);
        done.map_err(|error| out_of_keys(error, table))?;
        match key {
            Some(key) => Ok(Outcome::Inserted(Some(GeneratedKey::Int(key)))),
            None => Err(no_key_returned(table)),
        }
    }
}

/// The error of an insert for which the server has no key.
pub(crate) fn out_of_keys(error: Error, table: &TableSchema) -> Error {
    match error.kind() == ErrorKind::OutOfRange && error.message().contains("IDENTITY") {
        true => no_key_left(table),
        false => error,
    }
}
