//! Dates, times and instants, by jiff: their integer forms and text forms.
//!
//! All have a resolution of one microsecond, as servers do; finer parts are truncated. Each has the range
//! of its Rust type in both forms, so every value that can be written can be read.

use crate::{Error, ErrorKind, Field, Result, Type, Value, ValueRef};
use jiff::civil::{Date, DateTime, Time};
use jiff::fmt::temporal::Pieces;
use jiff::{SignedDuration, Timestamp, ToSpan, tz::Offset};

const MICROS_PER_DAY: i64 = 86_400_000_000;
/// -9999-01-01 to 9999-12-31, in days.
pub(crate) const DATES: (i64, i64) = (-4_371_587, 2_932_896);
/// 00:00:00 to 23:59:59.999999, in microseconds.
pub(crate) const TIMES: (i64, i64) = (0, MICROS_PER_DAY - 1);
/// The range of date-times in microseconds: from the first moment of the first day to the last moment of
/// the last day.
pub(crate) const DATE_TIMES: (i64, i64) =
    (DATES.0 * MICROS_PER_DAY, (DATES.1 + 1) * MICROS_PER_DAY - 1);
/// The instants that are in these years in every time zone: -9999-01-02T01:59:59Z to
/// 9999-12-30T22:00:00.999999Z, in microseconds.
pub(crate) const TIMESTAMPS: (i64, i64) = (-377_705_023_201_000_000, 253_402_207_200_999_999);
/// The origin of the integers of dates and date-times.
const EPOCH: Date = jiff::civil::date(1970, 1, 1);

/// The start of texts of the first days with instants.
const FIRST_DAYS: &str = "-009999-01-0";

impl Field for Timestamp {
    const TYPE: Type = Type::Timestamp;

    #[inline]
    fn to_value(&self) -> Result<Value<'_>> {
        Ok(Value::Int(floor_micros(*self)))
    }

    /// Reads microseconds since the epoch, or RFC 3339 text.
    #[inline]
    fn from_value(value: ValueRef<'_>) -> Result<Self> {
        match value {
            ValueRef::Int(micros) => {
                Self::from_microsecond(micros).or_else(|_| last_timestamps(micros))
            }
            ValueRef::Text(text) if text.starts_with(FIRST_DAYS) => first_timestamps(text),
            ValueRef::Text(text) => parse(text, "a timestamp"),
            _ => Err(Error::mismatch("a timestamp", value)),
        }
    }
}

impl Field for DateTime {
    const TYPE: Type = Type::DateTime;

    #[inline]
    fn to_value(&self) -> Result<Value<'_>> {
        // Truncates towards the past: a time of day is never negative.
        let time = self.time().duration_since(Time::midnight());
        let seconds = self.date().duration_since(EPOCH).as_secs() + time.as_secs();
        Ok(Value::Int(seconds * 1_000_000 + i64::from(time.subsec_micros())))
    }

    /// Reads microseconds since 1970-01-01, or ISO 8601 text.
    #[inline]
    fn from_value(value: ValueRef<'_>) -> Result<Self> {
        match value {
            ValueRef::Int(micros) => Timestamp::from_microsecond(micros)
                .map(|instant| Offset::UTC.to_datetime(instant))
                .or_else(|_| outer_date_times(micros)),
            ValueRef::Text(text) => parse(text, "a date-time"),
            _ => Err(Error::mismatch("a date-time", value)),
        }
    }
}

impl Field for Date {
    const TYPE: Type = Type::Date;

    #[inline]
    fn to_value(&self) -> Result<Value<'_>> {
        Ok(Value::Int(self.duration_since(EPOCH).as_hours() / 24))
    }

    /// Reads days since 1970-01-01, or text of the form `2013-01-31`.
    #[inline]
    fn from_value(value: ValueRef<'_>) -> Result<Self> {
        match value {
            // The range check comes first: `from_hours` panics beyond it.
            ValueRef::Int(days) => i32::try_from(days)
                .ok()
                .map(|days| SignedDuration::from_hours(i64::from(days) * 24))
                .and_then(|since| EPOCH.checked_add(since).ok())
                .ok_or_else(|| out_of_range("a date", days)),
            ValueRef::Text(text) => parse(text, "a date"),
            _ => Err(Error::mismatch("a date", value)),
        }
    }
}

impl Field for Time {
    const TYPE: Type = Type::Time;

    #[inline]
    fn to_value(&self) -> Result<Value<'_>> {
        let since = self.duration_since(Self::midnight());
        // Never negative, and at most a day: it fits.
        Ok(Value::Int(since.as_secs() * 1_000_000 + i64::from(since.subsec_micros())))
    }

    /// Reads microseconds since midnight, or text of the form `23:59:59.5`.
    #[inline]
    fn from_value(value: ValueRef<'_>) -> Result<Self> {
        match value {
            ValueRef::Int(micros) if (0..MICROS_PER_DAY).contains(&micros) => Self::midnight()
                .checked_add(micros.microseconds())
                .map_err(|_| out_of_range("a time", micros)),
            ValueRef::Int(micros) => Err(out_of_range("a time", micros)),
            ValueRef::Text(text) => parse(text, "a time"),
            _ => Err(Error::mismatch("a time", value)),
        }
    }
}

/// The text form of a date, time or UUID that is given as an integer or bytes. It has a fixed width, so
/// texts sort like the values. Other values are returned unchanged.
///
/// # Errors
/// `Mismatch` or `OutOfRange` if the value is not of the type.
pub(crate) fn to_text(ty: Type, value: ValueRef<'_>) -> Result<Value<'static>> {
    if value.is_null() {
        return Ok(Value::Null);
    }
    Ok(match ty {
        Type::Timestamp => format!("{:.6}", Timestamp::from_value(value)?).into(),
        Type::DateTime => format!("{:.6}", DateTime::from_value(value)?).into(),
        Type::Date => Date::from_value(value)?.to_string().into(),
        Type::Time => format!("{:.6}", Time::from_value(value)?).into(),
        Type::Uuid => uuid::Uuid::from_value(value)?.hyphenated().to_string().into(),
        _ => value.to_owned(),
    })
}

/// The integer or bytes form of a date, time or UUID that is given in either form.
///
/// # Errors
/// `Mismatch` or `OutOfRange` if the value is not of the type.
pub(crate) fn to_storage(ty: Type, value: ValueRef<'_>) -> Result<Value<'static>> {
    if value.is_null() {
        return Ok(Value::Null);
    }
    Ok(match ty {
        Type::Timestamp => Timestamp::from_value(value)?.to_value()?.into_owned(),
        Type::DateTime => DateTime::from_value(value)?.to_value()?.into_owned(),
        Type::Date => Date::from_value(value)?.to_value()?.into_owned(),
        Type::Time => Time::from_value(value)?.to_value()?.into_owned(),
        Type::Uuid => uuid::Uuid::from_value(value)?.to_value()?.into_owned(),
        _ => value.to_owned(),
    })
}

/// Truncates towards the past: an instant never moves forward.
#[inline]
fn floor_micros(at: Timestamp) -> i64 {
    at.as_microsecond() - i64::from(at.subsec_nanosecond() % 1_000 < 0)
}

/// The fraction of the last second, which [`Timestamp::from_microsecond`] rejects.
#[cold]
fn last_timestamps(micros: i64) -> Result<Timestamp> {
    // The rest fits: it is less than 10⁹.
    let nanos = micros.rem_euclid(1_000_000) as i32 * 1_000;
    Timestamp::new(micros.div_euclid(1_000_000), nanos)
        .map_err(|_| out_of_range("a timestamp", micros))
}

/// Parses the text of an instant by its parts: within the last second before [`Timestamp::MIN`], jiff
/// returns an invalid instant or panics.
#[cold]
fn first_timestamps(text: &str) -> Result<Timestamp> {
    const WHAT: &str = "a timestamp";
    let pieces = Pieces::parse(text).map_err(|error| not_a(WHAT, text, &error))?;
    let (Some(time), Some(offset)) = (pieces.time(), pieces.to_numeric_offset()) else {
        return Err(not_a(WHAT, text, &"it needs a time of day and an offset"));
    };
    let Value::Int(civil) = pieces.date().to_datetime(time).to_value()? else {
        return Err(not_a(WHAT, text, &"it has no number"));
    };
    let micros = civil - i64::from(offset.seconds()) * 1_000_000;
    Timestamp::from_value(ValueRef::Int(micros))
}

/// The date-times that are not instants in UTC: the first and the last hours of the calendar.
#[cold]
fn outer_date_times(micros: i64) -> Result<DateTime> {
    EPOCH
        .to_datetime(Time::midnight())
        .checked_add(SignedDuration::from_micros(micros))
        .map_err(|_| out_of_range("a date-time", micros))
}

fn parse<T: std::str::FromStr<Err = jiff::Error>>(text: &str, what: &str) -> Result<T> {
    text.parse().map_err(|error| not_a(what, text, &error))
}

#[cold]
fn not_a(what: &str, text: &str, why: &dyn std::fmt::Display) -> Error {
    Error::new(ErrorKind::Mismatch, format!("'{text}' is not {what}: {why}"))
}

#[cold]
fn out_of_range(what: &str, number: i64) -> Error {
    Error::new(ErrorKind::OutOfRange, format!("{number} is not the number of {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round<T: Field + PartialEq + std::fmt::Debug + Clone>(value: T, integer: i64) {
        assert_eq!(value.to_value().expect("in range"), Value::Int(integer), "{value:?}");
        assert_eq!(T::from_value(ValueRef::Int(integer)).expect("in range"), value);
        let text = to_text(T::TYPE, ValueRef::Int(integer)).expect("has a text form");
        assert_eq!(T::from_value(text.as_ref()).expect("reads its own text"), value);
    }

    #[test]
    fn integer_and_text_forms_return_the_value() {
        round("1900-01-02".parse::<Date>().unwrap(), -25_566);
        round(
            Date::MIN,
            Date::MIN.to_value().map(|v| if let Value::Int(i) = v { i } else { 0 }).unwrap(),
        );
        round(Date::MAX, 2_932_896);
        round("1969-12-31T23:59:59.999999".parse::<DateTime>().unwrap(), -1);
        round(Time::midnight(), 0);
        round("23:59:59.999999".parse::<Time>().unwrap(), 86_399_999_999);
        round("1970-01-01T00:00:01.5Z".parse::<Timestamp>().unwrap(), 1_500_000);
    }

    #[test]
    fn every_integer_out_of_range_is_rejected() {
        for number in [i64::MIN, -7_777_777_777_777_777, 2_932_897, 7_777_777_777_777_777, i64::MAX]
        {
            let value = ValueRef::Int(number);
            assert!(Date::from_value(value).is_err());
            let _ = (Time::from_value(value).is_ok(), DateTime::from_value(value).is_ok());
            let _ = Timestamp::from_value(value).is_ok();
        }
    }

    /// Checks the limits of a range: they are those of the Rust type, and values beyond them are rejected.
    fn ends<T: Field + PartialEq + std::fmt::Debug + Clone>(least: T, most: T, range: (i64, i64)) {
        assert_eq!(T::TYPE.integer_range(), Some(range));
        for value in [least, most] {
            let Value::Int(integer) = value.to_value().unwrap() else { panic!("{value:?}") };
            let read = T::from_value(ValueRef::Int(integer)).unwrap();
            assert_eq!(read.to_value().unwrap(), Value::Int(integer));
            assert!([range.0, range.1].contains(&integer), "{value:?} is {integer}");
        }
        for inside in [range.0, range.0 + 1, range.0 + 999_999, range.1 - 999_999, range.1] {
            if (range.0..=range.1).contains(&inside) {
                round(T::from_value(ValueRef::Int(inside)).unwrap(), inside);
            }
        }
        for beyond in [i64::MIN, range.0 - 1, range.1 + 1, i64::MAX] {
            let rejected = T::from_value(ValueRef::Int(beyond)).unwrap_err();
            assert_eq!(rejected.kind(), ErrorKind::OutOfRange, "{beyond}");
            assert!(to_text(T::TYPE, ValueRef::Int(beyond)).is_err());
            assert!(to_storage(T::TYPE, ValueRef::Int(beyond)).is_err());
        }
    }

    #[test]
    fn range_is_that_of_the_rust_type() {
        ends(Date::MIN, Date::MAX, DATES);
        ends(Time::MIN, Time::MAX, TIMES);
        ends(DateTime::MIN, DateTime::MAX, DATE_TIMES);
        ends(Timestamp::MIN, Timestamp::MAX, TIMESTAMPS);
    }

    #[test]
    fn texts_and_integers_have_the_same_range() {
        let last = "9999-12-30T22:00:00.999999Z";
        assert_eq!(
            to_storage(Type::Timestamp, ValueRef::Text(last)).unwrap(),
            Value::Int(TIMESTAMPS.1)
        );
        let first = "-009999-01-02T01:59:59Z";
        assert_eq!(
            to_storage(Type::Timestamp, ValueRef::Text(first)).unwrap(),
            Value::Int(TIMESTAMPS.0)
        );
        let first = "-009999-01-01T00:00:00.000001-01:59:59";
        let read = Timestamp::from_value(ValueRef::Text(first)).map_err(|e| e.kind());
        assert_eq!(read, Err(ErrorKind::OutOfRange), "{first}");
        let first = "-009999-01-01T00:00:00.000001-25:59:59";
        let read = to_storage(Type::Timestamp, ValueRef::Text(first)).unwrap();
        assert_eq!(read, Value::Int(TIMESTAMPS.0 + 1));
        let beyond = [
            "9999-12-30T22:00:01Z",
            "-009999-01-02T01:59:58.999999Z",
            "-009999-01-02T01:59:59",
            "-009999-01-02",
            "-009999-01-0",
        ];
        for beyond in beyond {
            assert!(Timestamp::from_value(ValueRef::Text(beyond)).is_err(), "{beyond}");
        }
        let last = "9999-12-31T23:59:59.999999";
        assert_eq!(
            to_storage(Type::DateTime, ValueRef::Text(last)).unwrap(),
            Value::Int(DATE_TIMES.1)
        );
        assert!(Date::from_value(ValueRef::Text("10000-01-01")).is_err());
    }

    #[test]
    fn date_time_equals_the_instant_in_utc() {
        let step = SignedDuration::from_hours(24 * 200) + SignedDuration::new(4_001, 987_654_321);
        let mut at = Offset::UTC.to_datetime(Timestamp::MIN);
        while let Ok(instant) = Offset::UTC.to_timestamp(at) {
            assert_eq!(at.to_value().unwrap(), Value::Int(floor_micros(instant)), "{at}");
            let Ok(next) = at.checked_add(step) else { break };
            at = next;
        }
    }

    #[test]
    fn nanoseconds_are_truncated_towards_the_past() {
        let before: Timestamp = "1969-12-31T23:59:59.9999999Z".parse().unwrap();
        assert_eq!(before.to_value().unwrap(), Value::Int(-1));
    }

    #[test]
    fn integers_beyond_the_calendar_are_rejected() {
        assert_eq!(
            Date::from_value(ValueRef::Int(i64::MAX)).unwrap_err().kind(),
            ErrorKind::OutOfRange
        );
        assert_eq!(Time::from_value(ValueRef::Int(-1)).unwrap_err().kind(), ErrorKind::OutOfRange);
        assert!(DateTime::from_value(ValueRef::Int(i64::MIN)).is_err());
    }
}
