//! Rows that SQL inserts, updates and deletes in a guest's table.
//!
//! What SQL leaves out is filled as everywhere: keys, stamps, versions. What it gives is taken, in
//! its column's form, also a stamp: `INSERT … SELECT` copies rows as they are.

use super::fit;
use super::table::GuestTable;
use crate::ffi::{Arguments, OnConflict, RowChange, Updated};
use bobak_core::codec::{EncodedRow, FRAME, encode};
use bobak_core::{
    ColumnSchema, Error, ErrorKind, FieldSet, GivenKey, KeyGeneration, Outcome, Result, Role,
    TableSchema, Value, ValueRef, Verb, Write,
};

/// How many arguments stand before the columns of a row.
const FIRST: usize = 2;

/// Writes the row.
pub(super) fn run(table: &GuestTable, change: RowChange<'_>) -> Result<Updated> {
    match change {
        RowChange::Delete { row } => delete(table, key_of(&table.schema, row.get(0))?),
        RowChange::Insert { values, conflict } => insert(table, values, conflict),
        RowChange::Update { values, conflict } => update(table, values, conflict),
    }
}

fn send(table: &GuestTable, verb: Verb, fields: FieldSet, values: &[Value<'_>]) -> Result<Outcome> {
    let write = Write { table: &table.schema, verb, fields, values };
    table.link.with(table.guest, |session| session.write(&write))
}

fn delete(table: &GuestTable, key: Vec<Value<'static>>) -> Result<Updated> {
    send(table, Verb::Delete, FieldSet::EMPTY, &key)?;
    Ok(Updated::Written(None))
}

fn insert(table: &GuestTable, given: Arguments<'_>, conflict: OnConflict) -> Result<Updated> {
    let schema = &*table.schema;
    // The rowid that the statement names, where it does so and leaves the key out.
    let rowid = given.get(1);
    let mut row = Vec::with_capacity(schema.columns().len());
    for (place, column) in schema.columns().iter().enumerate() {
        let value = match given.get(FIRST + place) {
            ValueRef::Null if schema.has_integer_key() && schema.key() == [place] => rowid,
            value => value,
        };
        row.push(new_value(schema, place, column, value)?);
    }
    fill_made(schema, &mut row, true)?;
    let verb = match conflict {
        OnConflict::Abort => Verb::Insert,
        OnConflict::Ignore => Verb::InsertOrIgnore,
        OnConflict::Replace => Verb::InsertOrReplace,
    };
    match send(table, verb, FieldSet::EMPTY, &row)? {
        Outcome::Ignored => Ok(Updated::Ignored),
        Outcome::Inserted(Some(GivenKey::Int(key))) => Ok(Updated::Written(Some(key))),
        _ => Ok(Updated::Written(integer_key(schema, &row))),
    }
}

/// A value of a new row, in its column's form; what may be left out is made.
fn new_value(
    schema: &TableSchema,
    place: usize,
    column: &ColumnSchema,
    value: ValueRef<'_>,
) -> Result<Value<'static>> {
    if value.is_null() {
        let is_key = schema.key() == [place];
        match (schema.key_generation(), column.role) {
            (KeyGeneration::Engine | KeyGeneration::Uuid, _) if is_key => return Ok(Value::Null),
            (_, Role::CreatedAt | Role::ModifiedAt) => return Ok(Value::Null),
            (_, Role::Version) => return Ok(Value::Int(1)),
            // SQLite tells a table nothing of a column that is left out but that it is NULL.
            _ if !column.nullable && column.default.is_some() => return Ok(column.added_value()),
            _ => {}
        }
    }
    column.accept(fit::stored(column, value))
}

/// Makes what is missing and Bobak makes: a UUID as key, times.
fn fill_made(schema: &TableSchema, row: &mut [Value<'static>], insert: bool) -> Result<()> {
    let uuid = schema.key_generation() == KeyGeneration::Uuid;
    let key = schema.key().first().copied().filter(|_| insert && uuid);
    let created = schema.created_at().filter(|_| insert);
    let missing = |place: &usize| row.get(*place).is_some_and(Value::is_null);
    let made = [key, created, schema.modified_at()];
    let places: Vec<usize> = made.into_iter().flatten().filter(missing).collect();
    if places.is_empty() {
        return Ok(());
    }
    // All other values are checked already: an empty row is completed, and what is made is taken.
    let mut complete: Vec<Value<'_>> = vec![Value::Null; row.len()];
    bobak_core::prepare_insert(schema, &mut complete)?;
    for place in places {
        if let (Some(to), Some(from)) = (row.get_mut(place), complete.get(place)) {
            *to = from.clone().into_owned();
        }
    }
    Ok(())
}

fn update(table: &GuestTable, given: Arguments<'_>, conflict: OnConflict) -> Result<Updated> {
    let schema = &*table.schema;
    if conflict == OnConflict::Replace {
        let message = "update or replace is not for tables of another engine: \
                       delete the rows that are in the way first";
        return Err(Error::new(ErrorKind::Unsupported, message));
    }
    let key = key_of(schema, given.get(0))?;
    let mut row = vec![Value::Null; schema.columns().len()];
    let mut fields = FieldSet::EMPTY;
    let mut moves = false;
    for (place, column) in schema.columns().iter().enumerate() {
        if given.is_unchanged(FIRST + place) {
            continue;
        }
        let value = column.accept(fit::stored(column, given.get(FIRST + place)))?;
        match schema.key().iter().position(|&part| part == place) {
            Some(part) => moves |= key.get(part) != Some(&value),
            None => fields.insert(place),
        }
        if let Some(cell) = row.get_mut(place) {
            *cell = value;
        }
    }
    // The rowid itself was assigned.
    if let ([place], ValueRef::Int(new)) = (schema.key(), given.get(1))
        && schema.has_integer_key()
        && key.first() != Some(&Value::Int(new))
    {
        moves = true;
        if let Some(cell) = row.get_mut(*place) {
            *cell = Value::Int(new);
        }
    }
    let result = if moves {
        move_row(table, &key, row, fields)
    } else {
        change_row(table, &key, row, fields)
    };
    match result {
        Err(error)
            if conflict == OnConflict::Ignore
                && matches!(error.kind(), ErrorKind::Duplicate | ErrorKind::Constraint) =>
        {
            Ok(Updated::Ignored)
        }
        result => result,
    }
}

/// New values for some columns of a row that keeps its key.
fn change_row(
    table: &GuestTable,
    key: &[Value<'static>],
    mut row: Vec<Value<'static>>,
    mut fields: FieldSet,
) -> Result<Updated> {
    let schema = &*table.schema;
    for (&place, part) in schema.key().iter().zip(key) {
        if let Some(cell) = row.get_mut(place) {
            *cell = part.clone();
        }
    }
    if let Some(place) = schema.version() {
        let stored = stored_row(table, key)?;
        let version = stored.get(place).cloned().unwrap_or_default();
        if fields.contains(place) && row.get(place) != Some(&version) {
            let message = "a version is raised by the engine, and can't be assigned";
            return Err(Error::new(ErrorKind::Misuse, message).in_column(name_of(schema, place)));
        }
        fields.remove(place);
        if let Some(cell) = row.get_mut(place) {
            *cell = version;
        }
    }
    if let Some(place) = schema.modified_at()
        && !fields.contains(place)
    {
        fields.insert(place);
        fill_made(schema, &mut row, false)?;
    }
    if fields.is_empty() {
        return Ok(Updated::Written(None));
    }
    send(table, Verb::Update, fields, &row)?;
    Ok(Updated::Written(None))
}

/// A row gets another key: it goes, and comes back under the new one. Both or neither: the host's
/// statement stands behind a mark.
fn move_row(
    table: &GuestTable,
    key: &[Value<'static>],
    row: Vec<Value<'static>>,
    fields: FieldSet,
) -> Result<Updated> {
    let schema = &*table.schema;
    let mut moved = stored_row(table, key)?;
    for (place, value) in row.into_iter().enumerate() {
        let assigned =
            fields.contains(place) || (schema.key().contains(&place) && !value.is_null());
        if assigned && let Some(cell) = moved.get_mut(place) {
            *cell = value;
        }
    }
    let new_key: Vec<Value<'static>> =
        schema.key().iter().filter_map(|&place| moved.get(place).cloned()).collect();
    let is_there = table
        .link
        .with(table.guest, |session| session.get(&table.schema, &new_key, &mut |_| Ok(())))?;
    if is_there {
        return Err(Error::new(ErrorKind::Duplicate, "a row with this key is already there"));
    }
    send(table, Verb::Delete, FieldSet::EMPTY, key)?;
    send(table, Verb::Insert, FieldSet::EMPTY, &moved)?;
    Ok(Updated::Written(None))
}

fn stored_row(table: &GuestTable, key: &[Value<'static>]) -> Result<Vec<Value<'static>>> {
    let mut found = None;
    table.link.with(table.guest, |session| {
        session.get(&table.schema, key, &mut |row| {
            found = Some((0..row.len()).map(|place| row.get(place).to_owned()).collect());
            Ok(())
        })
    })?;
    found.ok_or_else(|| Error::new(ErrorKind::NotFound, "no row has this key"))
}

/// The key of a row as SQLite names it: its rowid, its one key column, or the bytes of several.
fn key_of(schema: &TableSchema, name: ValueRef<'_>) -> Result<Vec<Value<'static>>> {
    if schema.key().len() == 1 {
        return Ok(vec![name.to_owned()]);
    }
    let damaged = || Error::new(ErrorKind::Misuse, "that is no key of a row");
    let ValueRef::Bytes(bytes) = name else {
        return Err(damaged());
    };
    let row = EncodedRow::check(bytes).map_err(|_| damaged())?;
    Ok((0..schema.key().len()).map(|part| row.value(part).to_owned()).collect())
}

/// The bytes that stand for a key of several columns.
pub(super) fn key_bytes(schema: &TableSchema, value: impl Fn(usize) -> Value<'static>) -> Vec<u8> {
    let key: Vec<Value<'_>> = schema.key().iter().map(|&place| value(place)).collect();
    let mut bytes = Vec::new();
    // A key is never 4 GiB long.
    let _ = encode(&mut bytes, &key.as_slice());
    bytes.split_off(FRAME.min(bytes.len()))
}

fn integer_key(schema: &TableSchema, row: &[Value<'_>]) -> Option<i64> {
    let place = schema.key().first().filter(|_| schema.has_integer_key())?;
    match row.get(*place) {
        Some(Value::Int(key)) => Some(*key),
        _ => None,
    }
}

fn name_of(schema: &TableSchema, place: usize) -> String {
    schema.columns().get(place).map_or(String::new(), |column| column.name.to_string())
}
