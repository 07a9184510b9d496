//! Writes of single rows. Each step is a statement; the caller makes those of one write atomic.

use crate::connection::Connection;
use crate::product::ProductKind;
use bobak_core::{
    Error, ErrorKind, FieldSet, KeyGeneration, Result, TableSchema, Type, Value, ValueRef, Verb,
};
use bobak_engine_common::{
    NarrowAmounts, RowSteps, ServerWrite, StatementConnection, StatementValue, catalog_integer,
    catalog_text, no_key_left,
};
use bobak_sql::server::SqlServer;
use bobak_sql::{Dialect, quote};

impl RowSteps for Connection {
    fn check_value(&self, table: &TableSchema, place: usize, value: ValueRef<'_>) -> Result<()> {
        let narrow = self.narrow.get(&table.id());
        narrow.map_or(Ok(()), |narrow| narrow.check_value(table, place, value))
    }

    fn prepare_checks(&mut self, table: &TableSchema) -> Result<()> {
        let has_amounts = table.columns().iter().any(|column| column.ty == Type::Currency);
        if has_amounts && !self.narrow.contains_key(&table.id()) {
            let narrow = read_narrow(self, table)?;
            self.narrow.insert(table.id(), narrow);
        }
        Ok(())
    }

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

/// The columns with fewer decimals than Bobak's money, on PostgreSQL, MariaDB and MySQL.
fn read_narrow(connection: &mut Connection, table: &TableSchema) -> Result<NarrowAmounts> {
    let sql = match connection.product.kind {
        ProductKind::Postgres => {
            "SELECT attname::text, (atttypmod - 4) & 65535 FROM pg_attribute \
             WHERE attrelid = (SELECT oid FROM pg_class WHERE relname::text = $1 AND relnamespace = \
             (SELECT oid FROM pg_namespace WHERE nspname = current_schema())) \
             AND atttypid = 'numeric'::regtype AND atttypmod >= 4"
        }
        ProductKind::MySql => {
            "SELECT COLUMN_NAME, NUMERIC_SCALE FROM information_schema.COLUMNS \
             WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = ? AND DATA_TYPE = 'decimal'"
        }
        ProductKind::Sqlite | ProductKind::Other => return Ok(NarrowAmounts::default()),
    };
    let mut found = Vec::new();
    SqlServer::ask(connection, sql, &[Value::from(table.name())], &mut |row| {
        found.push((catalog_text(row, 0), catalog_integer(row, 1)));
    })?;
    Ok(NarrowAmounts::new(table, |place| {
        let column = table.columns().get(place)?;
        let (_, decimals) =
            found.iter().find(|(name, _)| column.name.eq_ignore_ascii_case(name))?;
        u32::try_from((*decimals)?).ok()
    }))
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
