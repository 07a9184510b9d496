//! Rows that SQL inserts, updates and deletes in the table of an attached engine.
//!
//! Generated values that SQL omits are filled in: keys, timestamps, versions. Values that it gives
//! are stored as they are, also timestamps, so that `INSERT … SELECT` copies rows unchanged.

use crate::coercion;
use crate::table::AttachedTable;
use bobak_core::codec::{EncodedRow, FRAME, encode};
use bobak_core::{
    ColumnRole, ColumnSchema, Error, ErrorKind, FieldSet, GeneratedKey, KeyGeneration, Outcome,
    Result, TableSchema, Value, ValueRef, Verb, Write,
};
use bobak_sqlite::virtual_table::{Arguments, ConflictAction, RowChange, UpdateOutcome};

/// The number of arguments before the columns of a row.
const FIRST_COLUMN: usize = 2;

/// Writes the row.
pub(crate) fn run(table: &AttachedTable, change: RowChange<'_>) -> Result<UpdateOutcome> {
    match change {
        RowChange::Delete { row } => delete(table, key_from(&table.schema, row.get(0))?),
        RowChange::Insert { values, conflict } => insert(table, values, conflict),
        RowChange::Update { values, conflict } => update(table, values, conflict),
    }
}

fn send(
    table: &AttachedTable,
    verb: Verb,
    fields: FieldSet,
    values: &[Value<'_>],
) -> Result<Outcome> {
    let write = Write { table: &table.schema, verb, fields, values };
    table.sessions.with(table.engine, |session| session.write(&write))
}

fn delete(table: &AttachedTable, key: Vec<Value<'static>>) -> Result<UpdateOutcome> {
    send(table, Verb::Delete, FieldSet::EMPTY, &key)?;
    Ok(UpdateOutcome::Written(None))
}

fn insert(
    table: &AttachedTable,
    given: Arguments<'_>,
    conflict: ConflictAction,
) -> Result<UpdateOutcome> {
    let schema = &*table.schema;
    // The rowid, if the statement assigns it instead of the key column.
    let rowid = given.get(1);
    let mut row = Vec::with_capacity(schema.columns().len());
    for (position, column) in schema.columns().iter().enumerate() {
        let value = match given.get(FIRST_COLUMN + position) {
            ValueRef::Null if schema.has_integer_key() && schema.key() == [position] => rowid,
            value => value,
        };
        row.push(new_value(schema, position, column, value)?);
    }
    fill_generated(schema, &mut row, true)?;
    let verb = match conflict {
        ConflictAction::Abort => Verb::Insert,
        ConflictAction::Ignore => Verb::InsertOrIgnore,
        ConflictAction::Replace => Verb::InsertOrReplace,
    };
    match send(table, verb, FieldSet::EMPTY, &row)? {
        Outcome::Ignored => Ok(UpdateOutcome::Ignored),
        Outcome::Inserted(Some(GeneratedKey::Int(key))) => Ok(UpdateOutcome::Written(Some(key))),
        _ => Ok(UpdateOutcome::Written(integer_key(schema, &row))),
    }
}

/// A value of a new row, converted to its column's type; NULL for one that is generated later.
fn new_value(
    schema: &TableSchema,
    position: usize,
    column: &ColumnSchema,
    value: ValueRef<'_>,
) -> Result<Value<'static>> {
    if value.is_null() {
        let is_key = schema.key() == [position];
        match (schema.key_generation(), column.role) {
            (KeyGeneration::Engine | KeyGeneration::Uuid, _) if is_key => return Ok(Value::Null),
            (_, ColumnRole::CreatedAt | ColumnRole::ModifiedAt) => return Ok(Value::Null),
            (_, ColumnRole::Version) => return Ok(Value::Int(1)),
            _ if column.generated.is_some() => return Ok(Value::Null),
            // SQLite passes NULL for an omitted column.
            _ if !column.nullable && column.default.is_some() => return Ok(column.added_value()),
            _ => {}
        }
    }
    column.accept(coercion::stored(column, value))
}

/// Generates missing values: a UUID key, timestamps.
fn fill_generated(schema: &TableSchema, row: &mut [Value<'static>], insert: bool) -> Result<()> {
    let uuid = schema.key_generation() == KeyGeneration::Uuid;
    let key = schema.key().first().copied().filter(|_| insert && uuid);
    let created = schema.created_at().filter(|_| insert);
    let missing = |position: &usize| row.get(*position).is_some_and(Value::is_null);
    let generated = [key, created, schema.modified_at()];
    let positions: Vec<usize> = generated.into_iter().flatten().filter(missing).collect();
    if positions.is_empty() {
        return Ok(());
    }
    // The other values are checked already, so generate into an empty row and copy from it.
    let mut complete: Vec<Value<'_>> = vec![Value::Null; row.len()];
    bobak_core::prepare_insert(schema, &mut complete)?;
    for position in positions {
        if let (Some(to), Some(from)) = (row.get_mut(position), complete.get(position)) {
            *to = from.clone().into_owned();
        }
    }
    Ok(())
}

fn update(
    table: &AttachedTable,
    given: Arguments<'_>,
    conflict: ConflictAction,
) -> Result<UpdateOutcome> {
    let schema = &*table.schema;
    if conflict == ConflictAction::Replace {
        let message = "UPDATE OR REPLACE is not supported for tables of attached engines: \
                       delete the conflicting rows first";
        return Err(Error::new(ErrorKind::Unsupported, message));
    }
    let key = key_from(schema, given.get(0))?;
    let mut row = vec![Value::Null; schema.columns().len()];
    let mut fields = FieldSet::EMPTY;
    let mut moves = false;
    for (position, column) in schema.columns().iter().enumerate() {
        if given.is_unchanged(FIRST_COLUMN + position) {
            continue;
        }
        let value = column.accept(coercion::stored(column, given.get(FIRST_COLUMN + position)))?;
        match schema.key().iter().position(|&part| part == position) {
            Some(part) => moves |= key.get(part) != Some(&value),
            None => fields.insert(position),
        }
        if let Some(cell) = row.get_mut(position) {
            *cell = value;
        }
    }
    // The rowid itself was assigned.
    if let ([position], ValueRef::Int(new)) = (schema.key(), given.get(1))
        && schema.has_integer_key()
        && key.first() != Some(&Value::Int(new))
    {
        moves = true;
        if let Some(cell) = row.get_mut(*position) {
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
            if conflict == ConflictAction::Ignore
                && matches!(error.kind(), ErrorKind::Duplicate | ErrorKind::Constraint) =>
        {
            Ok(UpdateOutcome::Ignored)
        }
        result => result,
    }
}

/// Updates some columns of a row that keeps its key.
fn change_row(
    table: &AttachedTable,
    key: &[Value<'static>],
    mut row: Vec<Value<'static>>,
    mut fields: FieldSet,
) -> Result<UpdateOutcome> {
    let schema = &*table.schema;
    for (&position, part) in schema.key().iter().zip(key) {
        if let Some(cell) = row.get_mut(position) {
            *cell = part.clone();
        }
    }
    if let Some(position) = schema.version() {
        let stored = stored_row(table, key)?;
        let version = stored.get(position).cloned().unwrap_or_default();
        if fields.contains(position) && row.get(position) != Some(&version) {
            let message = "the engine increments versions: a version cannot be assigned";
            return Err(Error::new(ErrorKind::Misuse, message).in_column(name_of(schema, position)));
        }
        fields.remove(position);
        if let Some(cell) = row.get_mut(position) {
            *cell = version;
        }
    }
    if let Some(position) = schema.modified_at()
        && !fields.contains(position)
    {
        fields.insert(position);
        fill_generated(schema, &mut row, false)?;
    }
    if fields.is_empty() {
        return Ok(UpdateOutcome::Written(None));
    }
    send(table, Verb::Update, fields, &row)?;
    Ok(UpdateOutcome::Written(None))
}

/// Changes the key of a row: deletes it and inserts it with the new key. The statement's savepoint
/// makes that atomic.
fn move_row(
    table: &AttachedTable,
    key: &[Value<'static>],
    row: Vec<Value<'static>>,
    fields: FieldSet,
) -> Result<UpdateOutcome> {
    let schema = &*table.schema;
    let mut moved = stored_row(table, key)?;
    for (position, value) in row.into_iter().enumerate() {
        let assigned =
            fields.contains(position) || (schema.key().contains(&position) && !value.is_null());
        if assigned && let Some(cell) = moved.get_mut(position) {
            *cell = value;
        }
    }
    let new_key: Vec<Value<'static>> =
        schema.key().iter().filter_map(|&position| moved.get(position).cloned()).collect();
    let is_there = table
        .sessions
        .with(table.engine, |session| session.get(&table.schema, &new_key, &mut |_| Ok(())))?;
    if is_there {
        return Err(Error::new(ErrorKind::Duplicate, "another row has this key already"));
    }
    send(table, Verb::Delete, FieldSet::EMPTY, key)?;
    send(table, Verb::Insert, FieldSet::EMPTY, &moved)?;
    Ok(UpdateOutcome::Written(None))
}

fn stored_row(table: &AttachedTable, key: &[Value<'static>]) -> Result<Vec<Value<'static>>> {
    let mut found = None;
    table.sessions.with(table.engine, |session| {
        session.get(&table.schema, key, &mut |row| {
            found = Some((0..row.len()).map(|position| row.get(position).to_owned()).collect());
            Ok(())
        })
    })?;
    found.ok_or_else(|| Error::new(ErrorKind::NotFound, "no row has this key"))
}

/// The key of a row from SQLite's identification of it: its rowid, its one key column, or the bytes
/// of several.
fn key_from(schema: &TableSchema, name: ValueRef<'_>) -> Result<Vec<Value<'static>>> {
    if schema.key().len() == 1 {
        return Ok(vec![name.to_owned()]);
    }
    let damaged = || Error::new(ErrorKind::Misuse, "the value is not the key of a row");
    let ValueRef::Bytes(bytes) = name else {
        return Err(damaged());
    };
    let row = EncodedRow::check(bytes).map_err(|_| damaged())?;
    Ok((0..schema.key().len()).map(|part| row.value(part).to_owned()).collect())
}

/// The bytes of a key of several columns.
pub(crate) fn key_bytes(schema: &TableSchema, value: impl Fn(usize) -> Value<'static>) -> Vec<u8> {
    let key: Vec<Value<'_>> = schema.key().iter().map(|&position| value(position)).collect();
    let mut bytes = Vec::new();
    // Encoding fails only for values of 4 GiB.
    let _ = encode(&mut bytes, &key.as_slice());
    bytes.split_off(FRAME.min(bytes.len()))
}

fn integer_key(schema: &TableSchema, row: &[Value<'_>]) -> Option<i64> {
    let position = schema.key().first().filter(|_| schema.has_integer_key())?;
    match row.get(*position) {
        Some(Value::Int(key)) => Some(*key),
        _ => None,
    }
}

fn name_of(schema: &TableSchema, position: usize) -> String {
    schema.columns().get(position).map_or(String::new(), |column| column.name.to_string())
}
