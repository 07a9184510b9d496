//! Stored dates, times and UUIDs as texts.

use bobak_core::{Date, DateTime, Field, Result, Time, Timestamp, Type, Uuid, ValueRef};

/// The text of a stored value, as Bobak writes it elsewhere.
///
/// # Errors
/// `Mismatch`, `OutOfRange` if it is not a value of the type.
pub(crate) fn shown(ty: Type, value: ValueRef<'_>) -> Result<String> {
    Ok(match ty {
        Type::Date => Date::from_value(value)?.to_string(),
        Type::Time => Time::from_value(value)?.to_string(),
        Type::DateTime => DateTime::from_value(value)?.to_string(),
        Type::Timestamp => Timestamp::from_value(value)?.to_string(),
        _ => Uuid::from_value(value)?.to_string(),
    })
}
