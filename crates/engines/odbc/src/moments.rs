//! Dates and moments, as the text that databases write, and as the structure that drivers make of them.

use bobak_core::{Result, Type, Value, stored_literal};
use bobak_engine_common::calendar;

const DAY: i64 = 86_400_000_000;

/// Whether values of the type are dates or moments: they have a year.
pub(crate) const fn is_moment(ty: Type) -> bool {
    matches!(ty, Type::Date | Type::DateTime | Type::Timestamp)
}

/// The stored integer of a date or moment such as `2026-11-29 10:07:38.5`; `None` for another form.
///
/// PostgreSQL writes an offset of `+00` after a moment, ` BC` after years before 1, more digits for years after 9999, and
/// has infinities, which are the smallest and the largest integer as in its own engine.
pub(crate) fn read_text(ty: Type, text: &str) -> Option<i64> {
    match text {
        "infinity" => return Some(i64::MAX),
        "-infinity" => return Some(i64::MIN),
        _ => {}
    }
    let bytes = text.as_bytes();
    let (bytes, is_bc) = match bytes.strip_suffix(b" BC") {
        Some(bytes) => (bytes, true),
        None => (bytes, false),
    };
    let digits = bytes.iter().position(|byte| *byte == b'-').filter(|at| (4..=6).contains(at))?;
    let (year, rest) = bytes.split_at_checked(digits)?;
    let year = match number(year)? {
        // `-infinity`, as psqlodbc gives it unless it is cast to text.
        9_999 if is_bc => return None,
        year if is_bc => 1 - year,
        year => year,
    };
    let (date, time) = rest.split_at_checked(6)?;
    let [b'-', month @ .., b'-', _, _] = date else { return None };
    let (month, day) = (number(month)?, number(date.get(4..)?)?);
    let days = calendar::days_of(year, month.try_into().ok()?, day.try_into().ok()?)?;
    if ty == Type::Date {
        return time.is_empty().then_some(days);
    }
    // Of the last year that PostgreSQL has, some moments are beyond 64 bits.
    days.saturating_mul(DAY).checked_add(time_of_day(time)?).or(Some(i64::MAX))
}

/// The microseconds of ` 10:07:38.5`, with or without an offset of `+00`.
fn time_of_day(text: &[u8]) -> Option<i64> {
    let (whole, fraction) = text.split_at_checked(9)?;
    let [b' ', _, _, b':', _, _, b':', _, _] = whole else { return None };
    let part = |at: usize| number(whole.get(at..at + 2)?);
    let (hour, minute, second) = (part(1)?, part(4)?, part(7)?);
    let micros = match fraction.strip_suffix(b"+00").unwrap_or(fraction) {
        [] => 0,
        [b'.', places @ ..] if (1..=6).contains(&places.len()) => {
            number(places)? * 10_i64.pow(6 - u32::try_from(places.len()).ok()?)
        }
        _ => return None,
    };
    let is_time = hour < 24 && minute < 60 && second < 60;
    is_time.then_some(((hour * 60 + minute) * 60 + second) * 1_000_000 + micros)
}

/// The number of a few digits.
fn number(digits: &[u8]) -> Option<i64> {
    digits.iter().try_fold(0_i64, |all, digit| {
        digit.is_ascii_digit().then(|| all * 10 + i64::from(digit - b'0'))
    })
}

/// The stored integer of a `SQL_TIMESTAMP_STRUCT`, as its bytes.
///
/// # Errors
/// `Mismatch` for a date that does not exist, such as MariaDB's 0000-00-00.
pub(crate) fn read_structure(ty: Type, bytes: &[u8]) -> Result<i64> {
    let (parts, _) = bytes.as_chunks::<2>();
    let part = |at: usize| parts.get(at).map_or(0, |part| u16::from_ne_bytes(*part));
    let fraction = bytes.get(12..16).and_then(|bytes| bytes.try_into().ok());
    let nanos = fraction.map_or(0, u32::from_ne_bytes);
    let [year, month, day] = [part(0), part(1), part(2)];
    let [hour, minute, second] = [part(3), part(4), part(5)].map(i64::from);
    let date = |part: u16| u8::try_from(part).unwrap_or(0);
    match calendar::days_of(year.into(), date(month), date(day)) {
        Some(days) if ty == Type::Date => Ok(days),
        Some(days) => {
            let seconds = (hour * 60 + minute) * 60 + second;
            Ok(days * DAY + seconds * 1_000_000 + i64::from(nanos / 1_000))
        }
        None => match stored_literal(ty, &format!("{year:04}-{month:02}-{day:02}"))? {
            Value::Int(stored) => Ok(stored),
            _ => Ok(0),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_what_the_general_parser_makes_of_them() {
        for text in [
            "2026-11-29 10:07:38",
            "2026-11-29 10:07:38.5",
            "1969-12-31 23:59:59.999999",
            "0001-01-01 00:00:00.000001",
            "9999-12-31 23:59:59",
            "2024-02-29 12:00:00.123",
        ] {
            let parsed = stored_literal(Type::Timestamp, text).ok();
            assert_eq!(read_text(Type::Timestamp, text).map(Value::Int), parsed, "{text}");
            assert_eq!(read_text(Type::Timestamp, &format!("{text}+00")).map(Value::Int), parsed);
        }
        for text in [
            "2026-11-29",
            "2026-11-29 10:07:38+01",
            "2026-11-29T10:07:38",
            "2026-11-29 10:07:38.",
            "2026-11-29 10:07:38.1234567",
            "2023-02-29 12:00:00",
            "2026-11-29 24:00:00",
            "2026-11-29 10:07:60",
            "2026-1-29 10:07:38.0",
            "-001-11-29 10:07:38",
            "",
        ] {
            assert_eq!(read_text(Type::Timestamp, text), None, "{text}");
        }
    }

    #[test]
    fn postgres_writes_more_than_other_databases() {
        for (text, days) in [
            ("2026-11-29", Some(20_786)),
            ("0001-01-01 BC", Some(-719_162 - 366)),
            ("4714-11-24 BC", Some(-2_440_588)),
            ("10000-01-01", Some(2_932_897)),
            ("infinity", Some(i64::MAX)),
            ("-infinity", Some(i64::MIN)),
            ("0000-00-00", None),
            ("2026-11-29 00:00:00", None),
            ("1234567-01-01", None),
        ] {
            assert_eq!(read_text(Type::Date, text), days, "{text}");
        }
        let before = read_text(Type::Timestamp, "0001-12-31 23:59:59.999999+00 BC");
        assert_eq!(before, Some(-719_162 * DAY - 1));
        let last = read_text(Type::DateTime, "294276-12-31 23:59:59.999999");
        assert_eq!(last, Some(i64::MAX));
    }

    #[test]
    fn structures_are_read() {
        let structure = |parts: [u16; 6], nanos: u32| {
            let parts = parts.iter().flat_map(|part| part.to_ne_bytes());
            parts.chain(nanos.to_ne_bytes()).collect::<Vec<_>>()
        };
        let moment = structure([1969, 12, 31, 23, 59, 59], 999_999_000);
        assert_eq!(read_structure(Type::DateTime, &moment).unwrap(), -1);
        assert_eq!(read_structure(Type::Date, &moment).unwrap(), -1);
        for parts in [[0, 0, 0, 0, 0, 0], [2024, 0, 7, 1, 2, 3], [2023, 2, 29, 0, 0, 0]] {
            assert!(read_structure(Type::DateTime, &structure(parts, 0)).is_err(), "{parts:?}");
        }
    }
}
