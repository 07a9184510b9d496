//! What happens to a row's values between the record and the engine.
//!
//! Every path goes through here, batches and dynamic rows too: so no path can forget a stamp, a
//! key or a length.

use crate::codec::RowMut;
use crate::{Assign, KeyGeneration, Result, TableSchema, Uuid, Value, ValueRef, Verb, types};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Completes the values of a new row, in schema order: a missing key is made (or left to the
/// engine as NULL), stamps are filled, lengths checked.
///
/// # Errors
/// `TooLong`, naming table and column.
pub fn prepare_insert(table: &TableSchema, values: &mut [Value<'_>]) -> Result<()> {
    make_key(table, values);
    complete(table, values)
}

/// As [`prepare_insert`], for a row that can say by NULL that its key is to be made, as a record
/// with an `i64` or a `Uuid` can't: 0 and the nil UUID are keys like others then.
///
/// # Errors
/// As [`prepare_insert`].
pub fn prepare_row(table: &TableSchema, values: &mut [Value<'_>]) -> Result<()> {
    make_null_key(table, values);
    complete(table, values)
}

fn complete(table: &TableSchema, values: &mut [Value<'_>]) -> Result<()> {
    if table.created_at().is_some() || table.modified_at().is_some() {
        stamp(table, values, true, now());
    }
    check(table, values)
}

/// Completes the values of an updated row: the modification time is filled, lengths checked.
///
/// # Errors
/// `TooLong`, naming table and column.
pub fn prepare_update(table: &TableSchema, values: &mut [Value<'_>]) -> Result<()> {
    if table.modified_at().is_some() {
        stamp(table, values, false, now());
    }
    check(table, values)
}

/// As [`prepare_insert`] or [`prepare_update`], for a row that waits in a batch: its stamps are left
/// to [`Batch::stamp`](crate::Batch::stamp), which fills them when the batch is sent.
///
/// # Errors
/// `TooLong`, naming table and column.
#[inline]
pub fn prepare_waiting(table: &TableSchema, verb: Verb, values: &mut [Value<'_>]) -> Result<()> {
    if verb != Verb::Update {
        make_key(table, values);
    }
    complete_waiting(table, verb, values)
}

/// As [`prepare_waiting`], for a row of which [`prepare_row`] speaks.
///
/// # Errors
/// `TooLong`, naming table and column.
pub fn prepare_waiting_row(
    table: &TableSchema,
    verb: Verb,
    values: &mut [Value<'_>],
) -> Result<()> {
    if verb != Verb::Update {
        make_null_key(table, values);
    }
    complete_waiting(table, verb, values)
}

#[inline]
fn complete_waiting(table: &TableSchema, verb: Verb, values: &mut [Value<'_>]) -> Result<()> {
    let insert = verb != Verb::Update;
    if table.stamps_are_integers() {
        stamp(table, values, insert, 0);
        return check(table, values);
    }
    if insert { complete(table, values) } else { prepare_update(table, values) }
}

/// As [`prepare_waiting`], for a framed row of a table that is
/// [stored plainly](TableSchema::is_stored_plainly).
///
/// # Errors
/// `TooLong`, naming table and column.
#[inline]
pub(crate) fn prepare_encoded(table: &TableSchema, verb: Verb, row: &mut [u8]) -> Result<()> {
    let mut row = RowMut::new(row, table.columns().len());
    let insert = verb != Verb::Update;
    if let (true, KeyGeneration::Engine, &[key]) = (insert, table.key_generation(), table.key())
        && row.is_integer(key, 0)
    {
        row.set_null(key);
    }
    for place in [table.created_at().filter(|_| insert), table.modified_at()].into_iter().flatten()
    {
        row.set_integer(place, 0);
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
        (KeyGeneration::Engine, &[place]) => {
            if let Some(key) = values.get_mut(place)
                && matches!(key, Value::Int(0))
            {
                *key = Value::Null;
            }
        }
        (KeyGeneration::Uuid, &[place]) => {
            if let Some(key) = values.get_mut(place)
                && is_nil(key)
            {
                *key = new_uuid();
            }
        }
        _ => {}
    }
}

/// Makes a key that is NULL, where Bobak makes them; the engine sees the others.
fn make_null_key(table: &TableSchema, values: &mut [Value<'_>]) {
    if let (KeyGeneration::Uuid, &[place]) = (table.key_generation(), table.key())
        && let Some(key) = values.get_mut(place)
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
    for place in [table.created_at().filter(|_| insert), table.modified_at()] {
        if let Some(value) = place.and_then(|place| values.get_mut(place)) {
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
        // The clock is set before 1970.
        Err(error) => -micros(error.duration()),
    }
}

/// Adds the modification time to an update of chosen columns, unless it is assigned already.
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
fn check_value(table: &TableSchema, place: usize, value: &mut Value<'_>) -> Result<()> {
    let Some(column) = table.columns().get(place) else {
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
