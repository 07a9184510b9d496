//! Writes of single rows. Each step is a statement; the caller makes those of one write atomic.

use crate::connection::Connection;
use crate::dialect::OdbcStatements;
use crate::product::ProductKind;
use crate::values::{BoundParameter, Target};
use bobak_core::{
    Error, ErrorKind, FieldSet, GeneratedKey, KeyGeneration, Outcome, Result, Row, TableSchema,
    ValueRef, Verb,
};
use bobak_engine_common::{
    ColumnValue, RowSteps, ServerWrite, StatementConnection, needs_key, no_key_returned,
    written_columns,
};
use bobak_sql::{Dialect, quote};

impl StatementConnection for Connection {
    type Dialect = OdbcStatements;

    const COUNTS_UNCHANGED: bool = false;

    fn dialect(&self) -> OdbcStatements {
        OdbcStatements { kind: self.product.kind, dialect: self.product.dialect }
    }

    fn run_with(
        &mut self,
        table: &TableSchema,
        sql: &str,
        values: &[ColumnValue<'_>],
    ) -> Result<u64> {
        let parameters = self.parameters(table, values)?;
        self.run(Some(table), sql, parameters)
    }

    fn each_with(
        &mut self,
        table: &TableSchema,
        sql: &str,
        values: &[ColumnValue<'_>],
        shown: &[usize],
        row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
    ) -> Result<()> {
        let (kind, parameters) = (self.product.kind, self.parameters(table, values)?);
        let columns = shown.iter().filter_map(|place| table.columns().get(*place));
        let mut targets: Vec<Target> = columns.map(|column| Target::of(kind, column)).collect();
        if targets.is_empty() {
            targets.push(Target::Int);
        }
        self.each(Some(table), sql, parameters, Some(targets), &mut |cells| row(cells))
    }
}

impl Connection {
    /// Values of columns as a statement takes them.
    fn parameters(
        &self,
        table: &TableSchema,
        values: &[ColumnValue<'_>],
    ) -> Result<Vec<BoundParameter>> {
        let parameter =
            |(place, value): &ColumnValue<'_>| value_of(self, table, *place, value.as_ref());
        values.iter().map(parameter).collect()
    }

    fn insert_once(&mut self, write: &ServerWrite<'_>, made: bool) -> Result<Outcome> {
        let table = write.table;
        let verb = match (write.verb, self.product.kind) {
            (Verb::InsertOrReplace, ProductKind::MySql | ProductKind::Sqlite) => {
                Verb::InsertOrReplace
            }
            _ => Verb::Insert,
        };
        let sql = insert_text(self, table, verb, 1, made);
        let values: Vec<_> = write.stored(written_columns(table, made)).collect();
        if !made {
            self.run_with(table, &sql, &values)?;
            if let Some(ValueRef::Int(key)) = table.key().first().map(|&at| write.row.get(at)) {
                advance(self, table, key)?;
            }
            return Ok(Outcome::Inserted(None));
        }
        let mut key = None;
        let mut note = |row: &crate::values::Cells| {
            if let ValueRef::Int(made) = row.get(0) {
                key = Some(GeneratedKey::Int(made));
            }
            Ok(true)
        };
        let parameters = self.parameters(table, &values)?;
        let last = last_key_text(self, table)?;
        let targets = Some(vec![Target::Int]);
        match last {
            None => self.each(Some(table), &sql, parameters, targets, &mut note)?,
            Some(last) => {
                self.run(Some(table), &sql, parameters)?;
                self.each(Some(table), last, Vec::new(), targets, &mut note)?;
            }
        }
        match key {
            Some(key) => Ok(Outcome::Inserted(Some(key))),
            None => Err(no_key_returned(table)),
        }
    }
}

impl RowSteps for Connection {
    fn insert_row(&mut self, write: &ServerWrite<'_>) -> Result<Outcome> {
        let made = needs_key(write.table, write.row);
        match self.insert_once(write, made) {
            Err(error)
                if made
                    && error.kind() == ErrorKind::Duplicate
                    && self.product.kind == ProductKind::Postgres =>
            {
                // Keys were given that the sequence has not reached.
                resync(self, write.table)?;
                self.insert_once(write, made)
            }
            // MariaDB's driver does not say that there is no next key.
            Err(error)
                if made
                    && error.kind() == ErrorKind::OutOfRange
                    && is_of_key(write.table, &error) =>
            {
                let message = "the largest possible key is in use: there is no next one";
                Err(Error::new(ErrorKind::Full, message)
                    .in_table(write.table.name())
                    .with_source(error))
            }
            other => other,
        }
    }
}

/// A value of a column.
pub(crate) fn value_of(
    connection: &Connection,
    table: &TableSchema,
    place: usize,
    value: ValueRef<'_>,
) -> Result<BoundParameter> {
    let kind = connection.product.kind;
    let Some(column) = table.columns().get(place) else {
        return BoundParameter::single(kind, Target::of_value(value), value);
    };
    let made = BoundParameter::single(kind, Target::of(kind, column), value);
    made.map_err(|error| error.in_table(table.name()).in_column(column.name.as_ref()))
}

/// The text of an insert.
pub(crate) fn insert_text(
    connection: &Connection,
    table: &TableSchema,
    verb: Verb,
    rows: usize,
    made: bool,
) -> String {
    bobak_sql::insert(connection.product.dialect, table, verb, FieldSet::EMPTY, rows, made)
}

/// Advances the sequence of a table to a key that was given, so that it does not generate that key.
pub(crate) fn advance(connection: &mut Connection, table: &TableSchema, key: i64) -> Result<()> {
    let reached = connection.reached.get(&table.id()).copied().unwrap_or(0);
    if connection.product.kind != ProductKind::Postgres
        || table.key_generation() != KeyGeneration::Engine
        || key <= reached
    {
        return Ok(());
    }
    let Some(sequence) = sequence(table) else { return Ok(()) };
    let sql = format!(
        "SELECT setval({sequence}, {key}) WHERE {key} > coalesce(pg_sequence_last_value({sequence}), 0)"
    );
    connection.command(&sql)?;
    connection.reached.insert(table.id(), key);
    Ok(())
}

/// The sequence that generates a table's keys, as an expression.
fn sequence(table: &TableSchema) -> Option<String> {
    let column = table.key().first().and_then(|place| table.columns().get(*place))?;
    let text = |name: &str| name.replace('\'', "''");
    let name = text(&quote(Dialect::Postgres, table.name()));
    Some(format!("pg_get_serial_sequence('{name}', '{}')", text(&column.name)))
}

/// Advances the sequence of a table beyond all keys that are there.
fn resync(connection: &mut Connection, table: &TableSchema) -> Result<()> {
    let Some(column) = table.key().first().and_then(|place| table.columns().get(*place)) else {
        return Ok(());
    };
    let (name, key) =
        (quote(Dialect::Postgres, table.name()), quote(Dialect::Postgres, &column.name));
    let Some(sequence) = sequence(table) else { return Ok(()) };
    let sql = format!(
        "SELECT setval({sequence}, greatest((SELECT max({key}) FROM {name}), \
         coalesce(pg_sequence_last_value({sequence}), 1)))"
    );
    connection.each(Some(table), &sql, Vec::new(), None, &mut |_| Ok(true))
}

/// The query for the key that the database has made last, if the insert does not return it.
fn last_key_text(connection: &Connection, table: &TableSchema) -> Result<Option<&'static str>> {
    match (connection.product.kind, connection.product.dialect) {
        (ProductKind::Postgres, _) | (_, Dialect::MariaDb) => Ok(None),
        (ProductKind::Sqlite, _) => Ok(Some("SELECT last_insert_rowid()")),
        (ProductKind::MySql, _) => Ok(Some("SELECT LAST_INSERT_ID()")),
        (ProductKind::Other, _) => Err(no_generated_keys(table)),
    }
}

/// Whether an error is about the column of the key.
fn is_of_key(table: &TableSchema, error: &Error) -> bool {
    let key = table.key().first().and_then(|place| table.columns().get(*place));
    key.is_some_and(|column| error.message().contains(&format!("'{}'", column.name)))
}

#[cold]
fn no_generated_keys(table: &TableSchema) -> Error {
    let message = "Bobak does not know how this database returns the keys that it generates: give \
                   the row a key";
    Error::new(ErrorKind::Unsupported, message).in_table(table.name())
}
