//! Bobak's values as the server takes and gives them.
//!
//! A prepared statement says of what type each of its parameters and columns is; so nothing here depends on how a table was
//! declared, and tables of other programs work, too.

use crate::wire::{Cell, FieldDescription, ReceivedRows, SentValue, sql_type};
use bobak_core::{Currency, Error, ErrorKind, Result, Type, ValueRef};
use bobak_engine_common::{ServerRow, ServerValue, calendar};

pub(crate) use bobak_engine_common::is_text;

/// The day 1970-01-01, in days since 1858-11-17.
const EPOCH: i64 = 40_587;
/// The server's name in messages.
pub(crate) const SERVER: &str = "Firebird";
const DAY: i64 = 86_400_000_000;
/// The longest value that goes with its row; a longer one is a BLOB that goes before.
pub(crate) const INLINE: usize = 8_000;
/// The decimals of money.
const MONEY: i32 = 4;

#[cold]
fn out_of_range(message: String) -> Error {
    Error::new(ErrorKind::OutOfRange, message)
}

/// A value as a parameter of a statement takes it. A long text or bytes for a BLOB are left for the caller: `SentValue::Text` and
/// `SentValue::Bytes` of more than [`INLINE`] bytes.
///
/// # Errors
/// `OutOfRange`, `Mismatch`, `TooLong`, `Unsupported` for a value that the server's column does not have.
pub(crate) fn encode<'v>(
    ty: Type,
    to: &FieldDescription,
    value: ValueRef<'v>,
) -> Result<SentValue<'v>> {
    let is_octets = to.is_octets();
    match (to.ty, value) {
        (_, ValueRef::Null) => Ok(SentValue::Null),
        (sql_type::TEXT | sql_type::VARYING, ValueRef::Text(text)) => {
            check_text(text)?;
            check_length(to, text.len(), || text.chars().count())?;
            Ok(if is_octets { SentValue::Bytes(text.as_bytes()) } else { SentValue::Text(text) })
        }
        (sql_type::TEXT | sql_type::VARYING, ValueRef::Bytes(bytes)) => {
            check_length(to, bytes.len(), || bytes.len())?;
            Ok(SentValue::Bytes(bytes))
        }
        (sql_type::BLOB, ValueRef::Text(text)) => {
            check_text(text)?;
            Ok(SentValue::Text(text))
        }
        (sql_type::BLOB, ValueRef::Bytes(bytes)) => Ok(SentValue::Bytes(bytes)),
        (_, ValueRef::Int(integer)) => encode_integer(ty, to, integer),
        (ty, ValueRef::Float(float)) if ty != sql_type::BLOB => match float.is_finite() {
            true => Ok(SentValue::Double(float)),
            false => Err(out_of_range(format!("Firebird cannot store {float}"))),
        },
        // Texts that the server converts: a date of SQL text, digits of a long decimal.
        (_, ValueRef::Text(text)) => {
            check_text(text)?;
            Ok(SentValue::Text(text))
        }
        (_, value) => Err(Error::mismatch(ty.name(), value)),
    }
}

fn encode_integer(ty: Type, to: &FieldDescription, integer: i64) -> Result<SentValue<'static>> {
    match to.ty {
        sql_type::FLOAT | sql_type::DOUBLE if ty != Type::Currency => {
            Ok(SentValue::Double(integer as f64))
        }
        sql_type::BOOLEAN => match integer {
            0 | 1 => Ok(SentValue::Bool(integer == 1)),
            _ => Err(out_of_range(format!("{integer} is no truth value"))),
        },
        sql_type::SHORT | sql_type::LONG | sql_type::INT64 | sql_type::INT128 => {
            integer_for(ty, to, integer)
        }
        sql_type::DATE => day(integer).map(SentValue::Date),
        sql_type::TIME | sql_type::TIMESTAMP => moment(to.ty, integer),
        _ => Err(Error::mismatch(ty.name(), ValueRef::Int(integer))),
    }
}

pub(crate) fn check_text(text: &str) -> Result<()> {
    if text.contains('\0') {
        return Err(Error::new(ErrorKind::Unsupported, "Firebird's texts have no NUL characters"));
    }
    Ok(())
}

fn check_length(to: &FieldDescription, bytes: usize, chars: impl FnOnce() -> usize) -> Result<()> {
    let limit = usize::try_from(to.length).unwrap_or(0);
    // UTF-8 has four bytes for each character of the declared length.
    if to.is_octets() && bytes <= limit
        || !to.is_octets() && (bytes <= limit / 4 || chars() <= limit / 4)
    {
        return Ok(());
    }
    let message =
        format!("the value has {bytes} bytes, and the column in Firebird at most {limit}");
    Err(Error::new(ErrorKind::TooLong, message))
}

/// An integer, or an amount of money, for a number with decimals.
fn integer_for(ty: Type, to: &FieldDescription, integer: i64) -> Result<SentValue<'static>> {
    let decimals = -to.scale;
    let given = if ty == Type::Currency { MONEY } else { 0 };
    let most = match to.ty {
        sql_type::SHORT => i64::from(i16::MAX),
        sql_type::LONG => i64::from(i32::MAX),
        _ => i64::MAX,
    };
    let power = |count: i32| 10_i64.checked_pow(u32::try_from(count).unwrap_or(0));
    let scaled = match given - decimals {
        missing if missing > 0 => {
            let unit = power(missing).unwrap_or(i64::MAX);
            (integer % unit == 0).then_some(integer / unit)
        }
        more => power(-more).and_then(|unit| integer.checked_mul(unit)),
    };
    match (scaled, u8::try_from(decimals)) {
        (Some(scaled), Ok(decimals)) if scaled <= most && scaled >= -most - 1 => {
            Ok(SentValue::Int(scaled, decimals))
        }
        _ => Err(out_of_range(format!("the value does not fit a number with {decimals} decimals"))),
    }
}

fn day(days: i64) -> Result<i32> {
    calendar::check_day(days, SERVER)?;
    i32::try_from(days + EPOCH).map_err(|_| out_of_range(format!("there is no day {days}")))
}

/// A moment for a type of ten-thousandths of a second, as tables of other programs have it.
fn moment(ty: i32, micros: i64) -> Result<SentValue<'static>> {
    if micros % 100 != 0 {
        let message =
            "Firebird's times have ten-thousandths of a second: the value has more digits";
        return Err(out_of_range(message.to_owned()));
    }
    let (date, time) = calendar::texts_of(Type::DateTime, micros, SERVER)?;
    let time = time.get(..13).unwrap_or_default();
    Ok(SentValue::Made(match ty {
        sql_type::TIME => time.to_owned(),
        _ => format!("{date} {time}"),
    }))
}

/// What a column of a result is to Bobak, if no schema says it.
pub(crate) fn result_type(column: &FieldDescription) -> Type {
    match column.ty {
        sql_type::SHORT | sql_type::LONG | sql_type::INT64 => match -column.scale {
            0 => Type::I64,
            1..=MONEY => Type::Currency,
            _ => Type::Decimal,
        },
        sql_type::INT128 => match (column.subtype, -column.scale) {
            // Not declared with a precision: a sum of integers.
            (0, 0) => Type::I64,
            (_, 1..=MONEY) => Type::Currency,
            _ => Type::Decimal,
        },
        sql_type::FLOAT | sql_type::DOUBLE => Type::F64,
        sql_type::BOOLEAN => Type::Bool,
        sql_type::DATE => Type::Date,
        sql_type::TIME => Type::Time,
        sql_type::TIMESTAMP => Type::DateTime,
        sql_type::TEXT | sql_type::VARYING if column.is_octets() => Type::Bytes,
        sql_type::BLOB if column.subtype != 1 => Type::Bytes,
        _ => Type::Text,
    }
}

/// Rows of a result, with the types of its columns if a schema says them.
pub(crate) fn result_row(described: &[FieldDescription], types: Option<&[Type]>) -> ServerRow {
    let column = |column: &FieldDescription| {
        (crate::names::swap_case(&column.name).into_owned(), result_type(column))
    };
    ServerRow::described(described.iter().map(column), types)
}

/// Takes the row at this place of those that have arrived, with the next of the BLOBs that were read.
///
/// # Errors
/// `OutOfRange`, `Corrupt` for a value that its column's type does not have.
pub(crate) fn read_row(
    view: &mut ServerRow,
    rows: &ReceivedRows,
    row: usize,
    described: &[FieldDescription],
    blobs: &mut Blobs,
) -> Result<()> {
    view.begin(&[]);
    let width = described.len();
    let cells = rows.cells.get(row * width..(row + 1) * width).unwrap_or_default();
    let mut cells = cells.iter().zip(described);
    cells
        .try_for_each(|(cell, from)| view.push(|view, ty| show(view, *cell, from, ty, rows, blobs)))
}

fn show(
    view: &mut ServerRow,
    cell: Cell,
    from: &FieldDescription,
    ty: Type,
    rows: &ReceivedRows,
    blobs: &mut Blobs,
) -> Result<ServerValue> {
    Ok(match cell {
        Cell::Null => ServerValue::Null,
        Cell::Int(integer) => number(view, integer, -from.scale, ty)?,
        Cell::Double(float) if ty == Type::Currency => {
            ServerValue::Int(Currency::from_f64(float)?.scaled())
        }
        Cell::Double(float) => ServerValue::Float(float),
        Cell::Bool(truth) => ServerValue::Int(i64::from(truth)),
        Cell::Date(days) => ServerValue::Int(i64::from(days) - EPOCH),
        Cell::Time(parts) => ServerValue::Int(parts * 100),
        Cell::Timestamp(days, parts) => {
            ServerValue::Int((i64::from(days) - EPOCH) * DAY + parts * 100)
        }
        Cell::Bytes(start, end) => {
            let bytes = rows.bytes.get(start..end).unwrap_or_default();
            match ty {
                Type::I64 | Type::Currency if from.ty == sql_type::INT128 => {
                    large_number(bytes, ty)?
                }
                _ => text_or_bytes(view, bytes, ty)?,
            }
        }
        Cell::Blob(_) => text_or_bytes(view, blobs.next(), ty)?,
    })
}

/// A number with decimals, as its type has it.
fn number(view: &mut ServerRow, integer: i64, decimals: i32, ty: Type) -> Result<ServerValue> {
    let power = |count: i32| 10_i64.checked_pow(u32::try_from(count).unwrap_or(0));
    match ty {
        Type::Currency => {
            let scaled = power(MONEY - decimals).and_then(|unit| integer.checked_mul(unit));
            let too_large = || out_of_range("the amount is beyond Bobak's money".to_owned());
            scaled.map(ServerValue::Int).ok_or_else(too_large)
        }
        Type::F64 | Type::F32 => Ok(ServerValue::Float(integer as f64 / 10_f64.powi(decimals))),
        _ if decimals == 0 && ty != Type::Text && ty != Type::Decimal => {
            Ok(ServerValue::Int(integer))
        }
        _ => Ok(view.number_text(integer.into(), usize::try_from(decimals).unwrap_or(0))),
    }
}

/// An integer or an amount of the digits of a number with 128 bits.
fn large_number(digits: &[u8], ty: Type) -> Result<ServerValue> {
    let text = String::from_utf8_lossy(digits);
    let integer = match ty {
        Type::Currency => text.parse().map(Currency::scaled).ok(),
        _ => text.parse().ok(),
    };
    let too_large = || out_of_range(format!("{text} is beyond the type {}", ty.name()));
    integer.map(ServerValue::Int).ok_or_else(too_large)
}

/// Bytes, or the text that they are.
fn text_or_bytes(view: &mut ServerRow, bytes: &[u8], ty: Type) -> Result<ServerValue> {
    let (start, end) = view.append(bytes);
    match ty {
        Type::Bytes | Type::Uuid | Type::Vector(_) => Ok(ServerValue::Bytes(start, end)),
        _ => view.text(start, end, ty),
    }
}

/// The contents of BLOBs, in the order in which rows name them.
#[derive(Debug, Default)]
pub(crate) struct Blobs {
    pub bytes: Vec<u8>,
    pub ends: Vec<usize>,
    at: usize,
}

impl Blobs {
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
        self.at = 0;
    }

    fn next(&mut self) -> &[u8] {
        let end = |at: usize| self.ends.get(at).copied().unwrap_or(0);
        let start = if self.at == 0 { 0 } else { end(self.at - 1) };
        let range = start..end(self.at);
        self.at += 1;
        self.bytes.get(range).unwrap_or_default()
    }
}
