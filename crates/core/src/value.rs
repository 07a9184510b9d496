//! The five storage classes that all engines share.

use std::borrow::Cow;
use std::fmt;

/// A value, owned or borrowed from a record.
///
/// Richer types (a date, a UUID, money) are stored as one of these five, in a documented form: see
/// [`Type`](crate::Type).
#[derive(Clone, Debug, PartialEq, Default)]
pub enum Value<'a> {
    /// SQL NULL.
    #[default]
    Null,
    /// A 64-bit signed integer.
    Int(i64),
    /// A 64-bit float. Never NaN: engines disagree about it, so it is rejected. Engines may drop the sign of
    /// a zero: SQLite stores whole floats as integers.
    Float(f64),
    /// UTF-8 text; may contain NUL characters.
    Text(Cow<'a, str>),
    /// Bytes.
    Bytes(Cow<'a, [u8]>),
}

/// A value lent by an engine: valid until the next row.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub enum ValueRef<'a> {
    /// SQL NULL.
    #[default]
    Null,
    /// A 64-bit signed integer.
    Int(i64),
    /// A 64-bit float.
    Float(f64),
    /// UTF-8 text.
    Text(&'a str),
    /// Bytes.
    Bytes(&'a [u8]),
}

impl<'a> Value<'a> {
    /// What a query has for a value without a stored form: NaN, which no column takes, so that the query fails instead
    /// of treating it as NULL.
    pub(crate) const UNSTORABLE: Self = Self::Float(f64::NAN);

    /// Borrows the value.
    #[inline]
    #[must_use]
    pub fn as_ref(&self) -> ValueRef<'_> {
        match self {
            Self::Null => ValueRef::Null,
            Self::Int(i) => ValueRef::Int(*i),
            Self::Float(f) => ValueRef::Float(*f),
            Self::Text(t) => ValueRef::Text(t),
            Self::Bytes(b) => ValueRef::Bytes(b),
        }
    }

    /// The same value without borrows.
    #[must_use]
    pub fn into_owned(self) -> Value<'static> {
        match self {
            Self::Null => Value::Null,
            Self::Int(i) => Value::Int(i),
            Self::Float(f) => Value::Float(f),
            Self::Text(t) => Value::Text(Cow::Owned(t.into_owned())),
            Self::Bytes(b) => Value::Bytes(Cow::Owned(b.into_owned())),
        }
    }

    /// Whether it is NULL.
    #[inline]
    #[must_use]
    pub const fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }
}

impl<'a> ValueRef<'a> {
    /// A copy without borrows.
    #[must_use]
    pub fn to_owned(self) -> Value<'static> {
        Value::from(self).into_owned()
    }

    /// Whether it is NULL.
    #[inline]
    #[must_use]
    pub const fn is_null(self) -> bool {
        matches!(self, Self::Null)
    }

    /// The storage class in messages: `null`, `integer`, `float`, `text`, `bytes`.
    #[must_use]
    pub const fn class(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Int(_) => "integer",
            Self::Float(_) => "float",
            Self::Text(_) => "text",
            Self::Bytes(_) => "bytes",
        }
    }
}

/// As a literal of SQL, as messages show it: `NULL`, `99`, `1.5`, `'it''s'`, `x'00ff'`.
impl fmt::Display for ValueRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("NULL"),
            Self::Int(integer) => write!(f, "{integer}"),
            Self::Float(float) => write!(f, "{float:?}"),
            Self::Text(text) => write!(f, "'{}'", text.replace('\'', "''")),
            Self::Bytes(bytes) => {
                f.write_str("x'")?;
                bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
                f.write_str("'")
            }
        }
    }
}

/// As [`ValueRef`].
impl fmt::Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_ref().fmt(f)
    }
}

impl<'a> From<ValueRef<'a>> for Value<'a> {
    #[inline]
    fn from(value: ValueRef<'a>) -> Self {
        match value {
            ValueRef::Null => Self::Null,
            ValueRef::Int(i) => Self::Int(i),
            ValueRef::Float(f) => Self::Float(f),
            ValueRef::Text(t) => Self::Text(Cow::Borrowed(t)),
            ValueRef::Bytes(b) => Self::Bytes(Cow::Borrowed(b)),
        }
    }
}

impl<'a> From<&'a str> for Value<'a> {
    #[inline]
    fn from(text: &'a str) -> Self {
        Self::Text(Cow::Borrowed(text))
    }
}

impl From<String> for Value<'_> {
    #[inline]
    fn from(text: String) -> Self {
        Self::Text(Cow::Owned(text))
    }
}

impl<'a> From<&'a [u8]> for Value<'a> {
    #[inline]
    fn from(bytes: &'a [u8]) -> Self {
        Self::Bytes(Cow::Borrowed(bytes))
    }
}

impl From<Vec<u8>> for Value<'_> {
    #[inline]
    fn from(bytes: Vec<u8>) -> Self {
        Self::Bytes(Cow::Owned(bytes))
    }
}

macro_rules! from_small_int {
    ($($t:ty),*) => {$(
        impl From<$t> for Value<'_> {
            #[inline]
            fn from(number: $t) -> Self {
                Self::Int(i64::from(number))
            }
        }
    )*};
}
from_small_int!(bool, i8, i16, i32, i64, u8, u16, u32);

impl From<f64> for Value<'_> {
    #[inline]
    fn from(number: f64) -> Self {
        Self::Float(number)
    }
}

impl<'a, T: Into<Value<'a>>> From<Option<T>> for Value<'a> {
    #[inline]
    fn from(option: Option<T>) -> Self {
        option.map_or(Self::Null, Into::into)
    }
}
