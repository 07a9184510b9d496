//! Dates, times and UUIDs as SQL text spells them.

use crate::ValueRef;
use crate::{Date, DateTime, Error, ErrorKind, Field, Result, Time, Timestamp, Type, Uuid, Value};

/// The stored value that a literal of SQL text spells, on every engine.
///
/// * A date is `YYYY-MM-DD`, a time `HH:MM:SS` with up to six decimals.
/// * A date-time is a date, or a date and a time with a space or `T` between them.
/// * A timestamp is a date-time in UTC, or with `Z` or an offset such as `+02:00`.
/// * A UUID is its text.
///
/// ```
/// use bobak_core::{Type, Value, stored_literal};
/// assert_eq!(stored_literal(Type::Date, "1970-01-02")?, Value::Int(1));
/// assert!(stored_literal(Type::Date, "1970-01-02 10:00:00").is_err());
/// # Ok::<(), bobak_core::Error>(())
/// ```
///
/// # Errors
/// `Mismatch` for any other text, and for other types.
pub fn stored_literal(ty: Type, text: &str) -> Result<Value<'static>> {
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
        _ => Err(Error::new(ErrorKind::Mismatch, "")),
    };
    parsed.map_err(|_| {
        let (what, form) = match ty {
            Type::Date => ("a date", "YYYY-MM-DD"),
            Type::Time => ("a time", "HH:MM:SS"),
            Type::DateTime => ("a date-time", "YYYY-MM-DD HH:MM:SS"),
            Type::Timestamp => {
                ("a timestamp", "YYYY-MM-DD HH:MM:SS, with an offset unless it is in UTC")
            }
            _ => ("a UUID", "00000000-0000-0000-0000-000000000000"),
        };
        Error::new(ErrorKind::Mismatch, format!("'{text}' is not {what}: write {form}"))
    })
}

fn owned<T: Field>(value: ValueRef<'_>) -> Result<Value<'static>> {
    Ok(T::from_value(value)?.to_value()?.into_owned())
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
            let parsed = stored_literal(ty, text).ok();
            assert_eq!(parsed, value.map(Value::Int), "{ty:?} {text}");
        }
    }
}
