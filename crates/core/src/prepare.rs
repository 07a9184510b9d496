//! Prepares the values of a row for an engine: makes keys, fills timestamps, checks lengths.
//!
//! Every way to write goes through here, batches and dynamic rows too, so that none of them can
//! forget a key, a timestamp or a length.

use crate::codec::RowMut;
use crate::{Assign, KeyGeneration, Result, TableSchema, Uuid, Value, ValueRef, Verb, types};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Prepares the values of a new row, in schema order. A key of 0 or the nil UUID is replaced by a new
/// one, or by NULL if the engine makes keys.
///
/// # Errors
/// `TooLong`, with table and column.
pub fn prepare_insert(table: &TableSchema, values: &mut [Value<'_>]) -> Result<()> {
    make_key(table, values);
    complete(table, values)
}

/// As [`prepare_insert`], for a dynamic row: NULL asks for a new key, and 0 and the nil UUID are
/// ordinary keys. (A record with a key of type `i64` or `Uuid` cannot hold NULL.)
///
/// # Errors
/// As [`prepare_insert`].
pub fn prepare_dynamic_insert(table: &TableSchema, values: &mut [Value<'_>]) -> Result<()> {
    replace_null_key(table, values);
    complete(table, values)
}

fn complete(table: &TableSchema, values: &mut [Value<'_>]) -> Result<()> {
    if table.created_at().is_some() || table.modified_at().is_some() {
        stamp(table, values, true, now());
    }
    check(table, values)
}

/// Prepares the values of an updated row.
///
/// # Errors
/// `TooLong`, with table and column.
pub fn prepare_update(table: &TableSchema, values: &mut [Value<'_>]) -> Result<()> {
    if table.modified_at().is_some() {
        stamp(table, values, false, now());
    }
    check(table, values)
}

/// As [`prepare_insert`] or [`prepare_update`], for a row of a batch.
///
/// The row's timestamps are left to [`WriteBatch::stamp`](crate::WriteBatch::stamp), which fills them when the
/// batch is sent: reading the clock for each row would cost as much as the rest of the row.
///
/// # Errors
/// `TooLong`, with table and column.
#[inline]
pub fn prepare_batched(table: &TableSchema, verb: Verb, values: &mut [Value<'_>]) -> Result<()> {
    if verb != Verb::Update {
        make_key(table, values);
    }
    complete_batched(table, verb, values)
}

/// As [`prepare_batched`], for a dynamic row: see [`prepare_dynamic_insert`].
///
/// # Errors
/// `TooLong`, with table and column.
pub fn prepare_batched_dynamic(
    table: &TableSchema,
    verb: Verb,
    values: &mut [Value<'_>],
) -> Result<()> {
    if verb != Verb::Update {
        replace_null_key(table, values);
    }
    complete_batched(table, verb, values)
}

#[inline]
fn complete_batched(table: &TableSchema, verb: Verb, values: &mut [Value<'_>]) -> Result<()> {
    let insert = verb != Verb::Update;
    if table.stamps_are_integers() {
        stamp(table, values, insert, 0);
        return check(table, values);
    }
    if insert { complete(table, values) } else { prepare_update(table, values) }
}

/// As [`prepare_batched`], for an encoded row of a table that is
/// [stored plainly](TableSchema::is_stored_plainly).
///
/// # Errors
/// `TooLong`, with table and column.
#[inline]
pub(crate) fn prepare_encoded(table: &TableSchema, verb: Verb, row: &mut [u8]) -> Result<()> {
    let mut row = RowMut::new(row, table.columns().len());
    let insert = verb != Verb::Update;
    if let (true, KeyGeneration::Engine, &[key]) = (insert, table.key_generation(), table.key())
        && row.is_integer(key, 0)
    {
        row.set_null(key);
    }
    for index in [table.created_at().filter(|_| insert), table.modified_at()].into_iter().flatten()
    {
        row.set_integer(index, 0);
    }
    for checked in table.checked() {
        if let Some(length) = row.text_length(checked.place)
            && checked.short.is_none_or(|short| length > short.into())
        {
            check_value(table, checked.place, &mut row.as_row().value(checked.place).into())?;
        }
    }
    Ok(())
}

#[inline]
fn make_key(table: &TableSchema, values: &mut [Value<'_>]) {
    match (table.key_generation(), table.key()) {
        (KeyGeneration::Engine, &[index]) => {
            if let Some(key) = values.get_mut(index)
                && matches!(key, Value::Int(0))
            {
                *key = Value::Null;
            }
        }
        (KeyGeneration::Uuid, &[index]) => {
            if let Some(key) = values.get_mut(index)
                && is_nil(key)
            {
                *key = new_uuid();
            }
        }
        _ => {}
    }
}

/// Replaces a NULL key, if Bobak makes the table's keys. Other NULL keys are for the engine.
fn replace_null_key(table: &TableSchema, values: &mut [Value<'_>]) {
    if let (KeyGeneration::Uuid, &[index]) = (table.key_generation(), table.key())
        && let Some(key) = values.get_mut(index)
        && key.is_null()
    {
        *key = new_uuid();
    }
}

fn new_uuid() -> Value<'static> {
    Value::from(types::new_v7().into_bytes().to_vec())
}

#[inline]
fn stamp(table: &TableSchema, values: &mut [Value<'_>], insert: bool, now: i64) {
    for index in [table.created_at().filter(|_| insert), table.modified_at()] {
        if let Some(value) = index.and_then(|index| values.get_mut(index)) {
            *value = Value::Int(now);
        }
    }
}

/// The current time in a timestamp's stored form: microseconds since 1970, UTC. Read straight
/// from the system clock, because every stamped row needs it.
#[must_use]
pub fn now() -> i64 {
    let micros = |since: Duration| {
        let seconds = since.as_secs().cast_signed().saturating_mul(1_000_000);
        seconds.saturating_add(since.subsec_micros().into())
    };
    match SystemTime::now().duration_since(UNIX_EPOCH) {
        Ok(since) => micros(since),
        // The system clock is before 1970.
        Err(error) => -micros(error.duration()),
    }
}

/// Adds the modification time to the assignments of an update, unless they set it already.
pub fn stamp_assignments(table: &TableSchema, assigns: &mut Vec<Assign>) {
    if let Some(column) = table.modified_at()
        && assigns.iter().all(|assign| assign.column() != column)
    {
        let now = Value::Int(now());
        let text = table.columns().get(column).filter(|schema| schema.is_kept_as_text());
        let value = text.and_then(|schema| types::to_text(schema.ty, now.as_ref()).ok());
        assigns.push(Assign::Set { column, value: value.unwrap_or(now) });
    }
}

#[inline]
fn check(table: &TableSchema, values: &mut [Value<'_>]) -> Result<()> {
    for checked in table.checked() {
        let Some(value) = values.get_mut(checked.place) else {
            continue;
        };
        if let (Value::Text(text), Some(short)) = (&*value, checked.short)
            && text.len() <= short as usize
        {
            continue;
        }
        check_value(table, checked.place, value)?;
    }
    Ok(())
}

#[cold]
fn check_value(table: &TableSchema, index: usize, value: &mut Value<'_>) -> Result<()> {
    let Some(column) = table.columns().get(index) else {
        return Ok(());
    };
    let result = if column.is_kept_as_text() {
        types::to_text(column.ty, value.as_ref()).map(|text| *value = text)
    } else if let ValueRef::Text(text) = value.as_ref() {
        column.check_length(text)
    } else {
        Ok(())
    };
    result.map_err(|e| e.in_table(table.name().to_owned()).in_column(column.name.clone()))
}

fn is_nil(key: &Value<'_>) -> bool {
    match key.as_ref() {
        ValueRef::Null => true,
        ValueRef::Bytes(bytes) => bytes == Uuid::nil().as_bytes(),
        _ => false,
    }
}
