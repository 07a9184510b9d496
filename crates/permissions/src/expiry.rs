//! When a user or a token ends.

use bobak_core::{Error, ErrorKind, Result};
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

/// The bytes of a date.
const DATE: usize = "2027-01-31".len();

/// How many characters of what is wrong are shown.
const SHOWN: usize = 40;

/// Whether an access file may have this as the end of a user or a token.
///
/// # Errors
/// `Config` for what is no date, and no time with its zone.
///
/// ```
/// assert!(bobak_permissions::check_expiry("2027-01-31").is_ok());
/// assert!(bobak_permissions::check_expiry("2027-01-31T12:00:00+01:00").is_ok());
/// assert!(bobak_permissions::check_expiry("2027-01-31T12:00:00").is_err());
/// ```
pub fn check_expiry(text: &str) -> Result<()> {
    expiry(text).map(drop)
}

/// A moment: `2027-01-31T12:00:00Z`, or a date, which means its beginning in UTC.
pub(crate) fn expiry(text: &str) -> Result<Timestamp> {
    read(text).ok_or_else(|| {
        let shown: String = text.chars().take(SHOWN).collect();
        let message = format!(
            "'{shown}' is no end: expected a date such as 2027-01-31, or a time with its zone such \
             as 2027-01-31T12:00:00Z, of the years 0 to 9999"
        );
        Error::new(ErrorKind::Config, message)
    })
}

/// Only what has one reading. The rest of what the library takes, or fails at, does not reach it:
/// years with a sign, zones by name, and times without a zone, of which a date would be left.
fn read(text: &str) -> Option<Timestamp> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '+' | ':' | '.' | ' ');
    if !text.starts_with(|c: char| c.is_ascii_digit()) || !text.chars().all(plain) {
        return None;
    }
    if text.len() > DATE {
        return text.parse().ok();
    }
    let date: Date = text.parse().ok().filter(|_| text.len() == DATE)?;
    // The last day of all, by which people mean never, ends beyond the last moment.
    Some(date.to_zoned(TimeZone::UTC).map_or(Timestamp::MAX, |zoned| zoned.timestamp()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_one_reading_is_taken() {
        for (text, moment) in [
            ("2027-01-31", "2027-01-31T00:00:00Z"),
            ("2027-01-31T12:00:00Z", "2027-01-31T12:00:00Z"),
            ("2027-01-31T12:00Z", "2027-01-31T12:00:00Z"),
            ("2027-01-31 12:00:00.5+01:30", "2027-01-31T10:30:00.5Z"),
            ("0000-01-01", "0000-01-01T00:00:00Z"),
            ("9999-12-31", "9999-12-30T22:00:00.999999999Z"),
        ] {
            assert_eq!(expiry(text).unwrap().to_string(), moment, "{text}");
        }
    }

    #[test]
    fn all_else_is_one_error() {
        let long = "9".repeat(100_000);
        for text in [
            "",
            "never",
            "tomorrow",
            "2027",
            "20270131",
            "2027-1-31",
            "2027-02-30",
            "2027-W05-1",
            "0000-00-00",
            "2027-01-31T12",
            "2027-01-31T12:00:00",
            "2027-01-31T24:00:00Z",
            "2027-01-31T12:00:00+99:99",
            "2027-01-31T12:00:00Z[America/New_York]",
            "2027-01-31T12:00:00.0000000001Z",
            "2027-01-31Z",
            "2027-01-31\0",
            "２０２７-01-31",
            "-009999-01-01",
            "-009999-01-01T00:00:00.5-25:59:59",
            "-009999-01-02T01:59:58.999999999Z",
            "-009999-01-02T01:59:59-25:59:59",
            "+002027-01-31",
            "+999999-12-31T23:59:59.999999999+25:59:59",
            "9999-12-30T22:00:01Z",
            "9999-12-31T23:59:60.999999999-25:59:59",
            &long,
        ] {
            let error = expiry(text).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Config, "{text}");
            let message = error.message();
            assert!(message.contains("is no end: expected a date"), "{message}");
            assert!(message.len() < 300, "{text}");
        }
    }

    /// Any bytes that could pass for a time, near both ends of what there is.
    #[test]
    fn nothing_makes_it_panic() {
        let years = ["0000", "0001", "9998", "9999", "-009999", "-000001", "+009999", "-9999"];
        let days = ["01-01", "01-02", "12-30", "12-31", "02-29", "13-01", "00-00"];
        let times = ["", "T00:00:00", "T01:59:59", "T22:00:00.999999999", "T23:59:60", "T24:00"];
        let zones = ["", "Z", "+25:59:59", "-25:59:59", "+00", "-00:00", "+26", "z", "[UTC]"];
        for year in years {
            for day in days {
                for time in times {
                    zones.iter().for_each(|zone| {
                        let _ = expiry(&format!("{year}-{day}{time}{zone}"));
                    });
                }
            }
        }
    }
}
