//! Bobak's values in the server's binary form, and back.
//!
//! | server | Bobak |
//! |---|---|
//! | `numeric(19,4)` | an integer, the amount times 10,000 |
//! | `date` | days since 1970-01-01 (the server counts from 2000-01-01) |
//! | `time`, `timestamp`, `timestamptz` | microseconds, since midnight or since 1970-01-01 |
//!
//! Instants (`timestamptz`) are UTC on the connection in both directions, whatever zone the session or the
//! server is set to: no conversion by zone takes place anywhere.

use super::numeric::{decode_money, encode_money, is_money, trimmed};
use bobak_core::{Error, ErrorKind, Result, ValueRef};

/// Types that are known by their number.
pub(crate) mod oid {
    pub const BOOL: u32 = 16;
    pub const BYTEA: u32 = 17;
    pub const NAME: u32 = 19;
    pub const INT8: u32 = 20;
    pub const INT2: u32 = 21;
    pub const INT4: u32 = 23;
    pub const TEXT: u32 = 25;
    pub const OID: u32 = 26;
    pub const JSON: u32 = 114;
    pub const FLOAT4: u32 = 700;
    pub const FLOAT8: u32 = 701;
    pub const UNKNOWN: u32 = 705;
    pub const BPCHAR: u32 = 1042;
    pub const VARCHAR: u32 = 1043;
    pub const DATE: u32 = 1082;
    pub const TIME: u32 = 1083;
    pub const TIMESTAMP: u32 = 1114;
    pub const TIMESTAMPTZ: u32 = 1184;
    pub const NUMERIC: u32 = 1700;
    pub const UUID: u32 = 2950;
    pub const JSONB: u32 = 3802;
}

/// Days from 1970-01-01 to 2000-01-01.
const DAYS: i64 = 10_957;
/// The same in microseconds.
const MICROS: i64 = DAYS * 86_400_000_000;
/// The days that a `date` can be, from 4713 BC on, counted from 2000-01-01.
const DATE_RANGE: std::ops::Range<i64> = -2_451_545..2_145_031_949;
/// The microseconds that a `timestamp` can be, counted from 2000-01-01.
const TIME_RANGE: std::ops::Range<i64> = -211_813_488_000_000_000..9_223_371_331_200_000_000;

/// What is done with a value outside a type's range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outside {
    /// It is rejected: it would be stored.
    Rejected,
    /// It becomes the type's infinity: it is only compared with.
    Infinite,
}

/// Whether a type's values go in the binary form.
pub(crate) const fn is_binary(oid: u32) -> bool {
    use oid::{
        BOOL, BPCHAR, BYTEA, DATE, FLOAT4, FLOAT8, INT2, INT4, INT8, JSON, JSONB, NAME, NUMERIC,
        OID, TEXT, TIME, TIMESTAMP, TIMESTAMPTZ, UNKNOWN, UUID, VARCHAR,
    };
    matches!(
        oid,
        BOOL | BPCHAR
            | BYTEA
            | DATE
            | FLOAT4
            | FLOAT8
            | INT2
            | INT4
            | INT8
            | JSON
            | JSONB
            | NAME
            | NUMERIC
            | OID
            | TEXT
            | TIME
            | TIMESTAMP
            | TIMESTAMPTZ
            | UNKNOWN
            | UUID
            | VARCHAR
    )
}

/// The type of arrays of a type that goes in the binary form.
pub(crate) const fn array_of(oid: u32) -> Option<u32> {
    Some(match oid {
        oid::BOOL => 1000,
        oid::BYTEA => 1001,
        oid::INT8 => 1016,
        oid::INT2 => 1005,
        oid::INT4 => 1007,
        oid::TEXT => 1009,
        oid::JSON => 199,
        oid::FLOAT4 => 1021,
        oid::FLOAT8 => 1022,
        oid::BPCHAR => 1014,
        oid::VARCHAR => 1015,
        oid::DATE => 1182,
        oid::TIME => 1183,
        oid::TIMESTAMP => 1115,
        oid::TIMESTAMPTZ => 1185,
        oid::NUMERIC => 1231,
        oid::UUID => 2951,
        oid::JSONB => 3807,
        _ => return None,
    })
}

pub(crate) const fn is_text(oid: u32) -> bool {
    use oid::{BPCHAR, JSON, NAME, TEXT, UNKNOWN, VARCHAR};
    matches!(oid, BPCHAR | JSON | NAME | TEXT | UNKNOWN | VARCHAR)
}

/// Whether the value goes as text though its type has a binary form: the server reads it then.
pub(crate) const fn goes_as_text(value: ValueRef<'_>, oid: u32) -> bool {
    matches!(value, ValueRef::Text(_)) && !is_text(oid) && oid != oid::JSONB && oid != oid::BYTEA
}

/// Appends a value with its length.
///
/// # Errors
/// `OutOfRange` for what the type has not, `Unsupported` for a text with a NUL, `Mismatch` for
/// another class than the type's.
#[inline]
pub(crate) fn encode(
    out: &mut Vec<u8>,
    value: ValueRef<'_>,
    oid: u32,
    outside: Outside,
) -> Result<()> {
    match value {
        ValueRef::Null => out.extend_from_slice(&(-1_i32).to_be_bytes()),
        ValueRef::Int(integer) => return encode_integer(out, integer, oid, outside),
        ValueRef::Float(float) => return encode_float(out, float, oid),
        ValueRef::Text(text) => return encode_text(out, text.as_bytes(), oid),
        ValueRef::Bytes(bytes) if oid == oid::BYTEA => counted(out, bytes)?,
        ValueRef::Bytes(bytes) if oid == oid::UUID && bytes.len() == 16 => counted(out, bytes)?,
        ValueRef::Bytes(_) => return Err(mismatch("bytes", oid)),
    }
    Ok(())
}

/// A text's bytes, which are UTF-8.
#[inline]
pub(crate) fn encode_text(out: &mut Vec<u8>, text: &[u8], oid: u32) -> Result<()> {
    if text.contains(&0) {
        let message = "PostgreSQL cannot store a text with a NUL: use bytes";
        return Err(Error::new(ErrorKind::Unsupported, message));
    }
    if oid == oid::JSONB {
        let length = length(text.len() + 1)?;
        out.extend_from_slice(&length);
        out.push(1);
        out.extend_from_slice(text);
        return Ok(());
    }
    counted(out, text)
}

#[inline]
fn counted(out: &mut Vec<u8>, bytes: &[u8]) -> Result<()> {
    out.extend_from_slice(&length(bytes.len())?);
    out.extend_from_slice(bytes);
    Ok(())
}

fn length(bytes: usize) -> Result<[u8; 4]> {
    let length = i32::try_from(bytes).ok().filter(|length| *length < 1 << 30);
    let too_long =
        || Error::new(ErrorKind::Unsupported, "PostgreSQL cannot store a value over 1 GiB");
    length.map(i32::to_be_bytes).ok_or_else(too_long)
}

#[inline]
fn encode_integer(out: &mut Vec<u8>, integer: i64, oid: u32, outside: Outside) -> Result<()> {
    let fixed = |out: &mut Vec<u8>, bytes: &[u8]| {
        out.extend_from_slice(&(bytes.len() as i32).to_be_bytes());
        out.extend_from_slice(bytes);
    };
    let beyond = || outside_range(integer, oid);
    match oid {
        oid::INT8 => fixed(out, &integer.to_be_bytes()),
        oid::INT4 => fixed(out, &i32::try_from(integer).map_err(|_| beyond())?.to_be_bytes()),
        oid::INT2 => fixed(out, &i16::try_from(integer).map_err(|_| beyond())?.to_be_bytes()),
        oid::OID => fixed(out, &u32::try_from(integer).map_err(|_| beyond())?.to_be_bytes()),
        oid::BOOL if matches!(integer, 0 | 1) => fixed(out, &[integer as u8]),
        oid::NUMERIC => encode_money(out, integer),
        oid::DATE => {
            let days = integer.saturating_sub(DAYS);
            let days = match (DATE_RANGE.contains(&days), outside) {
                (true, _) => i32::try_from(days).map_err(|_| beyond())?,
                (false, Outside::Rejected) => return Err(beyond()),
                (false, Outside::Infinite) if days < 0 => i32::MIN,
                (false, Outside::Infinite) => i32::MAX,
            };
            fixed(out, &days.to_be_bytes());
        }
        oid::TIMESTAMP | oid::TIMESTAMPTZ => {
            let micros = integer.saturating_sub(MICROS);
            let micros = match (TIME_RANGE.contains(&micros), outside) {
                (true, _) => micros,
                (false, Outside::Rejected) => return Err(beyond()),
                (false, Outside::Infinite) if micros < 0 => i64::MIN,
                (false, Outside::Infinite) => i64::MAX,
            };
            fixed(out, &micros.to_be_bytes());
        }
        oid::TIME if (0..86_400_000_000).contains(&integer) => fixed(out, &integer.to_be_bytes()),
        oid::FLOAT8 => fixed(out, &(integer as f64).to_be_bytes()),
        oid::FLOAT4 => fixed(out, &(integer as f32).to_be_bytes()),
        oid::BOOL | oid::TIME => return Err(beyond()),
        _ if is_text(oid) => counted(out, integer.to_string().as_bytes())?,
        _ => return Err(mismatch("integer", oid)),
    }
    Ok(())
}

fn encode_float(out: &mut Vec<u8>, float: f64, oid: u32) -> Result<()> {
    match oid {
        oid::FLOAT8 => counted(out, &float.to_be_bytes()),
        oid::FLOAT4 => {
            let narrow = float as f32;
            if narrow.is_infinite() && float.is_finite() {
                return Err(outside_range(float, oid));
            }
            counted(out, &narrow.to_be_bytes())
        }
        oid::INT2 | oid::INT4 | oid::INT8
            if float.fract() == 0.0 && float.abs() < 9_007_199_254_740_992.0 =>
        {
            encode_integer(out, float as i64, oid, Outside::Rejected)
        }
        oid::NUMERIC if (float * 10_000.0).fract() == 0.0 && float.abs() < 9e11 => {
            encode_money(out, (float * 10_000.0) as i64);
            Ok(())
        }
        _ if is_text(oid) => counted(out, format!("{float:?}").as_bytes()),
        _ => Err(mismatch("float", oid)),
    }
}

#[cold]
fn outside_range(value: impl std::fmt::Display, oid: u32) -> Error {
    let message = format!("{value} is not a valid value of the server's type {}", name(oid));
    Error::new(ErrorKind::OutOfRange, message)
}

#[cold]
fn mismatch(class: &str, oid: u32) -> Error {
    let message = format!("{class} where the server's column is of type {}", name(oid));
    Error::new(ErrorKind::Mismatch, message)
}

fn name(oid: u32) -> String {
    let name = match oid {
        oid::BOOL => "boolean",
        oid::BYTEA => "bytea",
        oid::INT8 => "bigint",
        oid::INT2 => "smallint",
        oid::INT4 => "integer",
        oid::TEXT => "text",
        oid::JSON => "json",
        oid::FLOAT4 => "real",
        oid::FLOAT8 => "double precision",
        oid::BPCHAR => "char",
        oid::VARCHAR => "varchar",
        oid::DATE => "date",
        oid::TIME => "time",
        oid::TIMESTAMP => "timestamp",
        oid::TIMESTAMPTZ => "timestamptz",
        oid::NUMERIC => "numeric",
        oid::UUID => "uuid",
        oid::JSONB => "jsonb",
        _ => return format!("number {oid}"),
    };
    name.to_owned()
}

/// How the bytes of a column are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ColumnFormat {
    Bool,
    Int2,
    Int4,
    Int8,
    Oid,
    Float4,
    Float8,
    Text,
    Jsonb,
    Bytes,
    /// A `numeric` that Bobak's money can keep, such as `numeric(19,4)`: the amount times 10,000.
    Money,
    /// Any other `numeric`, received as text: its digits.
    Numeric,
    Date,
    Time,
    Timestamp,
}

impl ColumnFormat {
    /// The kind of a type; what is not known comes as text.
    pub fn of(oid: u32, modifier: i32) -> Self {
        match oid {
            oid::BOOL => Self::Bool,
            oid::INT2 => Self::Int2,
            oid::INT4 => Self::Int4,
            oid::INT8 => Self::Int8,
            oid::OID => Self::Oid,
            oid::FLOAT4 => Self::Float4,
            oid::FLOAT8 => Self::Float8,
            oid::JSONB => Self::Jsonb,
            oid::BYTEA | oid::UUID => Self::Bytes,
            oid::NUMERIC if is_money(modifier) => Self::Money,
            oid::NUMERIC => Self::Numeric,
            oid::DATE => Self::Date,
            oid::TIME => Self::Time,
            oid::TIMESTAMP | oid::TIMESTAMPTZ => Self::Timestamp,
            _ => Self::Text,
        }
    }

    /// A value's bytes as Bobak's value; NULL for bytes that are none of the kind.
    #[inline]
    pub fn decode(self, bytes: &[u8]) -> ValueRef<'_> {
        match self {
            Self::Int8 => fixed(bytes, |b| ValueRef::Int(i64::from_be_bytes(b))),
            Self::Text => match std::str::from_utf8(bytes) {
                Ok(text) => ValueRef::Text(text),
                Err(_) => ValueRef::Null,
            },
            Self::Int4 => fixed(bytes, |b| ValueRef::Int(i32::from_be_bytes(b).into())),
            Self::Int2 => fixed(bytes, |b| ValueRef::Int(i16::from_be_bytes(b).into())),
            Self::Timestamp => fixed(bytes, |b| {
                ValueRef::Int(match i64::from_be_bytes(b) {
                    infinity @ (i64::MIN | i64::MAX) => infinity,
                    micros => micros.saturating_add(MICROS),
                })
            }),
            Self::Money => decode_money(bytes).map_or(ValueRef::Null, ValueRef::Int),
            Self::Date => fixed(bytes, |b| {
                ValueRef::Int(match i32::from_be_bytes(b) {
                    i32::MIN => i64::MIN,
                    i32::MAX => i64::MAX,
                    days => i64::from(days) + DAYS,
                })
            }),
            Self::Time => fixed(bytes, |b| ValueRef::Int(i64::from_be_bytes(b))),
            Self::Float8 => fixed(bytes, |b| ValueRef::Float(f64::from_be_bytes(b))),
            Self::Float4 => fixed(bytes, |b| ValueRef::Float(f32::from_be_bytes(b).into())),
            Self::Bool => fixed(bytes, |b: [u8; 1]| ValueRef::Int(i64::from(b != [0]))),
            Self::Oid => fixed(bytes, |b| ValueRef::Int(u32::from_be_bytes(b).into())),
            Self::Bytes => ValueRef::Bytes(bytes),
            Self::Jsonb => Self::Text.decode(bytes.get(1..).unwrap_or_default()),
            Self::Numeric => trimmed(bytes).map_or(ValueRef::Null, ValueRef::Text),
        }
    }
}

#[inline]
fn fixed<'a, const N: usize>(
    bytes: &[u8],
    value: impl FnOnce([u8; N]) -> ValueRef<'a>,
) -> ValueRef<'a> {
    bytes.try_into().map_or(ValueRef::Null, value)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// An integer as the value of a column of this type.
    pub(in crate::protocol) fn coded(value: i64, oid: u32) -> Vec<u8> {
        let mut out = Vec::new();
        encode(&mut out, ValueRef::Int(value), oid, Outside::Rejected).unwrap();
        out.split_off(4)
    }

    #[test]
    fn times_are_counted_from_2000() {
        assert_eq!(coded(10_957, oid::DATE), [0; 4]);
        assert_eq!(ColumnFormat::Date.decode(&coded(-719_162, oid::DATE)), ValueRef::Int(-719_162));
        let bytes = coded(0, oid::TIMESTAMPTZ);
        assert_eq!(ColumnFormat::Timestamp.decode(&bytes), ValueRef::Int(0));
        let mut out = Vec::new();
        for oid in [oid::DATE, oid::TIMESTAMP] {
            let far = ValueRef::Int(i64::MIN);
            let rejected = encode(&mut out, far, oid, Outside::Rejected).map_err(|e| e.kind());
            assert_eq!(rejected, Err(ErrorKind::OutOfRange));
            assert!(encode(&mut out, far, oid, Outside::Infinite).is_ok());
        }
    }
}
