//! Writes of single rows. Each step is a statement; the caller makes those of one write atomic.

use crate::catalog;
use crate::connection::{Connection, GivenValue};
use crate::names::Names;
use bobak_core::{
    Error, GeneratedKey, KeyGeneration, Outcome, Result, Row, TableSchema, Type, ValueRef,
};
use bobak_engine_common::{
    ColumnValue, EachRow, RowSteps, ServerCondition, ServerWrite, StatementConnection,
    StatementDialect, in_column, is_of_key, kept_type, kept_types, needs_key, no_key_left,
    reject_null, scan_with, typed_values, written_columns,
};
use std::sync::Arc;

impl StatementConnection for Connection {
    type Dialect = Names;

    fn dialect(&self) -> Names {
        self.names
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

    /// Of 64-bit integers, Firebird's indexes have the smallest in a wrong place: it comes first here.
    fn scan(
        &mut self,
        table: &TableSchema,
        condition: &ServerCondition<'_>,
        most: Option<u64>,
        each: &mut EachRow<'_>,
    ) -> Result<()> {
        let first = table.key().first().filter(|first| {
            kept_type(table, **first) == Type::I64 && !condition.fixed.contains(first)
        });
        let is_sorted = table.key().iter().all(|place| self.names.is_sorted(table, *place));
        let Some(&first) = first.filter(|_| is_sorted) else {
            return scan_with(self, table, condition, (None, most), each).map(drop);
        };
        let name = self.names.column(table, first);
        for operator in ["=", "<>"] {
            let part = format!("{name} {operator} {}", i64::MIN);
            if !scan_with(self, table, condition, (Some(&part), most), each)? {
                break;
            }
        }
        Ok(())
    }
}

impl Connection {
    fn insert_once(&mut self, write: &ServerWrite<'_>, made: bool) -> Result<Outcome> {
        let table = write.table;
        let mut sql = self.names.insert(table, made);
        let places: Vec<usize> = written_columns(table, made).collect();
        let values: Vec<GivenValue<'_>> =
            places.iter().map(|&place| (kept_type(table, place), write.row.get(place))).collect();
        let located = |error: Error, at: usize| in_column(error, table, places.get(at).copied());
        if !made {
            self.run(Some(table), &sql, &values, &located)?;
            if let Some(ValueRef::Int(key)) = table.key().first().map(|&at| write.row.get(at)) {
                advance(self, table, key)?;
            }
            return Ok(Outcome::Inserted(None));
        }
        let key = self.names.columns(table, table.key().iter().copied());
        sql.push_str(&format!(" RETURNING {key}"));
        let key = self.insert_for_key(table, &sql, &values, &located)?;
        if key < 1 {
            // The generator has begun again at the smallest integer.
            let sql = self.names.delete(table);
            self.run(Some(table), &sql, &[(Type::I64, ValueRef::Int(key))], &|error, _| error)?;
            return Err(no_key_left(table));
        }
        Ok(Outcome::Inserted(Some(GeneratedKey::Int(key))))
    }
}

impl RowSteps for Connection {
    fn insert_row(&mut self, write: &ServerWrite<'_>) -> Result<Outcome> {
        let table = write.table;
        let made = needs_key(table, write.row);
        reject_null(write.table, write.row)?;
        match self.insert_once(write, made) {
            // Keys were given that the generator has not reached.
            Err(error) if made && is_of_key(table, &error) => {
                resync(self, table)?;
                self.insert_once(write, made)
            }
            other => other,
        }
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
    number(connection, table, &sql, &[(Type::I64, ValueRef::Int(by))])
}

fn number(
    connection: &mut Connection,
    table: &TableSchema,
    sql: &str,
    values: &[GivenValue<'_>],
) -> Result<i64> {
    let mut number = 0;
    connection.each(Some(table), sql, values, None, &mut |row| {
        if let ValueRef::Int(found) = row.get(0) {
            number = found;
        }
        Ok(true)
    })?;
    Ok(number)
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
pub(crate) fn resync(connection: &mut Connection, table: &TableSchema) -> Result<()> {
    let names = connection.names;
    let key = names.columns(table, table.key().iter().copied());
    let sql = format!("SELECT MAX({key}) FROM {}", names.quoted(table.name()));
    let largest = number(connection, table, &sql, &[])?;
    connection.reached.remove(&table.id());
    advance(connection, table, largest)
}
