//! Values as the server takes them, and what its types are to Bobak.
//!
//! Oracle has neither empty texts nor empty bytes: it stores NULL. So Bobak stores the empty text as one NUL, and rejects other
//! texts with NUL. Of bytes that are all 0, or none, it stores one 0 more. Both keep the order of values.

use crate::driver::{BindKind, CellKind, OracleBind, OracleValue};
use bobak_core::{Error, ErrorKind, Result, Type, ValueRef};
use bobak_engine_common::calendar::check_day;
use bobak_engine_common::check_length;
use std::borrow::Cow;

pub(crate) use bobak_engine_common::is_text;

/// The text that stands for the empty one.
pub(crate) const EMPTY: &str = "\0";
/// The server's name in messages.
pub(crate) const SERVER: &str = "Oracle";
const DAY: i64 = 86_400_000_000;

/// A type in the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OracleType {
    /// An integer of at most so many digits, from one to another.
    Int(u8, i64, i64),
    Bool,
    Double,
    Money,
    Date,
    Time,
    Moment,
    Uuid,
    /// A text of so many characters.
    Text(u16),
    Clob,
    Json,
    Raw(u16),
    Blob,
}

impl OracleType {
    /// The type in a statement.
    pub(crate) fn name(self) -> String {
        match self {
            Self::Int(digits, ..) => format!("NUMBER({digits})"),
            Self::Bool => "NUMBER(1)".to_owned(),
            Self::Double => "BINARY_DOUBLE".to_owned(),
            Self::Money => "NUMBER(19,4)".to_owned(),
            Self::Date => "DATE".to_owned(),
            Self::Time => "INTERVAL DAY(1) TO SECOND(6)".to_owned(),
            Self::Moment => "TIMESTAMP(6)".to_owned(),
            Self::Uuid => "RAW(16)".to_owned(),
            Self::Text(chars) => format!("VARCHAR2({chars} CHAR)"),
            Self::Clob | Self::Json => "CLOB".to_owned(),
            Self::Raw(bytes) => format!("RAW({bytes})"),
            Self::Blob => "BLOB".to_owned(),
        }
    }

    /// Whether its values are outside the row: they are not compared, and not in indexes.
    pub(crate) const fn is_lob(self) -> bool {
        matches!(self, Self::Clob | Self::Json | Self::Blob)
    }

    /// What its values are bound as.
    pub(crate) const fn bind(self) -> BindKind {
        match self {
            Self::Int(..) | Self::Bool | Self::Money => BindKind::Number,
            Self::Double => BindKind::Double,
            Self::Date | Self::Moment => BindKind::Moment,
            Self::Time => BindKind::Span,
            Self::Text(_) | Self::Clob | Self::Json => BindKind::Text,
            Self::Uuid | Self::Raw(_) | Self::Blob => BindKind::Bytes,
        }
    }

    /// Its name in a message.
    const fn wanted(self) -> &'static str {
        match self {
            Self::Int(..) => "integer",
            Self::Bool => "bool",
            Self::Double => "float",
            Self::Money => "money",
            Self::Date => "date",
            Self::Time => "time",
            Self::Moment => "date and time",
            Self::Uuid => "UUID",
            Self::Text(_) | Self::Clob | Self::Json => "text",
            Self::Raw(_) | Self::Blob => "bytes",
        }
    }
}

#[cold]
fn out_of_range(message: String) -> Error {
    Error::new(ErrorKind::OutOfRange, message)
}

/// A value for a parameter that is compared with values of a type, or is one of SQL text.
///
/// # Errors
/// `OutOfRange`, `Mismatch`, `Unsupported` for a value that Oracle does not have.
pub(crate) fn parameter(ty: Type, value: ValueRef<'_>) -> Result<OracleBind<'_>> {
    let of = match (ty, value) {
        (_, ValueRef::Text(_)) => OracleType::Clob,
        (Type::Uuid, ValueRef::Bytes(_) | ValueRef::Null) => OracleType::Uuid,
        (_, ValueRef::Bytes(_)) | (Type::Bytes, ValueRef::Null) => OracleType::Blob,
        (_, ValueRef::Float(_)) | (Type::F32 | Type::F64, _) => OracleType::Double,
        (Type::Bool, _) => OracleType::Bool,
        (Type::Currency, _) => OracleType::Money,
        (Type::Date, _) => OracleType::Date,
        (Type::Time, _) => OracleType::Time,
        (Type::DateTime | Type::Timestamp, _) => OracleType::Moment,
        (ty, ValueRef::Null) if !ty.is_integer() => OracleType::Clob,
        _ => OracleType::Int(19, i64::MIN, i64::MAX),
    };
    encode(of, value)
}

/// A value as one of a type in the database.
///
/// # Errors
/// `OutOfRange`, `Mismatch`, `TooLong`, `Unsupported` for a value that the type does not have.
pub(crate) fn encode(ty: OracleType, value: ValueRef<'_>) -> Result<OracleBind<'_>> {
    let encoded = match (ty, value) {
        (_, ValueRef::Null) => OracleValue::Null,
        (OracleType::Text(_) | OracleType::Clob | OracleType::Json, ValueRef::Text(text)) => {
            encode_text(ty, text)?
        }
        (OracleType::Raw(_) | OracleType::Blob, ValueRef::Bytes(bytes)) => encode_bytes(ty, bytes)?,
        (OracleType::Uuid, ValueRef::Bytes(bytes)) if bytes.len() == 16 => {
            OracleValue::Bytes(bytes.into())
        }
        (OracleType::Double, ValueRef::Float(float)) => OracleValue::Float(float),
        (OracleType::Double, ValueRef::Int(integer)) => OracleValue::Float(integer as f64),
        (OracleType::Int(_, low, high), ValueRef::Int(integer)) => {
            if !(low..=high).contains(&integer) {
                return Err(out_of_range(format!("{integer} is not from {low} to {high}")));
            }
            OracleValue::Int(integer)
        }
        (OracleType::Bool, ValueRef::Int(integer @ (0 | 1))) => OracleValue::Int(integer),
        (OracleType::Bool, ValueRef::Int(integer)) => {
            return Err(out_of_range(format!("{integer} is no truth value")));
        }
        (OracleType::Money, ValueRef::Int(scaled)) => OracleValue::Amount(scaled),
        (OracleType::Date, ValueRef::Int(days)) => {
            check_day(days, SERVER)?;
            OracleValue::Int(days * DAY)
        }
        (OracleType::Time, ValueRef::Int(micros)) if (0..DAY).contains(&micros) => {
            OracleValue::Int(micros)
        }
        (OracleType::Time, ValueRef::Int(_)) => {
            return Err(out_of_range("a time of the day is less than 24 hours".to_owned()));
        }
        (OracleType::Moment, ValueRef::Int(micros)) => {
            check_day(micros.div_euclid(DAY), SERVER)?;
            OracleValue::Int(micros)
        }
        (ty, value) => return Err(Error::mismatch(ty.wanted(), value)),
    };
    Ok((ty.bind(), encoded))
}

fn encode_text(ty: OracleType, text: &str) -> Result<OracleValue<'_>> {
    check_text(text)?;
    // A text has no more characters than bytes.
    if let OracleType::Text(limit) = ty
        && text.len() > limit.into()
    {
        check_length(text.chars().count(), limit.into(), ("characters", SERVER))?;
    }
    Ok(OracleValue::Text(if text.is_empty() { EMPTY } else { text }.into()))
}

fn encode_bytes(ty: OracleType, bytes: &[u8]) -> Result<OracleValue<'_>> {
    if let OracleType::Raw(limit) = ty {
        check_length(bytes.len(), limit.into(), ("bytes", SERVER))?;
    }
    Ok(OracleValue::Bytes(stored_bytes(bytes)))
}

/// Bytes as they are stored: if they are all 0, or none, with one 0 more.
pub(crate) fn stored_bytes(bytes: &[u8]) -> Cow<'_, [u8]> {
    match bytes.iter().all(|byte| *byte == 0) {
        true => vec![0; bytes.len() + 1].into(),
        false => bytes.into(),
    }
}

/// Bytes as they were, from how they are stored.
pub(crate) fn shown_bytes(stored: &[u8]) -> &[u8] {
    match stored.split_first() {
        Some((0, rest)) if rest.iter().all(|byte| *byte == 0) => rest,
        _ => stored,
    }
}

/// Rejects a text with NUL.
///
/// # Errors
/// `Unsupported`.
pub(crate) fn check_text(text: &str) -> Result<()> {
    if text.contains('\0') {
        let message = "on Oracle, texts have no NUL characters: the empty text is stored as one";
        return Err(Error::new(ErrorKind::Unsupported, message));
    }
    Ok(())
}

/// Whether a value can be one of a column's type.
pub(crate) fn fits(ty: Type, value: ValueRef<'_>) -> bool {
    parameter(ty, value).is_ok()
}

/// What a column of a result is to Bobak, if no schema says it.
pub(crate) const fn result_type(kind: CellKind) -> Type {
    match kind {
        CellKind::Number(1..=18, 0) => Type::I64,
        CellKind::Number(1..=19, 1..=4) => Type::Currency,
        // Of an expression, the server says neither precision nor scale.
        CellKind::Number(..) => Type::Decimal,
        CellKind::Foreign => Type::Any,
        CellKind::Float => Type::F64,
        CellKind::Text => Type::Text,
        CellKind::Raw(16) => Type::Uuid,
        CellKind::Raw(_) | CellKind::Bytes => Type::Bytes,
        CellKind::Date => Type::Date,
        CellKind::Moment => Type::DateTime,
        CellKind::Instant => Type::Timestamp,
        CellKind::Span => Type::Time,
        CellKind::Bool => Type::Bool,
    }
}
