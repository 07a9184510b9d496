//! Writes of single rows. Each step is a statement; the caller makes those of one write atomic.

use crate::catalog;
use crate::connection::Connection;
use bobak_core::{KeyGeneration, Result, TableSchema, Type};
use bobak_engine_common::{
    RowSteps, StatementConnection, StatementDialect, StatementValue, no_key_left,
};
use std::sync::Arc;

impl RowSteps for Connection {
    fn insert_for_key(
        &mut self,
        table: &TableSchema,
        sql: &str,
        values: &[StatementValue<'_>],
    ) -> Result<Option<i64>> {
        let key = self.integers(Some((table, table.key())), sql, values)?.pop();
        match key.filter(|key| *key < 1) {
            None => Ok(key),
            // The generator was at its end.
            Some(key) => {
                let key = table.key().first().map(|at| StatementValue::new(table, *at, key));
                self.run(Some(table), &self.names.delete(table), key.as_slice())?;
                Err(no_key_left(table))
            }
        }
    }

    fn pass_key(&mut self, table: &TableSchema, key: i64) -> Result<()> {
        advance(self, table, key)
    }

    fn skip_keys(&mut self, table: &TableSchema) -> Result<bool> {
        resync(self, table).map(|()| true)
    }
}

fn generator(connection: &mut Connection, table: &TableSchema) -> Result<Option<Arc<str>>> {
    if let Some(known) = connection.generators.get(&table.id()) {
        return Ok(known.clone());
    }
    let name = connection.names.stored(table.name()).into_owned();
    let found: Option<Arc<str>> = catalog::generator(connection, &name)?.map(Into::into);
    connection.generators.insert(table.id(), found.clone());
    Ok(found)
}

/// Takes so many keys from the generator of a table; the first of them. `None` if there are not so many.
pub(crate) fn take_keys(
    connection: &mut Connection,
    table: &TableSchema,
    count: usize,
) -> Result<Option<i64>> {
    let Some(generator) = generator(connection, table)? else { return Ok(None) };
    let count = i64::try_from(count).unwrap_or(0);
    let last = generate(connection, table, &generator, count)?;
    let first = last.wrapping_sub(count).wrapping_add(1);
    Ok((first > 0 && last >= first).then_some(first))
}

/// Advances a generator by so much; returns where it is.
fn generate(
    connection: &mut Connection,
    table: &TableSchema,
    generator: &str,
    by: i64,
) -> Result<i64> {
    let sql = format!("SELECT GEN_ID({generator}, CAST(? AS BIGINT)) FROM RDB$DATABASE");
    number(connection, table, &sql, &[StatementValue::of_type(Type::I64, by)])
}

fn number(
    connection: &mut Connection,
    table: &TableSchema,
    sql: &str,
    values: &[StatementValue<'_>],
) -> Result<i64> {
    let found = connection.integers(Some((table, &[])), sql, values)?;
    Ok(found.first().copied().unwrap_or(0))
}

/// Advances the generator of a table to a key that was given, so that it does not make that key.
pub(crate) fn advance(connection: &mut Connection, table: &TableSchema, key: i64) -> Result<()> {
    let reached = connection.reached.get(&table.id()).copied().unwrap_or(0);
    if table.key_generation() != KeyGeneration::Engine || key <= reached {
        return Ok(());
    }
    let Some(generator) = generator(connection, table)? else { return Ok(()) };
    let current = generate(connection, table, &generator, 0)?;
    if key > current {
        generate(connection, table, &generator, key.wrapping_sub(current))?;
    }
    connection.reached.insert(table.id(), key);
    Ok(())
}

/// Advances the generator of a table beyond all keys that are there.
fn resync(connection: &mut Connection, table: &TableSchema) -> Result<()> {
    let names = connection.names;
    let key = names.columns(table, table.key().iter().copied());
    let sql = format!("SELECT MAX({key}) FROM {}", names.quoted(table.name()));
    let largest = number(connection, table, &sql, &[])?;
    connection.reached.remove(&table.id());
    advance(connection, table, largest)
}
