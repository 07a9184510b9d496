//! Access's dates: days since 1899-12-30 as a float, whose fraction is the time of day.

use bobak_core::Type;

const MICROS_PER_DAY: i64 = 86_400_000_000;
/// From 1899-12-30, Access's day 0, to 1970-01-01.
const DAYS_TO_1970: i64 = 25_569;
/// The days of Access: from the year 100 to 9999.
const DAYS: std::ops::RangeInclusive<i64> = -657_434..=2_958_465;

/// Before and after so many days, floats tell microseconds from each other.
const EXACT_DAYS: f64 = 65_536.0;

/// The float of a value of a type; `None` outside of Access's years.
///
/// Before 1899-12-30 the time of day counts forwards all the same: -1.25 is 06:00 on 1899-12-29.
pub(crate) fn to_days(ty: Type, number: i64) -> Option<f64> {
    let (day, time) = match ty {
        Type::Date => (number.checked_add(DAYS_TO_1970)?, 0),
        Type::Time => (0, number),
        _ => {
            let day = number.div_euclid(MICROS_PER_DAY).checked_add(DAYS_TO_1970)?;
            (day, number.rem_euclid(MICROS_PER_DAY))
        }
    };
    if !DAYS.contains(&day) || !(0..MICROS_PER_DAY).contains(&time) {
        return None;
    }
    // As other programs compute it from seconds: then their look-ups in indexes find the same float.
    let (seconds, micros) = (time / 1_000_000, time % 1_000_000);
    #[expect(clippy::cast_precision_loss, reason = "all are below 2^53")]
    let (days, seconds) = (day as f64, seconds as f64 + micros as f64 / 1e6);
    let fraction = seconds / 86_400.0;
    Some(if day < 0 { days - fraction } else { days + fraction })
}

/// The value of a type that a float is, to the microsecond; `None` if it is none.
pub(crate) fn exact_micros(ty: Type, days: f64) -> Option<i64> {
    if !(-700_000.0..3_000_000.0).contains(&days) {
        return None;
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        reason = "whole numbers in the range above"
    )]
    let (day, time) = {
        // A float of more days does not tell microseconds from each other.
        let unit = if days.abs() < EXACT_DAYS { 1 } else { 1_000 };
        let units = days.fract().abs() * (MICROS_PER_DAY / unit) as f64;
        (days.trunc() as i64, units.round() as i64 * unit)
    };
    match ty {
        Type::Date => (time == 0).then_some(day - DAYS_TO_1970),
        Type::Time => (day == 0).then_some(time),
        _ => Some((day - DAYS_TO_1970) * MICROS_PER_DAY + time),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::{exact_micros, to_days};
    use bobak_core::Type;

    #[test]
    fn values_are_exact_in_their_years() {
        for number in [-1, 0, 1, -4_861_728_000_000_001, 1_795_785_255_123_457] {
            let days = to_days(Type::DateTime, number).unwrap();
            assert_eq!(exact_micros(Type::DateTime, days), Some(number));
        }
        assert_eq!(to_days(Type::DateTime, -2_209_226_400_000_000), Some(-1.25));
        assert_eq!(to_days(Type::Date, -25_569), Some(0.0));
        assert_eq!(to_days(Type::Date, -800_000), None);
        assert_eq!(exact_micros(Type::Time, 0.5), Some(43_200_000_000));
    }
}
