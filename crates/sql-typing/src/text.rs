//! Texts of dates, times and UUIDs as stored values, and back.

use crate::kind::{mismatch, noun};
use bobak_core::{Date, DateTime, Field, Result, Time, Timestamp, Type, Uuid, Value, ValueRef};

/// The stored value that a text spells.
///
/// * A date is `YYYY-MM-DD`, a time `HH:MM:SS` with up to six decimals.
/// * A date-time is a date, or a date and a time with a space or `T` between them.
/// * A timestamp is a date-time in UTC, or with `Z` or an offset such as `+02:00`.
///
/// # Errors
/// `Mismatch` for any other text.
pub(crate) fn stored(ty: Type, text: &str) -> Result<Value<'static>> {
    let value = ValueRef::Text(text);
    let date_and_zone = text.split_at_checked(text.len().min(10)).unwrap_or((text, ""));
    let has_zone = date_and_zone.1.contains(['Z', 'z', '+', '-', '[']);
    let parsed = match ty {
        Type::Date if text.len() <= 10 || text.starts_with('-') => owned::<Date>(value),
        Type::Time if text.contains(':') && !text.contains(['T', '-', ' ']) => owned::<Time>(value),
        Type::DateTime if !has_zone || text.starts_with('-') => owned::<DateTime>(value),
        Type::Timestamp if has_zone => owned::<Timestamp>(value),
        Type::Timestamp => owned::<DateTime>(value),
        Type::Uuid => owned::<Uuid>(value),
        _ => Err(mismatch("")),
    };
    parsed.map_err(|_| {
        let form = match ty {
            Type::Date => "YYYY-MM-DD",
            Type::Time => "HH:MM:SS",
            Type::DateTime => "YYYY-MM-DD HH:MM:SS",
            Type::Timestamp => "YYYY-MM-DD HH:MM:SS, with an offset unless it is in UTC",
            _ => "00000000-0000-0000-0000-000000000000",
        };
        mismatch(format!("'{text}' is not {}: write {form}", noun(ty)))
    })
}

fn owned<T: Field>(value: ValueRef<'_>) -> Result<Value<'static>> {
    Ok(T::from_value(value)?.to_value()?.into_owned())
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_type_has_its_spellings() {
        const DAY: i64 = 86_400_000_000;
        for (ty, text, value) in [
            (Type::Date, "1970-01-02", Some(1)),
            (Type::Date, "1970-01-02 00:00:00", None),
            (Type::Date, "1970-1-2", None),
            (Type::Date, "-009999-01-01", Some(-4_371_587)),
            (Type::Time, "00:00:01.5", Some(1_500_000)),
            (Type::Time, "1970-01-02 00:00:01", None),
            (Type::DateTime, "1970-01-02", Some(DAY)),
            (Type::DateTime, "1970-01-02 00:00:00.000001", Some(DAY + 1)),
            (Type::DateTime, "1970-01-02T00:00:00", Some(DAY)),
            (Type::DateTime, "1970-01-02 00:00:00+01:00", None),
            (Type::Timestamp, "1970-01-02", Some(DAY)),
            (Type::Timestamp, "1970-01-02 00:00:00", Some(DAY)),
            (Type::Timestamp, "1970-01-02T01:00:00+01:00", Some(DAY)),
            (Type::Timestamp, "1970-01-02 00:00:00Z", Some(DAY)),
            (Type::Timestamp, "yesterday", None),
            (Type::Timestamp, "", None),
        ] {
            let parsed = stored(ty, text).ok();
            assert_eq!(parsed, value.map(Value::Int), "{ty:?} {text}");
        }
    }
}
