//! Column types, and the five storage classes on which they are based.

mod currency;
mod currency_operators;
mod date_part;
mod enum_set;
mod json;
mod sql_literal;
mod time;
mod uuid;
mod vector;

pub use self::currency::Currency;
pub use self::date_part::{DatePart, DateUnit};
pub use self::enum_set::{EnumSet, SetMember};
pub use self::json::{Json, is_json};
pub use self::sql_literal::stored_literal;
pub use self::uuid::Uuid;
pub(crate) use self::uuid::new_v7;
pub use self::vector::{Vector, vector_bytes, vector_numbers};
pub(crate) use self::vector::{check_finite, check_length, check_vector};
pub use jiff::Timestamp;
pub use jiff::civil::{Date, DateTime, Time};

pub(crate) use self::time::{to_storage, to_text};
use std::fmt;

/// The type of a column, as declared by the record's field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Type {
    /// `bool`: the integers 0 and 1.
    Bool,
    /// `i8`.
    I8,
    /// `i16`.
    I16,
    /// `i32`.
    I32,
    /// `i64`.
    I64,
    /// `u8`.
    U8,
    /// `u16`.
    U16,
    /// `u32`.
    U32,
    /// `u64`, up to `i64::MAX`: larger values are rejected, because engines store signed integers.
    U64,
    /// `f32`.
    F32,
    /// `f64`.
    F64,
    /// `String`.
    Text,
    /// `Vec<u8>`.
    Bytes,
    /// [`Uuid`]: 16 bytes.
    Uuid,
    /// [`Currency`]: an integer, the amount times 10,000.
    Currency,
    /// [`Date`]: an integer, days since 1970-01-01; from year -9999 to 9999.
    Date,
    /// [`Time`]: an integer, microseconds since midnight.
    Time,
    /// [`DateTime`], without a time zone: an integer, microseconds since 1970-01-01 00:00:00; from year -9999
    /// to 9999.
    DateTime,
    /// [`Timestamp`], an instant: an integer, microseconds since 1970-01-01 00:00:00 UTC; from
    /// -9999-01-02T01:59:59Z to 9999-12-30T22:00:00.999999Z.
    Timestamp,
    /// [`Json`]: text.
    Json,
    /// A column of an existing SQLite file without a usable declared type: any storage class. Of an SQL
    /// parameter or result column: the type is not known, and each value is what it is.
    Any,
    /// An exact decimal number, such as a sum or an average on a server: an integer if it is whole and
    /// fits, otherwise text, such as `-0.125`. Only SQL parameters and result columns have this type.
    Decimal,
    /// [`Vector`] with so many numbers: bytes, 4 for each number.
    Vector(u16),
}

/// The storage class of a column's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Storage {
    /// [`Value::Int`](crate::Value::Int).
    Int,
    /// [`Value::Float`](crate::Value::Float).
    Float,
    /// [`Value::Text`](crate::Value::Text).
    Text,
    /// [`Value::Bytes`](crate::Value::Bytes).
    Bytes,
    /// Differs from row to row.
    Any,
}

impl Type {
    /// Every type that a column of a table can have, in the order of the enum, except vectors, which are as many types as
    /// they have lengths.
    pub const ALL: &'static [Self] = &[
        Self::Bool,
        Self::I8,
        Self::I16,
        Self::I32,
        Self::I64,
        Self::U8,
        Self::U16,
        Self::U32,
        Self::U64,
        Self::F32,
        Self::F64,
        Self::Text,
        Self::Bytes,
        Self::Uuid,
        Self::Currency,
        Self::Date,
        Self::Time,
        Self::DateTime,
        Self::Timestamp,
        Self::Json,
        Self::Any,
    ];

    /// The storage class of the type, unless the column is stored as text.
    #[must_use]
    pub const fn storage(self) -> Storage {
        match self {
            Self::Bool
            | Self::I8
            | Self::I16
            | Self::I32
            | Self::I64
            | Self::U8
            | Self::U16
            | Self::U32
            | Self::U64
            | Self::Currency
            | Self::Date
            | Self::Time
            | Self::DateTime
            | Self::Timestamp => Storage::Int,
            Self::F32 | Self::F64 => Storage::Float,
            Self::Text | Self::Json => Storage::Text,
            Self::Bytes | Self::Uuid | Self::Vector(_) => Storage::Bytes,
            Self::Any | Self::Decimal => Storage::Any,
        }
    }

    /// Whether the type's values are integers of Rust.
    #[must_use]
    pub const fn is_integer(self) -> bool {
        use Type::{I8, I16, I32, I64, U8, U16, U32, U64};
        matches!(self, I8 | I16 | I32 | I64 | U8 | U16 | U32 | U64)
    }

    /// The range of integers of the type; `None` if it does not store integers.
    #[must_use]
    pub const fn integer_range(self) -> Option<(i64, i64)> {
        Some(match self {
            Self::Bool => (0, 1),
            Self::I8 => (i8::MIN as i64, i8::MAX as i64),
            Self::I16 => (i16::MIN as i64, i16::MAX as i64),
            Self::I32 => (i32::MIN as i64, i32::MAX as i64),
            Self::U8 => (0, u8::MAX as i64),
            Self::U16 => (0, u16::MAX as i64),
            Self::U32 => (0, u32::MAX as i64),
            Self::U64 => (0, i64::MAX),
            Self::Date => time::DATES,
            Self::Time => time::TIMES,
            Self::DateTime => time::DATE_TIMES,
            Self::Timestamp => time::TIMESTAMPS,
            Self::I64 | Self::Currency => (i64::MIN, i64::MAX),
            _ => return None,
        })
    }

    /// Whether the type can be stored as text with `store = "text"`: dates, times and UUIDs.
    #[must_use]
    pub const fn has_text_form(self) -> bool {
        matches!(self, Self::Date | Self::Time | Self::DateTime | Self::Timestamp | Self::Uuid)
    }

    /// The type's name in lower case, as in messages: `i64`, `timestamp`, … That of a vector is without its length, which
    /// `Display` writes: `vector(384)`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::I8 => "i8",
            Self::I16 => "i16",
            Self::I32 => "i32",
            Self::I64 => "i64",
            Self::U8 => "u8",
            Self::U16 => "u16",
            Self::U32 => "u32",
            Self::U64 => "u64",
            Self::F32 => "f32",
            Self::F64 => "f64",
            Self::Text => "text",
            Self::Bytes => "bytes",
            Self::Uuid => "uuid",
            Self::Currency => "currency",
            Self::Date => "date",
            Self::Time => "time",
            Self::DateTime => "datetime",
            Self::Timestamp => "timestamp",
            Self::Json => "json",
            Self::Any => "any",
            Self::Decimal => "decimal",
            Self::Vector(_) => "vector",
        }
    }

    /// The column type that `Display` writes so: its [`name`](Type::name), or `vector(384)`.
    ///
    /// ```
    /// use bobak_core::Type;
    /// assert_eq!(Type::from_name("i64"), Some(Type::I64));
    /// assert_eq!(Type::from_name("vector(384)"), Some(Type::Vector(384)));
    /// ```
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        match name.strip_prefix("vector(").and_then(|rest| rest.strip_suffix(')')) {
            Some(numbers) => numbers.parse().ok().filter(|numbers| *numbers > 0).map(Self::Vector),
            None => Self::ALL.iter().copied().find(|ty| ty.name() == name),
        }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Vector(numbers) => write!(f, "vector({numbers})"),
            _ => f.write_str(self.name()),
        }
    }
}
