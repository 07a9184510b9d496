//! Access's values in Bobak's stored form.

use crate::columns::AccessColumn;
use crate::dates::exact_micros;
use bobak_core::{Error, ErrorKind, Result, Type, Uuid, Value};
use jetdb::encoding::decode_text;

/// The digits after the point of an amount.
const AMOUNT_SCALE: usize = 4;
/// From 1899-12-30, Access's day 0, to 1970-01-01.
const DAYS_TO_1970: f64 = 25_569.0;
const MILLIS_PER_DAY: f64 = 86_400_000.0;

/// The value of a column.
///
/// # Errors
/// `OutOfRange` for a date that Bobak has not; `Corrupt` for a value that is not of the column's type.
pub(crate) fn stored(column: &AccessColumn, value: jetdb::Value) -> Result<Value<'static>> {
    use jetdb::Value as Found;
    let ty = column.schema.ty;
    Ok(match (value, ty) {
        (Found::Null, Type::Bool) if !column.schema.nullable => Value::Int(0),
        (Found::Null, _) => Value::Null,
        (Found::Bool(truth), _) => Value::Int(truth.into()),
        (Found::Byte(number), _) => Value::Int(number.into()),
        (Found::Int(number), _) => Value::Int(number.into()),
        (Found::Long(number), _) => Value::Int(number.into()),
        (Found::BigInt(number), _) => Value::Int(number),
        (Found::Float(number), _) => float(number.into())?,
        (Found::Double(number), _) => float(number)?,
        (Found::Numeric(number), ty) if column.is_described && ty != Type::Currency => {
            Value::Int(scaled(&number, 0)?)
        }
        (Found::Timestamp(days), ty) if column.is_described => Value::Int(
            exact_micros(ty, days).ok_or_else(|| out_of_range("a date of another kind"))?,
        ),
        (Found::Money(amount), _) => Value::Int(scaled(&amount, AMOUNT_SCALE)?),
        (Found::Numeric(number), Type::I64) => Value::Int(scaled(&number, 0)?),
        (Found::Numeric(number), Type::Currency) => Value::Int(scaled(&number, AMOUNT_SCALE)?),
        (Found::Numeric(text) | Found::Text(text), _) => Value::Text(text.into()),
        (Found::Binary(bytes), Type::Text) => fixed_text(column, &bytes)?,
        (Found::Binary(bytes), _) => Value::Bytes(bytes.into()),
        (Found::Timestamp(days), _) => Value::Int(microseconds(days)?),
        (Found::Guid(text), _) => guid(&text)?,
        (Found::DateTimeExtended(text), _) => exact_time(column, &text)?,
        (_, _) => return Err(Error::new(ErrorKind::Unsupported, "a value of an unknown type")),
    })
}

fn float(number: f64) -> Result<Value<'static>> {
    // Engines disagree about NaN, and Bobak has none.
    if number.is_nan() {
        Err(out_of_range("a float that is not a number"))
    } else {
        Ok(Value::Float(number))
    }
}

/// A number with a point as an integer, with so many digits after the point.
fn scaled(text: &str, scale: usize) -> Result<i64> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let digits = part.trim_end_matches('0');
    if digits.len() > scale {
        return Err(out_of_range(&format!("{text} with more than {scale} digits after the point")));
    }
    let number = format!("{whole}{digits:0<scale$}");
    number.parse().map_err(|_| out_of_range(&format!("{text}, which is too large")))
}

/// Days since 1899-12-30 in microseconds since 1970, to the millisecond: the day is a float, and has no more exact digits.
/// Before 1899-12-30 the time of day counts forwards all the same: -1.25 is 06:00 on 1899-12-29.
fn microseconds(days: f64) -> Result<i64> {
    let (day, time) = (days.trunc(), days.fract().abs());
    let millis = ((day - DAYS_TO_1970) * MILLIS_PER_DAY) + (time * MILLIS_PER_DAY).round();
    // The years 100 to 9999 of Access.
    if !(-60_000_000_000_000.0..260_000_000_000_000.0).contains(&millis) {
        return Err(out_of_range("a date after the year 9999, or before 100"));
    }
    #[expect(clippy::cast_possible_truncation, reason = "a whole number in the range above")]
    let whole = millis as i64;
    Ok(whole * 1_000)
}

/// `2021-06-14 22:45:12.3456789` in microseconds.
fn exact_time(column: &AccessColumn, text: &str) -> Result<Value<'static>> {
    let micros = "2021-06-14 22:45:12.345678".len();
    let (kept, rest) = text.split_at_checked(micros).unwrap_or((text, ""));
    if rest.contains(|digit| digit != '0') {
        return Err(out_of_range(&format!("{text}, which has more digits than microseconds")));
    }
    let time = if kept.contains(' ') { "" } else { " 00:00:00" };
    column.schema.accept(Value::Text(format!("{kept}{time}").replace(' ', "T").into()))
}

/// A text of fixed length, with its blanks at the end.
fn fixed_text(column: &AccessColumn, bytes: &[u8]) -> Result<Value<'static>> {
    let text = column.encoding.map(|encoding| decode_text(bytes, encoding));
    match text {
        Some(Ok(text)) => Ok(Value::Text(text.trim_end_matches('\0').to_owned().into())),
        _ => Err(Error::new(ErrorKind::Corrupt, "the text is damaged")),
    }
}

fn guid(text: &str) -> Result<Value<'static>> {
    let bare = text.trim_matches(['{', '}']);
    let uuid: Uuid = bare
        .parse()
        .map_err(|_| Error::new(ErrorKind::Corrupt, format!("'{text}' is not a GUID")))?;
    Ok(Value::Bytes(uuid.as_bytes().to_vec().into()))
}

#[cold]
fn out_of_range(what: &str) -> Error {
    Error::new(ErrorKind::OutOfRange, format!("Bobak cannot read {what}"))
}
