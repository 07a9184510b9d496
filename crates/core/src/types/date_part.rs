//! Parts of dates and times, and the units that they are in.

use crate::{Date, DateTime, Error, ErrorKind, Field, Result, Value, ValueRef};

const DAY: i64 = 86_400_000_000;

/// A part of a date or time: a whole number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DatePart {
    /// The year.
    Year,
    /// The year of the ISO 8601 week.
    IsoYear,
    /// From 1 to 4.
    Quarter,
    /// From 1 to 12.
    Month,
    /// The week of ISO 8601, from 1 to 53.
    Week,
    /// The day of the month, from 1.
    Day,
    /// The day of the week, Sunday being 0.
    DayOfWeek,
    /// The day of the week, Monday being 1.
    IsoDayOfWeek,
    /// The day of the year, from 1.
    DayOfYear,
    /// From 0 to 23.
    Hour,
    /// From 0 to 59.
    Minute,
    /// From 0 to 59, without fractions.
    Second,
    /// Whole seconds since 1970, rounded towards the past.
    Epoch,
}

/// A unit of time, which begins at a moment: a month on its first day, a week on Monday.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DateUnit {
    /// A year.
    Year,
    /// Three months.
    Quarter,
    /// A month.
    Month,
    /// A week, from Monday.
    Week,
    /// A day.
    Day,
    /// An hour.
    Hour,
    /// A minute.
    Minute,
    /// A second.
    Second,
}

const PARTS: [(&str, DatePart); 13] = [
    ("year", DatePart::Year),
    ("isoyear", DatePart::IsoYear),
    ("quarter", DatePart::Quarter),
    ("month", DatePart::Month),
    ("week", DatePart::Week),
    ("day", DatePart::Day),
    ("dow", DatePart::DayOfWeek),
    ("isodow", DatePart::IsoDayOfWeek),
    ("doy", DatePart::DayOfYear),
    ("hour", DatePart::Hour),
    ("minute", DatePart::Minute),
    ("second", DatePart::Second),
    ("epoch", DatePart::Epoch),
];

const UNITS: [(&str, DateUnit); 8] = [
    ("year", DateUnit::Year),
    ("quarter", DateUnit::Quarter),
    ("month", DateUnit::Month),
    ("week", DateUnit::Week),
    ("day", DateUnit::Day),
    ("hour", DateUnit::Hour),
    ("minute", DateUnit::Minute),
    ("second", DateUnit::Second),
];

/// The item with a name, letters in either case.
fn named<T: Copy>(items: &[(&str, T)], name: &str, what: &str) -> Result<T> {
    let known = items.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
    known.map(|(_, item)| *item).ok_or_else(|| {
        let names = items.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
        Error::new(ErrorKind::Unsupported, format!("{what} '{name}': there are {names}"))
    })
}

/// The name of an item.
fn name_of<T: PartialEq>(items: &[(&'static str, T)], item: &T) -> &'static str {
    items.iter().find(|(_, known)| known == item).map_or("", |(name, _)| name)
}

impl DatePart {
    /// The part with a name in SQL, letters in either case.
    ///
    /// # Errors
    /// `Unsupported` if there is none.
    pub fn named(name: &str) -> Result<Self> {
        named(&PARTS, name, "date_part has no part")
    }

    /// The name in SQL.
    #[must_use]
    pub fn name(self) -> &'static str {
        name_of(&PARTS, &self)
    }

    /// Whether a time of day has it.
    #[must_use]
    pub const fn is_of_time(self) -> bool {
        matches!(self, Self::Hour | Self::Minute | Self::Second)
    }

    /// The part of a moment, in microseconds since 1970.
    ///
    /// # Errors
    /// As [`Field::from_value`] of [`DateTime`].
    pub fn of(self, micros: i64) -> Result<i64> {
        let at = DateTime::from_value(ValueRef::Int(micros))?;
        let week = at.date().iso_week_date();
        Ok(match self {
            Self::Year => at.year().into(),
            Self::IsoYear => week.year().into(),
            Self::Quarter => (i64::from(at.month()) + 2) / 3,
            Self::Month => at.month().into(),
            Self::Week => week.week().into(),
            Self::Day => at.day().into(),
            Self::DayOfWeek => at.weekday().to_sunday_zero_offset().into(),
            Self::IsoDayOfWeek => at.weekday().to_monday_one_offset().into(),
            Self::DayOfYear => at.day_of_year().into(),
            Self::Hour => at.hour().into(),
            Self::Minute => at.minute().into(),
            Self::Second => at.second().into(),
            Self::Epoch => micros.div_euclid(1_000_000),
        })
    }
}

impl DateUnit {
    /// The unit with a name in SQL, letters in either case.
    ///
    /// # Errors
    /// `Unsupported` if there is none.
    pub fn named(name: &str) -> Result<Self> {
        named(&UNITS, name, "date_trunc has no unit")
    }

    /// The name in SQL.
    #[must_use]
    pub fn name(self) -> &'static str {
        name_of(&UNITS, &self)
    }

    /// Where the unit begins in which a moment is, both in microseconds since 1970.
    ///
    /// # Errors
    /// As [`Field::from_value`] of [`DateTime`].
    pub fn start(self, micros: i64) -> Result<i64> {
        let at = DateTime::from_value(ValueRef::Int(micros))?;
        let day = micros.div_euclid(DAY);
        let first = |month: i8| -> Result<i64> {
            let first = Date::new(at.year(), month, 1);
            let first = first.map_err(|_| Error::mismatch("a month", ValueRef::Int(micros)))?;
            match first.to_value()? {
                Value::Int(day) => Ok(day * DAY),
                _ => Ok(micros),
            }
        };
        let below = |unit: i64| micros - micros.rem_euclid(unit);
        match self {
            Self::Year => first(1),
            Self::Quarter => first((at.month() - 1) / 3 * 3 + 1),
            Self::Month => first(at.month()),
            // 1970-01-01 was a Thursday.
            Self::Week => Ok((day - (day + 3).rem_euclid(7)) * DAY),
            Self::Day => Ok(below(DAY)),
            Self::Hour => Ok(below(3_600_000_000)),
            Self::Minute => Ok(below(60_000_000)),
            Self::Second => Ok(below(1_000_000)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_have_parts_and_starts() {
        let micros = |text: &str| match text.parse::<DateTime>().unwrap().to_value().unwrap() {
            Value::Int(micros) => micros,
            other => panic!("{other:?}"),
        };
        for (text, parts, week) in [
            ("2012-12-30T23:59:59.5", [2012, 2012, 4, 12, 52, 30, 0, 7, 365], "2012-12-24"),
            ("2012-12-31T00:00:00", [2012, 2013, 4, 12, 1, 31, 1, 1, 366], "2012-12-31"),
            ("1969-12-31T12:00:00", [1969, 1970, 4, 12, 1, 31, 3, 3, 365], "1969-12-29"),
            ("0001-01-01T00:00:00", [1, 1, 1, 1, 1, 1, 1, 1, 1], "0001-01-01"),
        ] {
            let at = micros(text);
            let found: Vec<i64> = PARTS.iter().take(9).map(|(_, p)| p.of(at).unwrap()).collect();
            assert_eq!(found, parts, "{text}");
            let monday = micros(&format!("{week}T00:00:00"));
            assert_eq!(DateUnit::Week.start(at).unwrap(), monday, "{text}");
        }
        let at = micros("1969-05-31T12:34:56.789");
        for (unit, text) in [
            (DateUnit::Year, "1969-01-01T00:00:00"),
            (DateUnit::Quarter, "1969-04-01T00:00:00"),
            (DateUnit::Month, "1969-05-01T00:00:00"),
            (DateUnit::Day, "1969-05-31T00:00:00"),
            (DateUnit::Hour, "1969-05-31T12:00:00"),
            (DateUnit::Minute, "1969-05-31T12:34:00"),
            (DateUnit::Second, "1969-05-31T12:34:56"),
        ] {
            assert_eq!(unit.start(at).unwrap(), micros(text), "{unit:?}");
        }
        assert_eq!(DatePart::Epoch.of(-1).unwrap(), -1);
    }
}
