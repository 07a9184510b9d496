//! Values as the server takes them, and what its types are to Bobak.

use crate::wire::{SentKind, TdsColumn, TdsValue};
use bobak_core::{Error, ErrorKind, Result, Type, ValueRef};
use bobak_engine_common::calendar::check_day;
use bobak_engine_common::check_length;

pub(crate) use bobak_engine_common::is_text;

/// The server's name in messages.
pub(crate) const SERVER: &str = "SQL Server";
const DAY: i64 = 86_400_000_000;
/// The units of a text with a length of its own.
const UNITS: usize = 4_000;
/// The bytes of a value with a length of its own.
const BYTES: usize = 8_000;

#[cold]
fn out_of_range(message: String) -> Error {
    Error::new(ErrorKind::OutOfRange, message)
}

/// A value for a parameter, and its type there.
///
/// # Errors
/// `OutOfRange`, `Mismatch`, `Unsupported` for a value that SQL Server does not have.
pub(crate) fn parameter(ty: Type, value: ValueRef<'_>) -> Result<(SentKind, TdsValue<'_>)> {
    let kind = match (ty, value) {
        (_, ValueRef::Text(text)) => SentKind::Text(short(text.encode_utf16().count(), UNITS)),
        (Type::Uuid, ValueRef::Bytes(_) | ValueRef::Null) => SentKind::Uuid,
        (_, ValueRef::Bytes(bytes)) => SentKind::Bytes(short(bytes.len(), BYTES)),
        (Type::Bytes, ValueRef::Null) => SentKind::Bytes(short(0, BYTES)),
        (_, ValueRef::Float(_)) => SentKind::Float,
        (Type::Bool, _) => SentKind::Bit,
        (Type::Currency, _) => SentKind::Money,
        (Type::Date, _) => SentKind::Date,
        (Type::Time, _) => SentKind::Time,
        (Type::DateTime | Type::Timestamp, _) => SentKind::Moment,
        (Type::F32 | Type::F64, _) => SentKind::Float,
        (ty, _) if ty.is_integer() => SentKind::Int(8),
        (_, ValueRef::Int(_)) => SentKind::Int(8),
        (_, ValueRef::Null) => SentKind::Text(short(0, UNITS)),
    };
    Ok((kind, encode(kind, value)?))
}

fn short(length: usize, limit: usize) -> Option<u16> {
    (length <= limit).then(|| u16::try_from(limit).ok()).flatten()
}

/// A value as one of a type that the server has.
///
/// # Errors
/// `OutOfRange`, `Mismatch`, `TooLong`, `Unsupported` for a value that the type does not have.
pub(crate) fn encode(kind: SentKind, value: ValueRef<'_>) -> Result<TdsValue<'_>> {
    Ok(match (kind, value) {
        (_, ValueRef::Null) => TdsValue::Null,
        (SentKind::Text(limit), ValueRef::Text(text)) => {
            check_text(text)?;
            // UTF-16 has no more units than UTF-8 has bytes.
            if let Some(limit) = limit.filter(|limit| text.len() > usize::from(*limit)) {
                check_length(
                    text.encode_utf16().count(),
                    limit.into(),
                    ("units of UTF-16", SERVER),
                )?;
            }
            TdsValue::Text(text)
        }
        (SentKind::Bytes(limit), ValueRef::Bytes(bytes)) => {
            if let Some(limit) = limit {
                check_length(bytes.len(), limit.into(), ("bytes", SERVER))?;
            }
            TdsValue::Bytes(bytes)
        }
        (SentKind::Uuid, ValueRef::Bytes(bytes)) if bytes.len() == 16 => TdsValue::Bytes(bytes),
        (SentKind::Float, ValueRef::Float(float)) if float.is_finite() => TdsValue::Float(float),
        (SentKind::Float, ValueRef::Float(float)) => {
            return Err(out_of_range(format!("SQL Server cannot store {float}")));
        }
        (SentKind::Float, ValueRef::Int(integer)) => TdsValue::Float(integer as f64),
        (SentKind::Int(bytes), ValueRef::Int(integer)) => {
            check_integer(bytes, integer)?;
            TdsValue::Int(integer)
        }
        (SentKind::Bit, ValueRef::Int(0 | 1)) => value_of_int(value),
        (SentKind::Bit, ValueRef::Int(integer)) => {
            return Err(out_of_range(format!("{integer} is no truth value")));
        }
        (SentKind::Money, ValueRef::Int(scaled)) => TdsValue::Int(scaled),
        (SentKind::Date, ValueRef::Int(days)) => {
            check_day(days, SERVER)?;
            TdsValue::Date(days)
        }
        (SentKind::Time, ValueRef::Int(micros)) if (0..DAY).contains(&micros) => {
            TdsValue::Time(micros)
        }
        (SentKind::Time, ValueRef::Int(_)) => {
            return Err(out_of_range("SQL Server's times are of one day".to_owned()));
        }
        (SentKind::Moment, ValueRef::Int(micros)) => {
            check_day(micros.div_euclid(DAY), SERVER)?;
            TdsValue::Moment(micros)
        }
        (kind, value) => return Err(Error::mismatch(wanted(kind), value)),
    })
}

fn value_of_int(value: ValueRef<'_>) -> TdsValue<'_> {
    if let ValueRef::Int(integer) = value { TdsValue::Int(integer) } else { TdsValue::Null }
}

/// The type's name in a message.
const fn wanted(kind: SentKind) -> &'static str {
    match kind {
        SentKind::Int(_) => "integer",
        SentKind::Bit => "bool",
        SentKind::Float => "float",
        SentKind::Money => "money",
        SentKind::Date => "date",
        SentKind::Time => "time",
        SentKind::Moment => "date and time",
        SentKind::Uuid => "UUID",
        SentKind::Text(_) => "text",
        SentKind::Bytes(_) => "bytes",
    }
}

fn check_integer(bytes: u8, integer: i64) -> Result<()> {
    let fits = match bytes {
        1 => u8::try_from(integer).is_ok(),
        2 => i16::try_from(integer).is_ok(),
        4 => i32::try_from(integer).is_ok(),
        _ => true,
    };
    let message = || out_of_range(format!("{integer} does not fit an integer of {bytes} bytes"));
    fits.then_some(()).ok_or_else(message)
}

/// Rejects a text with NUL.
///
/// # Errors
/// `Unsupported`.
pub(crate) fn check_text(text: &str) -> Result<()> {
    if text.contains('\0') {
        return Err(Error::new(
            ErrorKind::Unsupported,
            "SQL Server's texts have no NUL characters",
        ));
    }
    Ok(())
}

/// Whether a value can be one of a column's type.
pub(crate) fn fits(ty: Type, value: ValueRef<'_>) -> bool {
    parameter(ty, value).is_ok()
}

/// What a column of a result is to Bobak, if no schema says it.
pub(crate) fn result_type(column: &TdsColumn) -> Type {
    match (column.ty.id, column.ty.length) {
        (0x32 | 0x68, _) => Type::Bool,
        (0x30 | 0x34 | 0x38 | 0x7f | 0x26, _) => Type::I64,
        (0x3b | 0x3e | 0x6d, _) => Type::F64,
        (0x3c | 0x7a | 0x6e, _) => Type::Currency,
        (0x37 | 0x3f | 0x6a | 0x6c, _) => match column.ty.scale {
            0 | 5.. => Type::Decimal,
            _ => Type::Currency,
        },
        (0x24, _) => Type::Uuid,
        (0x28, _) => Type::Date,
        (0x29, _) => Type::Time,
        (0x2a | 0x3a | 0x3d | 0x6f, _) => Type::DateTime,
        (0x2b, _) => Type::Timestamp,
        (0x22 | 0xa5 | 0xad | 0xf0 | 0x25 | 0x2d, _) => Type::Bytes,
        _ => Type::Text,
    }
}
