//! Days and microseconds since 1970 as the parts of a date and a time of day, and back.
//!
//! The arithmetic is Howard Hinnant's "chrono-compatible low-level date algorithms": years that
//! begin in March, in eras of 400 years.

use bobak_core::{Error, ErrorKind, Result, Type};

const DAY: i64 = 86_400_000_000;

/// A moment's parts: year, month, day, hour, minute, second, microsecond.
pub type Parts = (u16, u8, u8, u8, u8, u8, u32);

/// The date this many days after 1970-01-01; `None` outside the years 1 to 9999, which all databases have.
#[must_use]
pub fn date_of(days: i64) -> Option<(u16, u8, u8)> {
    // 0001-01-01 and 9999-12-31.
    if !(-719_162..=2_932_896).contains(&days) {
        return None;
    }
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    Some((u16::try_from(year).ok()?, u8::try_from(month).ok()?, u8::try_from(day).ok()?))
}

/// The days from 1970-01-01 to a date; `None` if it is invalid, such as MySQL's 0000-00-00 and 2023-02-31.
///
/// The year before 1 is 0; years are within a million of it.
#[must_use]
pub fn days_of(year: i64, month: u8, day: u8) -> Option<i64> {
    let days = match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    if day == 0 || day > days {
        return None;
    }
    let (month, day) = (i64::from(month), i64::from(day));
    let year = year - i64::from(month <= 2);
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let shifted = if month > 2 { month - 3 } else { month + 9 };
    let day_of_year = (153 * shifted + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    Some(era * 146_097 + day_of_era - 719_468)
}

/// The parts of the moment this many microseconds after 1970-01-01 00:00:00; `None` as of
/// [`date_of`].
#[must_use]
pub fn parts_of(micros: i64) -> Option<Parts> {
    let (year, month, day) = date_of(micros.div_euclid(DAY))?;
    let (hour, minute, second, micro) = time_of(micros.rem_euclid(DAY))?;
    Some((year, month, day, hour, minute, second, micro))
}

/// The microseconds from 1970-01-01 00:00:00 to a moment.
#[must_use]
pub fn micros_of(parts: Parts) -> Option<i64> {
    let (year, month, day, hour, minute, second, micro) = parts;
    let days = days_of(year.into(), month, day)?;
    Some(days * DAY + micros_of_day(0, hour, minute, second, micro))
}

/// Hour, minute, second and microsecond of a time of day; `None` outside the day.
#[must_use]
pub fn time_of(micros: i64) -> Option<(u8, u8, u8, u32)> {
    if !(0..DAY).contains(&micros) {
        return None;
    }
    let (seconds, micro) = (micros / 1_000_000, micros % 1_000_000);
    let part = |part: i64| u8::try_from(part).ok();
    Some((
        part(seconds / 3_600)?,
        part(seconds / 60 % 60)?,
        part(seconds % 60)?,
        u32::try_from(micro).ok()?,
    ))
}

/// The microseconds of a span.
#[must_use]
pub fn micros_of_day(days: u32, hour: u8, minute: u8, second: u8, micro: u32) -> i64 {
    let hours = i64::from(days) * 24 + i64::from(hour);
    let seconds = (hours * 60 + i64::from(minute)) * 60 + i64::from(second);
    seconds * 1_000_000 + i64::from(micro)
}

/// Rejects a day outside of the years 1 to 9999.
///
/// # Errors
/// `OutOfRange`; `server` is its name in the message.
pub fn check_day(days: i64, server: &str) -> Result<()> {
    let message = || format!("on {server}, dates are from 0001-01-01 to 9999-12-31");
    date_of(days).map(drop).ok_or_else(|| Error::new(ErrorKind::OutOfRange, message()))
}

/// The texts of the date and of the time of day of a date, a time or a moment.
///
/// # Errors
/// As [`check_day`].
pub fn texts_of(ty: Type, integer: i64, server: &str) -> Result<(String, String)> {
    let (days, micros) = match ty {
        Type::Date => (integer, 0),
        Type::Time => (0, integer.rem_euclid(DAY)),
        _ => (integer.div_euclid(DAY), integer.rem_euclid(DAY)),
    };
    check_day(days, server)?;
    let (year, month, day) = date_of(days).unwrap_or_default();
    let (hour, minute, second, micro) = time_of(micros).unwrap_or_default();
    let time = format!("{hour:02}:{minute:02}:{second:02}.{micro:06}");
    Ok((format!("{year:04}-{month:02}-{day:02}"), time))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_round_trip() {
        for (days, date) in [
            (0, (1970, 1, 1)),
            (-1, (1969, 12, 31)),
            (19_782, (2024, 2, 29)),
            (-719_162, (1, 1, 1)),
            (2_932_896, (9999, 12, 31)),
            (-25_567, (1900, 1, 1)),
        ] {
            assert_eq!(date_of(days), Some(date));
            assert_eq!(days_of(date.0.into(), date.1, date.2), Some(days));
        }
        assert!((-719_162..2_932_896).step_by(13).all(|days| {
            date_of(days).and_then(|(year, month, day)| days_of(year.into(), month, day))
                == Some(days)
        }));
        assert_eq!((date_of(-719_163), date_of(2_932_897)), (None, None));
        assert_eq!(days_of(0, 0, 0), None);
        // The first of the Julian day numbers, in 4714 BC.
        assert_eq!(days_of(-4713, 11, 24), Some(-2_440_588));
        assert_eq!(days_of(0, 2, 29), Some(-719_162 - 307));
    }

    #[test]
    fn timestamps_round_trip() {
        for micros in [0, -1, 1, 86_399_999_999, -86_400_000_000, 1_700_000_000_123_456] {
            assert_eq!(parts_of(micros).and_then(micros_of), Some(micros));
        }
        assert_eq!(parts_of(-1), Some((1969, 12, 31, 23, 59, 59, 999_999)));
        assert_eq!(parts_of(i64::MAX), None);
    }
}
