//! When a user or a token expires.

use bobak_core::{Error, ErrorKind, Result};
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

/// The length of a date.
const DATE_LENGTH: usize = "2027-01-31".len();

/// How many characters of invalid input an error quotes.
const QUOTED_LENGTH: usize = 40;

/// Checks the expiry of a user or token as the access file has it.
///
/// # Errors
/// `Config` if it is neither a date nor a time with its zone.
///
/// ```
/// assert!(bobak_permissions::check_expiry("2027-01-31").is_ok());
/// assert!(bobak_permissions::check_expiry("2027-01-31T12:00:00+01:00").is_ok());
/// assert!(bobak_permissions::check_expiry("2027-01-31T12:00:00").is_err());
/// ```
pub fn check_expiry(text: &str) -> Result<()> {
    parse_expiry(text).map(drop)
}

/// Parses `2027-01-31T12:00:00Z`, or a date, which means its start in UTC.
pub(super) fn parse_expiry(text: &str) -> Result<Timestamp> {
    parse_unambiguous(text).ok_or_else(|| {
        let shown: String = text.chars().take(QUOTED_LENGTH).collect();
        let message = format!(
            "invalid expiry '{shown}': expected a date such as 2027-01-31, or a time with its zone \
             such as 2027-01-31T12:00:00Z, of the years 0 to 9999"
        );
        Error::new(ErrorKind::Config, message)
    })
}

/// Accepts unambiguous input only. The library would also take years with a sign, zones by name, and
/// times without a zone, of which it would use the date alone.
fn parse_unambiguous(text: &str) -> Option<Timestamp> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '+' | ':' | '.' | ' ');
    if !text.starts_with(|c: char| c.is_ascii_digit()) || !text.chars().all(plain) {
        return None;
    }
    if text.len() > DATE_LENGTH {
        return text.parse().ok();
    }
    let date: Date = text.parse().ok().filter(|_| text.len() == DATE_LENGTH)?;
    // 9999-12-31, by which people mean never, is beyond the last timestamp in some zones.
    Some(date.to_zoned(TimeZone::UTC).map_or(Timestamp::MAX, |zoned| zoned.timestamp()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_and_times_with_zone_are_accepted() {
        for (text, moment) in [
            ("2027-01-31", "2027-01-31T00:00:00Z"),
            ("2027-01-31T12:00:00Z", "2027-01-31T12:00:00Z"),
            ("2027-01-31T12:00Z", "2027-01-31T12:00:00Z"),
            ("2027-01-31 12:00:00.5+01:30", "2027-01-31T10:30:00.5Z"),
            ("0000-01-01", "0000-01-01T00:00:00Z"),
            ("9999-12-31", "9999-12-30T22:00:00.999999999Z"),
        ] {
            assert_eq!(parse_expiry(text).unwrap().to_string(), moment, "{text}");
        }
    }

    #[test]
    fn other_input_is_rejected() {
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
            let error = parse_expiry(text).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Config, "{text}");
            let message = error.message();
            assert!(message.contains(": expected a date"), "{message}");
            assert!(message.len() < 300, "{text}");
        }
    }

    /// Input that resembles a time, near both ends of the range.
    #[test]
    fn extreme_times_do_not_panic() {
        let years = ["0000", "0001", "9998", "9999", "-009999", "-000001", "+009999", "-9999"];
        let days = ["01-01", "01-02", "12-30", "12-31", "02-29", "13-01", "00-00"];
        let times = ["", "T00:00:00", "T01:59:59", "T22:00:00.999999999", "T23:59:60", "T24:00"];
        let zones = ["", "Z", "+25:59:59", "-25:59:59", "+00", "-00:00", "+26", "z", "[UTC]"];
        for year in years {
            for day in days {
                for time in times {
                    zones.iter().for_each(|zone| {
                        let _ = parse_expiry(&format!("{year}-{day}{time}{zone}"));
                    });
                }
            }
        }
    }
}
