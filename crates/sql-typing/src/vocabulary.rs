//! The functions of the shared vocabulary, which `docs/sql.md` lists. `bobak_sql::translate` has them
//! for servers.

use crate::analyzer::Analyzer;
use crate::convert::{call, parenthesized, take, text_literal};
use crate::kind::{ValueKind, mismatch, noun, unsupported};
use bobak_core::{Date, DateTime, Field, Result, Type, Value, ValueRef};
use turso_parser::ast::{Expr, Literal, Operator};

/// The functions that are rewritten in any statement, with their numbers of arguments.
pub(crate) const SHARED_FUNCTIONS: [(&str, usize); 4] =
    [("now", 0), ("date_part", 2), ("date_trunc", 2), ("json_value", 2)];

const TIMESTAMP: ValueKind = ValueKind::Of(Type::Timestamp);
const DAY: i64 = 86_400_000_000;

/// What `date_part` and `date_trunc` count in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DatePart {
    Year,
    IsoYear,
    Quarter,
    Month,
    Week,
    Day,
    DayOfWeek,
    IsoDayOfWeek,
    DayOfYear,
    Hour,
    Minute,
    Second,
    Epoch,
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

impl DatePart {
    /// The part with this name.
    fn named(name: &str) -> Result<Self> {
        let known = PARTS.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        known.map(|(_, part)| *part).ok_or_else(|| {
            let names = PARTS.map(|(name, _)| name).join(", ");
            unsupported(format!("date_part has no part '{name}': the parts are {names}"))
        })
    }

    /// The unit with this name.
    fn unit(name: &str) -> Result<Self> {
        use DatePart::{Day, Hour, Minute, Month, Quarter, Second, Week, Year};
        const UNITS: [DatePart; 8] = [Year, Quarter, Month, Week, Day, Hour, Minute, Second];
        let unit = Self::named(name).ok().filter(|unit| UNITS.contains(unit));
        unit.ok_or_else(|| {
            let known = PARTS.iter().filter(|(_, part)| UNITS.contains(part));
            let names = known.map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
            unsupported(format!("date_trunc has no unit '{name}': the units are {names}"))
        })
    }

    /// Whether a time of day has it.
    const fn is_of_time(self) -> bool {
        matches!(self, Self::Hour | Self::Minute | Self::Second)
    }

    /// The part of a moment, in microseconds since 1970.
    fn of(self, micros: i64) -> Result<i64> {
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

    /// Where the unit begins in which a moment is.
    fn start(self, micros: i64) -> Result<i64> {
        let at = DateTime::from_value(ValueRef::Int(micros))?;
        let day = micros.div_euclid(DAY);
        let first = |month: i8| -> Result<i64> {
            let first = Date::new(at.year(), month, 1).map_err(|_| mismatch("a month"))?;
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
            Self::Hour => Ok(below(3_600_000_000)),
            Self::Minute => Ok(below(60_000_000)),
            Self::Second => Ok(below(1_000_000)),
            _ => Ok(below(DAY)),
        }
    }
}

impl Analyzer<'_> {
    /// Rewrites a call of the vocabulary. `None` if it is another call.
    pub(crate) fn shared_call(
        &self,
        e: &mut Expr,
        name: &str,
        kinds: &[ValueKind],
    ) -> Result<Option<ValueKind>> {
        let Expr::FunctionCall { args, .. } = e else { return Ok(None) };
        if self.stored || !is_shared(name, args.len()) {
            return Ok(None);
        }
        let (rewritten, kind) = match (name, args.as_mut_slice(), kinds) {
            ("json_value", [document, path], _) => {
                let path = take(path);
                let element =
                    Expr::binary(parenthesized(take(document)), Operator::ArrowRight, path);
                (call("bobak_scalar", vec![parenthesized(element)]), ValueKind::Of(Type::Text))
            }
            (_, [unit, moment], [_, kind]) => self.unit_call(name, unit, moment, *kind)?,
            _ => (current(), TIMESTAMP),
        };
        *e = rewritten;
        self.changed.set(true);
        Ok(Some(kind))
    }

    /// `date_part(unit, moment)` or `date_trunc(unit, moment)`.
    fn unit_call(
        &self,
        name: &str,
        unit: &mut Expr,
        moment: &mut Expr,
        kind: ValueKind,
    ) -> Result<(Expr, ValueKind)> {
        let Some(unit_name) = text_literal(unit) else {
            let message =
                format!("the first argument of {name} is a text in quotes, such as 'month'");
            return Err(unsupported(message));
        };
        let ty = self.micros(moment, kind)?;
        let is_part = name == "date_part";
        let part = if is_part { DatePart::named(&unit_name)? } else { DatePart::unit(&unit_name)? };
        if ty == Type::Time && !(is_part && part.is_of_time()) {
            return Err(mismatch(format!("{name} of '{unit_name}' needs a date, not a time")));
        }
        let (function, kind) = match (is_part, ty) {
            (true, _) => ("bobak_part", ValueKind::Of(Type::I64)),
            (false, Type::DateTime) => ("bobak_start_local", ValueKind::Of(ty)),
            (false, _) => ("bobak_start", TIMESTAMP),
        };
        Ok((call(function, vec![take(unit), take(moment)]), kind))
    }
}

impl Analyzer<'_> {
    /// Makes a date or time microseconds. Returns what they are of: a date-time, a timestamp or a time.
    fn micros(&self, moment: &mut Expr, kind: ValueKind) -> Result<Type> {
        if text_literal(moment).is_some_and(|text| text.eq_ignore_ascii_case("now")) {
            *moment = current();
            return Ok(Type::Timestamp);
        }
        match kind.unit() {
            Some(ty @ (Type::DateTime | Type::Timestamp | Type::Time)) => Ok(ty),
            Some(Type::Date) | None => {
                self.convert(moment, kind, TIMESTAMP)?;
                Ok(Type::Timestamp)
            }
            Some(ty) => Err(mismatch(format!("{} is not a date or time", noun(ty)))),
        }
    }
}

/// Whether it is a function of the vocabulary.
pub(crate) fn is_shared(name: &str, arguments: usize) -> bool {
    let mut all = SHARED_FUNCTIONS.iter();
    all.any(|(known, count)| known.eq_ignore_ascii_case(name) && *count == arguments)
}

/// The time of the statement, to the millisecond.
fn current() -> Expr {
    let text = |text: &str| Expr::Literal(Literal::String(format!("'{text}'")));
    let at = call("strftime", vec![text("%Y-%m-%d %H:%M:%f"), text("now")]);
    call("bobak_timestamp", vec![at])
}

/// What `bobak_part` returns.
pub(crate) fn part(unit: ValueRef<'_>, micros: i64) -> Result<Value<'static>> {
    DatePart::named(&String::from_value(unit)?)?.of(micros).map(Value::Int)
}

/// What `bobak_start` returns.
pub(crate) fn start(unit: ValueRef<'_>, micros: i64) -> Result<Value<'static>> {
    DatePart::unit(&String::from_value(unit)?)?.start(micros).map(Value::Int)
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
            assert_eq!(DatePart::Week.start(at).unwrap(), monday, "{text}");
        }
        let at = micros("1969-05-31T12:34:56.789");
        for (unit, text) in [
            (DatePart::Year, "1969-01-01T00:00:00"),
            (DatePart::Quarter, "1969-04-01T00:00:00"),
            (DatePart::Month, "1969-05-01T00:00:00"),
            (DatePart::Day, "1969-05-31T00:00:00"),
            (DatePart::Hour, "1969-05-31T12:00:00"),
            (DatePart::Minute, "1969-05-31T12:34:00"),
            (DatePart::Second, "1969-05-31T12:34:56"),
        ] {
            assert_eq!(unit.start(at).unwrap(), micros(text), "{unit:?}");
        }
        assert_eq!(DatePart::Epoch.of(-1).unwrap(), -1);
    }
}
