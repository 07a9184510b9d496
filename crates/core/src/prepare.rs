//! What happens to a row's values between the record and the engine.
//!
//! Every path goes through here, batches and dynamic rows too: so no path can forget a stamp, a
//! key or a length.

use crate::{Assign, KeyGeneration, Result, TableSchema, Uuid, Value, ValueRef, types};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Completes the values of a new row, in schema order: a missing key is made (or left to the
/// engine as NULL), stamps are filled, lengths checked.
///
/// # Errors
/// `TooLong`, naming table and column.
pub fn prepare_insert(table: &TableSchema, values: &mut [Value<'_>]) -> Result<()> {
    match (table.key_generation(), table.key()) {
        (KeyGeneration::Engine, &[place]) => {
            if let Some(key) = values.get_mut(place)
                && *key == Value::Int(0)
            {
                *key = Value::Null;
            }
        }
        (KeyGeneration::Uuid, &[place]) => {
            if let Some(key) = values.get_mut(place)
                && is_nil(key)
            {
                *key = Value::from(types::new_v7().into_bytes().to_vec());
            }
        }
        _ => {}
    }
    stamp(table, values, true);
    check(table, values)
}

/// Completes the values of an updated row: the modification time is filled, lengths checked.
///
/// # Errors
/// `TooLong`, naming table and column.
pub fn prepare_update(table: &TableSchema, values: &mut [Value<'_>]) -> Result<()> {
    stamp(table, values, false);
    check(table, values)
}

#[inline]
fn stamp(table: &TableSchema, values: &mut [Value<'_>], insert: bool) {
    let created = table.created_at().filter(|_| insert);
    if created.is_none() && table.modified_at().is_none() {
        return;
    }
    let now = now();
    for place in [created, table.modified_at()].into_iter().flatten() {
        if let Some(value) = values.get_mut(place) {
            *value = now.clone();
        }
    }
}

/// The time as a timestamp's stored form: straight from the clock, since every row needs it.
fn now() -> Value<'static> {
    let micros = |since: Duration| {
        let seconds = since.as_secs().cast_signed().saturating_mul(1_000_000);
        seconds.saturating_add(since.subsec_micros().into())
    };
    Value::Int(match SystemTime::now().duration_since(UNIX_EPOCH) {
        Ok(since) => micros(since),
        // The clock is set before 1970.
        Err(error) => -micros(error.duration()),
    })
}

/// Adds the modification time to an update of chosen columns, unless it is assigned already.
pub fn stamp_assignments(table: &TableSchema, assigns: &mut Vec<Assign>) {
    if let Some(column) = table.modified_at()
        && assigns.iter().all(|assign| assign.column() != column)
    {
        let now = now();
        let text = table.columns().get(column).filter(|schema| schema.is_kept_as_text());
        let value = text.and_then(|schema| types::to_text(schema.ty, now.as_ref()).ok());
        assigns.push(Assign::Set { column, value: value.unwrap_or(now) });
    }
}

#[inline]
fn check(table: &TableSchema, values: &mut [Value<'_>]) -> Result<()> {
    for &place in table.checked() {
        let (Some(column), Some(value)) = (table.columns().get(place), values.get_mut(place))
        else {
            continue;
        };
        let result = if column.is_kept_as_text() {
            types::to_text(column.ty, value.as_ref()).map(|text| *value = text)
        } else if let ValueRef::Text(text) = value.as_ref() {
            column.check_length(text)
        } else {
            Ok(())
        };
        result.map_err(|e| e.in_table(table.name().to_owned()).in_column(column.name.clone()))?;
    }
    Ok(())
}

fn is_nil(key: &Value<'_>) -> bool {
    match key.as_ref() {
        ValueRef::Null => true,
        ValueRef::Bytes(bytes) => bytes == Uuid::nil().as_bytes(),
        _ => false,
    }
}
