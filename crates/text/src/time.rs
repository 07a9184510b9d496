//! Which texts are dates and times that can be given back.
//!
//! * a **date** is `2013-01-31`;
//! * a **date-time**, without a zone, is `2013-01-31T23:59:59`, or with a blank for the `T`, as SQL
//!   writes it, optionally with a fraction of up to six digits;
//! * a **timestamp**, an instant, is the same with a `Z` behind (RFC 3339).
//!
//! All of a year between 0000 and 9999, and of the calendar: `2013-02-30` is a text. So is an instant
//! after 9999-12-30T22:00:00.999999Z, which the type does not hold, and what
//! would lose something: an offset (`+01:00`), a leap second, a fraction of seven digits; and so is
//! another spelling (no seconds), which would come back changed.

use bobak_core::{Date, DateTime, Field, Type, Value};
use jiff::civil;

/// The days since 1970-01-01 of a text that is a date.
#[must_use]
pub fn date(text: &[u8]) -> Option<i64> {
    integer(&calendar_date(text)?)
}

/// The microseconds since 1970-01-01T00:00:00 of a text that is a date-time.
#[must_use]
pub fn date_time(text: &[u8]) -> Option<i64> {
    let (day, clock) = text.split_at_checked(10)?;
    let [b'T' | b' ', clock @ ..] = clock else { return None };
    let (clock, fraction) = clock.split_at_checked(8)?;
    let &[h1, h2, b':', m1, m2, b':', s1, s2] = clock else { return None };
    let micros = match fraction {
        [] => 0,
        [b'.', digits @ ..] if (1..=6).contains(&digits.len()) => {
            let padding = 10_u32.pow(6 - digits.len() as u32);
            number(digits)? * padding
        }
        _ => return None,
    };
    let whole = calendar_date(day)?;
    let part = |tens: u8, ones: u8| number(&[tens, ones]).and_then(|n| i8::try_from(n).ok());
    let nanos = i32::try_from(micros * 1_000).ok()?;
    let clock = civil::Time::new(part(h1, h2)?, part(m1, m2)?, part(s1, s2)?, nanos).ok()?;
    integer::<DateTime>(&whole.to_datetime(clock))
}

/// The microseconds since the epoch of a text that is a timestamp.
#[must_use]
pub fn timestamp(text: &[u8]) -> Option<i64> {
    // Civil microseconds and those in UTC are the same number.
    let micros = date_time(text.strip_suffix(b"Z")?)?;
    let (least, most) = Type::Timestamp.integer_range()?;
    (least..=most).contains(&micros).then_some(micros)
}

fn calendar_date(text: &[u8]) -> Option<Date> {
    let &[y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2] = text else { return None };
    let year = i16::try_from(number(&[y1, y2, y3, y4])?).ok()?;
    let part = |tens: u8, ones: u8| number(&[tens, ones]).and_then(|n| i8::try_from(n).ok());
    Date::new(year, part(m1, m2)?, part(d1, d2)?).ok()
}

/// A number of at most six digits.
#[inline]
fn number(digits: &[u8]) -> Option<u32> {
    digits.iter().try_fold(0, |sum, digit| {
        digit.is_ascii_digit().then(|| sum * 10 + u32::from(digit - b'0'))
    })
}

fn integer<T: Field>(value: &T) -> Option<i64> {
    match value.to_value() {
        Ok(Value::Int(integer)) => Some(integer),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates() {
        assert_eq!(date(b"1970-01-01"), Some(0));
        assert_eq!(date(b"1969-12-31"), Some(-1));
        assert_eq!(date(b"2000-02-29"), Some(11_016));
        assert_eq!(date(b"0000-01-01"), Some(-719_528));
        assert_eq!(date(b"9999-12-31"), Some(2_932_896));
        for text in [
            "",
            "2013-1-1",
            "2013-02-30",
            "1900-02-29",
            "2013-13-01",
            "2013-00-01",
            "2013-01-00",
            "20130101",
            "2013/01/01",
            "+2013-01-01",
            "-001-01-01",
            "2013-01-01 ",
            "2013-01-01T00:00:00",
            "2013-01-0x",
        ] {
            assert_eq!(date(text.as_bytes()), None, "{text:?}");
        }
    }

    #[test]
    fn date_times_and_timestamps() {
        assert_eq!(date_time(b"1970-01-01T00:00:00"), Some(0));
        assert_eq!(date_time(b"1970-01-01 00:00:01"), Some(1_000_000));
        assert_eq!(date_time(b"1969-12-31T23:59:59.999999"), Some(-1));
        assert_eq!(date_time(b"1970-01-01T00:00:01.5"), Some(1_500_000));
        assert_eq!(timestamp(b"2013-01-01T10:00:00Z"), Some(1_357_034_400_000_000));
        assert_eq!(timestamp(b"2013-01-01T10:00:00.000Z"), Some(1_357_034_400_000_000));
        for text in [
            "2013-01-01",
            "2013-01-01T10:00",
            "2013-01-01  10:00:00",
            "2013-01-01t10:00:00",
            "2013-01-01T24:00:00",
            "2013-01-01T10:60:00",
            "2013-01-01T10:00:60",
            "2013-01-01T10:00:00.",
            "2013-01-01T10:00:00.1234567",
            "2013-01-01T10:00:00z",
            "2013-01-01T10:00:00+00:00",
            "2013-01-01T10:00:00.1x",
        ] {
            assert_eq!(date_time(text.as_bytes()), None, "{text:?}");
            assert_eq!(timestamp(text.as_bytes()), None, "{text:?}");
            assert_eq!(timestamp(format!("{text}Z").as_bytes()), None, "{text:?}Z");
        }
        assert_eq!(date_time(b"9999-12-31T23:59:59.999999"), Some(253_402_300_799_999_999));
        // The last instants that are of this calendar in every zone, and the first that is not.
        assert_eq!(timestamp(b"9999-12-30T22:00:00.000015Z"), Some(253_402_207_200_000_015));
        assert_eq!(timestamp(b"9999-12-30T22:00:00.999999Z"), Some(253_402_207_200_999_999));
        assert_eq!(timestamp(b"9999-12-30T22:00:01Z"), None);
        assert_eq!(date_time(b"2013-01-01T10:00:00Z"), None, "an instant is no civil time");
        assert_eq!(timestamp(b"2013-01-01T10:00:00"), None, "nor the other way round");
    }
}
