//! Writes of single rows. Each step is a statement; the caller makes those of one write atomic.

use crate::connection::Connection;
use crate::product::ProductKind;
use bobak_core::{Error, ErrorKind, FieldSet, KeyGeneration, Result, TableSchema, Verb};
use bobak_engine_common::{
    RowSteps, ServerWrite, StatementConnection, StatementValue, no_key_left,
};
use bobak_sql::{Dialect, quote};

impl RowSteps for Connection {
    fn insert_text(&self, write: &ServerWrite<'_>, made: bool) -> String {
        let verb = match (write.verb, self.product.kind) {
            (Verb::InsertOrReplace, ProductKind::MySql | ProductKind::Sqlite) => write.verb,
            _ => Verb::Insert,
        };
        insert_text(self, write.table, verb, 1, made)
    }

    fn insert_for_key(
        &mut self,
        table: &TableSchema,
        sql: &str,
        values: &[StatementValue<'_>],
    ) -> Result<Option<i64>> {
        let shown = Some((table, &[][..]));
        let made = match last_key_text(self, table)? {
            None => self.integers(shown, sql, values),
            Some(last) => {
                let written = StatementConnection::run(self, Some(table), sql, values);
                written.and_then(|_| self.integers(shown, last, &[]))
            }
        };
        match made {
            Err(error) if error.kind() == ErrorKind::OutOfRange && names_key(table, &error) => {
                Err(no_key_left(table).with_source(error))
            }
            made => made.map(|mut keys| keys.pop()),
        }
    }

    fn pass_key(&mut self, table: &TableSchema, key: i64) -> Result<()> {
        advance(self, table, key)
    }

    fn skip_keys(&mut self, table: &TableSchema) -> Result<bool> {
        let is_behind = self.product.kind == ProductKind::Postgres;
        if is_behind {
            resync(self, table)?;
        }
        Ok(is_behind)
    }
}

/// Inserts so many rows.
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
    connection.each(Some((table, &[])), &sql, &[], &mut |_| Ok(true))
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
fn names_key(table: &TableSchema, error: &Error) -> bool {
    let key = table.key().first().and_then(|place| table.columns().get(*place));
    key.is_some_and(|column| error.message().contains(&format!("'{}'", column.name)))
}

#[cold]
fn no_generated_keys(table: &TableSchema) -> Error {
    let message = "Bobak does not know how this database returns the keys that it generates: give \
                   the row a key";
    Error::new(ErrorKind::Unsupported, message).in_table(table.name())
}
