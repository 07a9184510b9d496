//! Writes one row and returns its outcome.

use crate::connection::Connection;
use crate::keys::{push_bare_key, push_columns, push_key};
use crate::sql_texts::{SqlTextCache, SqlTextKind};
use crate::values::decode::{BorrowedRow, DecodedValue};
use crate::values::encode::encode;
use bobak_core::{
    Error, ErrorKind, FieldSet, GeneratedKey, Outcome, Result, Row, TableSchema, ValueRef, Verb,
};
use bobak_engine_common::{check_row_length, needs_key, no_key_returned, no_such_row, reject_null};
use mysql::Value as Wire;

/// Writes one row. Each statement is whole in itself, so no transaction is needed; an upsert that
/// meets another's insert tries the update again.
pub(crate) fn write_row(
    connection: &mut Connection,
    sql_texts: &SqlTextCache,
    table: &TableSchema,
    verb: Verb,
    fields: FieldSet,
    row: &dyn Row,
) -> Result<Outcome> {
    check_row_length(table, verb, row)?;
    match verb {
        Verb::Insert | Verb::InsertOrReplace => insert(connection, sql_texts, table, verb, row),
        Verb::InsertOrIgnore => match insert(connection, sql_texts, table, Verb::Insert, row) {
            Err(error) if error.kind() == ErrorKind::Duplicate => Ok(Outcome::Ignored),
            other => other,
        },
        Verb::Upsert if needs_key(table, row) => {
            insert(connection, sql_texts, table, Verb::Insert, row)
        }
        Verb::Upsert | Verb::UpsertOn(_) => {
            upsert(connection, sql_texts, table, (verb, fields), row)
        }
        Verb::Update => update(connection, sql_texts, table, fields, row),
        Verb::Delete => delete(connection, sql_texts, table, row),
    }
}

fn insert(
    connection: &mut Connection,
    sql_texts: &SqlTextCache,
    table: &TableSchema,
    verb: Verb,
    row: &dyn Row,
) -> Result<Outcome> {
    let without_key = needs_key(table, row);
    let kind = SqlTextKind::Insert { verb, rows: 1, without_key };
    let sql = sql_texts.text(connection.flavour.dialect, table, kind);
    let mut parameters = Vec::with_capacity(row.len());
    push_values(table, row, without_key, &mut parameters)?;
    if !without_key {
        connection.run(Some(table), &sql, parameters)?;
        return Ok(Outcome::Inserted(None));
    }
    let key = connection.insert_for_keys(table, &sql, parameters)?;
    match key[..] {
        [key] => Ok(Outcome::Inserted(Some(GeneratedKey::Int(key)))),
        _ => Err(no_key_returned(table)),
    }
}

/// The row's values as parameters of an insert.
pub(crate) fn push_values(
    table: &TableSchema,
    row: &dyn Row,
    without_key: bool,
    parameters: &mut Vec<Wire>,
) -> Result<()> {
    for place in table.written_columns() {
        if !(without_key && table.key().contains(&place)) {
            parameters.push(encode(table, place, row.get(place))?);
        }
    }
    Ok(())
}

/// Each statement commits by itself, so it tries again if another writer inserts or deletes the row between two of them.
fn upsert(
    connection: &mut Connection,
    sql_texts: &SqlTextCache,
    table: &TableSchema,
    (verb, fields): (Verb, FieldSet),
    row: &dyn Row,
) -> Result<Outcome> {
    reject_null(table, row)?;
    let mut is_last = false;
    loop {
        // Not ON DUPLICATE KEY UPDATE, which would take any unique rule for that of the upsert.
        if let Some(outcome) = overwrite(connection, sql_texts, table, (verb, fields), row)? {
            return Ok(outcome);
        }
        match insert(connection, sql_texts, table, Verb::Insert, row) {
            Err(error) if error.kind() == ErrorKind::Duplicate && !is_last => is_last = true,
            done => return done,
        }
    }
}

/// Sets the fields of the row with the same values in the upsert's columns; `None` if there is no such row.
fn overwrite(
    connection: &mut Connection,
    sql_texts: &SqlTextCache,
    table: &TableSchema,
    (verb, fields): (Verb, FieldSet),
    row: &dyn Row,
) -> Result<Option<Outcome>> {
    let dialect = connection.flavour.dialect;
    let mut parameters = Vec::with_capacity(row.len());
    for place in fields.iter() {
        parameters.push(encode(table, place, row.get(place))?);
    }
    push_columns(table, verb.conflict_columns(table), row, &mut parameters)?;
    let sql = sql_texts.text(dialect, table, SqlTextKind::OverwriteBy(verb, fields));
    match (connection.run(Some(table), &sql, parameters)?.matched, verb) {
        (0, _) => Ok(None),
        (_, Verb::Upsert) => Ok(Some(Outcome::Changed(1))),
        _ => updated_key(connection, sql_texts, table, verb, row),
    }
}

/// The outcome with the key of the row that has the same values in the upsert's columns; `None` if there is no such row.
fn updated_key(
    connection: &mut Connection,
    sql_texts: &SqlTextCache,
    table: &TableSchema,
    verb: Verb,
    row: &dyn Row,
) -> Result<Option<Outcome>> {
    let mut parameters = Vec::new();
    push_columns(table, verb.conflict_columns(table), row, &mut parameters)?;
    let sql = sql_texts.text(connection.flavour.dialect, table, SqlTextKind::KeyBy(verb));
    let mut outcome = None;
    connection.each(Some(table), &sql, parameters, &mut |cells, columns| {
        // The row has the columns of the key alone.
        let key = BorrowedRow { cells, columns };
        outcome = Some(Outcome::of_updated(table, |_| key.get(0)));
        Ok(true)
    })?;
    Ok(outcome)
}

/// The parameters of an update: the fields, the key, the version that is expected.
pub(crate) fn push_update(
    table: &TableSchema,
    fields: FieldSet,
    row: &dyn Row,
    with_version: bool,
    parameters: &mut Vec<Wire>,
) -> Result<()> {
    for place in fields.iter() {
        parameters.push(encode(table, place, row.get(place))?);
    }
    push_key(table, row, parameters)?;
    if let Some(version) = table.version().filter(|_| with_version) {
        parameters.push(encode(table, version, row.get(version))?);
    }
    Ok(())
}

fn update(
    connection: &mut Connection,
    sql_texts: &SqlTextCache,
    table: &TableSchema,
    fields: FieldSet,
    row: &dyn Row,
) -> Result<Outcome> {
    let sql = sql_texts.text(connection.flavour.dialect, table, SqlTextKind::Update(fields));
    let mut parameters = Vec::with_capacity(row.len() + 1);
    push_update(table, fields, row, true, &mut parameters)?;
    if connection.run(Some(table), &sql, parameters)?.matched > 0 {
        return Ok(Outcome::Changed(1));
    }
    // Why was there none? Servers that do not say how many rows matched count the changed ones.
    let mut key = Vec::new();
    push_key(table, row, &mut key)?;
    let sql = sql_texts.text(connection.flavour.dialect, table, SqlTextKind::Get);
    let found = connection.rows(Some(table), &sql, key)?;
    let Some(found) = found.first() else {
        return Err(no_such_row(table));
    };
    match table.version() {
        Some(place) if !is_same(found.get(place), row, place) => Err(conflict(table)),
        _ => Ok(Outcome::Changed(1)),
    }
}

fn is_same(found: Option<&DecodedValue>, row: &dyn Row, place: usize) -> bool {
    match (found, row.get(place)) {
        (Some(DecodedValue::Int(found)), ValueRef::Int(given)) => *found == given,
        _ => false,
    }
}

fn delete(
    connection: &mut Connection,
    sql_texts: &SqlTextCache,
    table: &TableSchema,
    key: &dyn Row,
) -> Result<Outcome> {
    let sql = sql_texts.text(connection.flavour.dialect, table, SqlTextKind::Delete);
    let mut parameters = Vec::with_capacity(key.len());
    push_bare_key(table, key, &mut parameters)?;
    let done = connection.run(Some(table), &sql, parameters)?;
    Ok(Outcome::Changed(done.affected.min(1)))
}

#[cold]
pub(crate) fn conflict(table: &TableSchema) -> Error {
    let message = "the row was changed since it was read: read it again";
    let error = Error::new(ErrorKind::Conflict, message).in_table(table.name());
    match table.version().and_then(|place| table.columns().get(place)) {
        Some(column) => error.in_column(column.name.as_ref()),
        None => error,
    }
}
