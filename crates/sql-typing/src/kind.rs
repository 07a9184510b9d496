//! What is known about the values of an expression.

use bobak_core::{Error, ErrorKind, Result, Type};

/// What is known about the values of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ValueKind {
    /// Nothing: the value itself decides.
    Plain,
    /// It is NULL.
    Null,
    /// They have this type.
    Of(Type),
}

impl ValueKind {
    /// The type, if its stored form differs from what SQL means by it.
    pub(crate) fn unit(self) -> Option<Type> {
        match self {
            Self::Of(ty) if has_unit(ty) => Some(ty),
            _ => None,
        }
    }

    /// The kind of values that come from both, in a comparison or in one column.
    pub(crate) fn unify(self, other: Self) -> Result<Self> {
        use Type::{Date, DateTime, Decimal, Timestamp};
        match (self.unit(), other.unit()) {
            (Some(Decimal), None) if other == Self::Null => Ok(self),
            (None, Some(Decimal)) if self == Self::Null => Ok(other),
            (Some(Decimal), _) | (_, Some(Decimal)) => Err(long_decimal()),
            (None, None) => Ok(match (self, other) {
                (Self::Null, kind) | (kind, Self::Null) => kind,
                (left, right) if left == right => left,
                _ => Self::Plain,
            }),
            (Some(ty), None) | (None, Some(ty)) => Ok(Self::Of(ty)),
            (Some(left), Some(right)) if left == right => Ok(self),
            (Some(Date), Some(ty @ (DateTime | Timestamp)))
            | (Some(ty @ (DateTime | Timestamp)), Some(Date)) => Ok(Self::Of(ty)),
            (Some(DateTime | Timestamp), Some(DateTime | Timestamp)) => Ok(Self::Of(Timestamp)),
            (Some(left), Some(right)) => {
                let (left, right) = (noun(left), noun(right));
                Err(mismatch(format!("{left} and {right} cannot be compared or combined")))
            }
        }
    }
}

/// Whether the stored form of a type differs from what SQL means by it.
pub(crate) const fn has_unit(ty: Type) -> bool {
    matches!(ty, Type::Currency | Type::Uuid | Type::Decimal) || is_time(ty)
}

pub(crate) const fn is_time(ty: Type) -> bool {
    matches!(ty, Type::Date | Type::Time | Type::DateTime | Type::Timestamp)
}

/// The text of a decimal number that no type here holds, which would compare as a text.
#[cold]
pub(crate) fn long_decimal() -> Error {
    mismatch(
        "a decimal number of a server that money cannot hold can be returned, counted and grouped here, and \
         not compared or computed with: CAST it to DECIMAL(19, 4), which rounds, or to REAL",
    )
}

/// A value of the type, in words.
pub(crate) const fn noun(ty: Type) -> &'static str {
    match ty {
        Type::Currency => "an amount",
        Type::Date => "a date",
        Type::Time => "a time",
        Type::DateTime => "a date-time",
        Type::Timestamp => "a timestamp",
        Type::Uuid => "a UUID",
        Type::Text => "text",
        Type::Bool => "a truth value",
        Type::Bytes => "bytes",
        Type::Json => "JSON",
        Type::Decimal => "a decimal number",
        _ => "a number",
    }
}

#[cold]
pub(crate) fn mismatch(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Mismatch, message)
}

#[cold]
pub(crate) fn unsupported(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Unsupported, message)
}
