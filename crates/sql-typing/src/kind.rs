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
        use Type::{Date, DateTime, Timestamp};
        match (self.unit(), other.unit()) {
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
    matches!(ty, Type::Currency | Type::Uuid) || is_time(ty)
}

pub(crate) const fn is_time(ty: Type) -> bool {
    matches!(ty, Type::Date | Type::Time | Type::DateTime | Type::Timestamp)
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
