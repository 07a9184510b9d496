//! Bobak's values as rows of Access have them. A value is written only if it is read back as it is.

use super::bytes::{as_long, damaged};
use super::definition::ColumnEntry;
use super::key::{
    BINARY, BYTE, DATE_TIME, DECIMAL, DOUBLE, GUID, INTEGER, LARGE_NUMBER, LONG, LONG_BINARY,
    LONG_TEXT, MONEY, SINGLE, TEXT, guid_in_order, text_bytes,
};
use super::row::YES_NO;
use super::table::NewValue;
use crate::dates::{exact_micros, to_days};
use bobak_core::{Error, ErrorKind, Result, TableSchema, Type, ValueRef};

/// The digits after the point of an amount.
const AMOUNT_SCALE: u32 = 4;
/// The bytes of a long value at most.
const MAX_LONG: usize = 0x3fff_ffff;

/// Rejects values that Access has no room for in any field, when they are written and not at the commit.
///
/// # Errors
/// `OutOfRange`, naming the column.
pub(crate) fn check_values<'v>(
    table: &TableSchema,
    value: impl Fn(usize) -> ValueRef<'v>,
) -> Result<()> {
    for (place, column) in table.columns().iter().enumerate() {
        let checked = match (column.ty, value(place)) {
            (Type::Date | Type::Time | Type::DateTime | Type::Timestamp, ValueRef::Int(number)) => {
                date_time(column.ty, number, true).map(drop)
            }
            (_, ValueRef::Float(number)) => finite(number),
            _ => Ok(()),
        };
        checked.map_err(|error| {
            error.in_table(table.name().to_owned()).in_column(column.name.clone())
        })?;
    }
    Ok(())
}

/// The value of a column of a type.
///
/// # Errors
/// `OutOfRange`, `TooLong` for a value that Access has no room for; `Unsupported` for a field that is only read.
pub(super) fn new_value(
    column: &ColumnEntry,
    ty: Type,
    value: ValueRef<'_>,
    is_described: bool,
) -> Result<NewValue> {
    let bytes = match value {
        ValueRef::Null => return Ok(NewValue::Null),
        ValueRef::Int(0) if column.kind() == YES_NO => return Ok(NewValue::Null),
        ValueRef::Int(number) if column.kind() == DATE_TIME => date_time(ty, number, is_described)?,
        ValueRef::Int(number) => integer(column, ty, number)?,
        ValueRef::Float(number) => float(column, number)?,
        ValueRef::Text(text) if column.kind() == LONG_TEXT => {
            return long(text_bytes(text, column.is_compressed()));
        }
        ValueRef::Text(text) => short_text(column, text)?,
        ValueRef::Bytes(bytes) if column.kind() == LONG_BINARY => return long(bytes.to_vec()),
        ValueRef::Bytes(bytes) => short_bytes(column, bytes)?,
    };
    Ok(NewValue::Short(bytes))
}

fn integer(column: &ColumnEntry, ty: Type, number: i64) -> Result<Vec<u8>> {
    let beyond = |_| out_of_range(&number.to_string());
    Ok(match column.kind() {
        YES_NO => Vec::new(),
        BYTE => u8::try_from(number).map_err(beyond)?.to_le_bytes().to_vec(),
        INTEGER => i16::try_from(number).map_err(beyond)?.to_le_bytes().to_vec(),
        LONG => i32::try_from(number).map_err(beyond)?.to_le_bytes().to_vec(),
        LARGE_NUMBER | MONEY => number.to_le_bytes().to_vec(),
        DECIMAL => decimal(column, ty, number)?,
        _ => return Err(damaged()),
    })
}

/// A sign, and the digits in groups of four bytes, the largest first.
fn decimal(column: &ColumnEntry, ty: Type, number: i64) -> Result<Vec<u8>> {
    let own_scale = if ty == Type::Currency { AMOUNT_SCALE } else { 0 };
    let beyond = || out_of_range(&format!("{number} of 1/{}", 10_u32.pow(own_scale)));
    let mut digits = u128::from(number.unsigned_abs());
    match u32::from(column.scale()).checked_sub(own_scale) {
        Some(more) => {
            let factor = 10_u128.checked_pow(more).ok_or_else(beyond)?;
            digits = digits.checked_mul(factor).ok_or_else(beyond)?;
        }
        None => {
            let factor = 10_u128.pow(own_scale - u32::from(column.scale()));
            if digits % factor != 0 {
                return Err(beyond());
            }
            digits /= factor;
        }
    }
    let precision = column.raw.get(11).copied().unwrap_or_default();
    if digits >= 10_u128.checked_pow(precision.into()).unwrap_or(u128::MAX) {
        return Err(beyond());
    }
    let groups = digits.to_be_bytes();
    let groups = groups.chunks_exact(4).flat_map(|group| group.iter().rev().copied());
    Ok([u8::from(number < 0) * 0x80].into_iter().chain(groups).collect())
}

/// The float of a date or time. Microseconds are read only in tables that Bobak described.
fn date_time(ty: Type, number: i64, is_described: bool) -> Result<Vec<u8>> {
    let reject = || {
        let message = "Access's dates are in the years 100 to 9999, exact to a millisecond, and in tables that Bobak created, to a \
                       microsecond from 1721 to 2079: this value is not";
        Error::new(ErrorKind::OutOfRange, message)
    };
    let days = to_days(ty, number).ok_or_else(reject)?;
    let is_exact = is_described || ty == Type::Date || number % 1_000 == 0;
    match is_exact && exact_micros(ty, days) == Some(number) {
        true => Ok(days.to_le_bytes().to_vec()),
        false => Err(reject()),
    }
}

fn finite(number: f64) -> Result<()> {
    match number.is_finite() {
        true => Ok(()),
        false => Err(out_of_range(&format!("the float {number}"))),
    }
}

fn float(column: &ColumnEntry, number: f64) -> Result<Vec<u8>> {
    finite(number)?;
    match column.kind() {
        #[expect(clippy::cast_possible_truncation, reason = "a value of a column of f32")]
        SINGLE => Ok((number as f32).to_le_bytes().to_vec()),
        DOUBLE => Ok(number.to_le_bytes().to_vec()),
        _ => Err(damaged()),
    }
}

fn short_text(column: &ColumnEntry, text: &str) -> Result<Vec<u8>> {
    if column.kind() != TEXT {
        return Err(damaged());
    }
    let (units, room) = (text.encode_utf16().count(), column.length() / 2);
    if units > room {
        let message = format!(
            "the text has {units} UTF-16 units, and Access's field has room for {room}: a text in a key or an index has \
             at most 255"
        );
        return Err(Error::new(ErrorKind::TooLong, message));
    }
    Ok(text_bytes(text, column.is_compressed()))
}

fn short_bytes(column: &ColumnEntry, bytes: &[u8]) -> Result<Vec<u8>> {
    match column.kind() {
        GUID => Ok(guid_in_order(bytes)?.to_vec()),
        BINARY if bytes.len() <= column.length() => Ok(bytes.to_vec()),
        BINARY => {
            let message = format!(
                "the value has {} bytes, and Access's field has room for {}: bytes in a key or an index have at most 255",
                bytes.len(),
                column.length()
            );
            Err(Error::new(ErrorKind::TooLong, message))
        }
        _ => Err(damaged()),
    }
}

fn long(bytes: Vec<u8>) -> Result<NewValue> {
    match bytes.len() <= MAX_LONG && as_long(bytes.len()).is_ok() {
        true => Ok(NewValue::Long(bytes)),
        false => Err(Error::new(ErrorKind::TooLong, "a value of Access has at most 1 GB")),
    }
}

#[cold]
fn out_of_range(what: &str) -> Error {
    Error::new(ErrorKind::OutOfRange, format!("Access's field has no room for {what}"))
}
