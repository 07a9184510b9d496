//! Dates and times: their parts, their literals, and the types of CAST.

use super::call::{Call, last_as};
use super::format::{MYSQL, POSTGRES, formatted};
use super::{Translator, unsupported};
use crate::Dialect;
use crate::literal::push_literal;
use bobak_core::{Date, DateTime, Field, Result, Time, Type, stored_literal};
use std::borrow::Cow;
use std::ops::Range;

/// The parts of a date or time, all of them whole numbers, and MariaDB's call for each of them.
const PARTS: [(&str, &str, &str); 13] = [
    ("year", "YEAR(", ")"),
    ("isoyear", "(YEARWEEK(", ", 3) DIV 100)"),
    ("quarter", "QUARTER(", ")"),
    ("month", "MONTH(", ")"),
    ("week", "WEEK(", ", 3)"),
    ("day", "DAYOFMONTH(", ")"),
    ("dow", "(DAYOFWEEK(", ") - 1)"),
    ("isodow", "(WEEKDAY(", ") + 1)"),
    ("doy", "DAYOFYEAR(", ")"),
    ("hour", "HOUR(", ")"),
    ("minute", "MINUTE(", ")"),
    ("second", "SECOND(", ")"),
    (
        "epoch",
        "CAST(FLOOR(TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', ",
        ") / 1000000) AS SIGNED)",
    ),
];

/// The text before and after a date or time that a server keeps, for a part of it.
pub(crate) fn part_words(dialect: Dialect, part: &str) -> (Cow<'static, str>, &'static str) {
    if dialect == Dialect::Postgres {
        return (format!("CAST(floor(date_part('{part}', ").into(), ")) AS bigint)");
    }
    let known = PARTS.iter().find(|(name, ..)| *name == part);
    known.map_or(("".into(), ""), |(_, before, after)| ((*before).into(), after))
}

/// The start of a unit of a date or time that a server keeps, as the integer that Bobak stores.
pub(crate) fn unit_start(dialect: Dialect, unit: &str, moment: &str, ty: Type) -> String {
    let start = match dialect {
        Dialect::Postgres if ty == Type::Date => {
            format!("date_trunc('{unit}', ({moment})::timestamp)")
        }
        Dialect::Postgres => format!("date_trunc('{unit}', {moment})"),
        _ => mysql_start(unit, moment),
    };
    match (dialect, ty) {
        (Dialect::Postgres, Type::Date) => format!("({start}::date - date '1970-01-01')::int8"),
        (Dialect::Postgres, _) => format!("(extract(epoch FROM {start}) * 1000000)::int8"),
        (_, Type::Date) => format!("CAST(DATEDIFF({start}, DATE'1970-01-01') AS SIGNED)"),
        _ => format!("TIMESTAMPDIFF(MICROSECOND, TIMESTAMP'1970-01-01 00:00:00', {start})"),
    }
}

/// MariaDB's start of a unit. The first day of the calendar is a Monday.
fn mysql_start(unit: &str, moment: &str) -> String {
    let unit = unit.to_ascii_uppercase();
    format!(
        "(TIMESTAMP'0001-01-01 00:00:00' + INTERVAL \
         TIMESTAMPDIFF({unit}, TIMESTAMP'0001-01-01 00:00:00', {moment}) {unit})"
    )
}

/// The units to which a moment is truncated.
const UNITS: [&str; 8] = ["year", "quarter", "month", "week", "day", "hour", "minute", "second"];

/// MariaDB's names of the types of CAST.
const MYSQL_TYPES: [(&str, &str); 9] = [
    ("timestamp", "DATETIME(6)"),
    ("datetime", "DATETIME(6)"),
    ("time", "TIME(6)"),
    ("text", "CHAR"),
    ("bigint", "SIGNED"),
    ("integer", "SIGNED"),
    ("int", "SIGNED"),
    ("real", "DOUBLE"),
    ("double precision", "DOUBLE"),
];

/// PostgreSQL's: its own TIMESTAMP has no zone.
const POSTGRES_TYPES: [(&str, &str); 2] = [("timestamp", "timestamptz"), ("datetime", "timestamp")];

/// The type of this name in CAST, if it has literals.
fn type_named(name: &str) -> Option<Type> {
    Some(match name {
        "date" => Type::Date,
        "time" => Type::Time,
        "datetime" => Type::DateTime,
        "timestamp" => Type::Timestamp,
        "uuid" => Type::Uuid,
        _ => return None,
    })
}

impl Translator<'_> {
    /// `date_part('month', moment)`: a whole number.
    pub(super) fn date_part(
        &self,
        part: &Range<usize>,
        moment: &Range<usize>,
        depth: usize,
    ) -> Result<Option<String>> {
        let Some(part) = self.literal(part) else { return Ok(None) };
        let known = PARTS.iter().find(|(name, ..)| part.eq_ignore_ascii_case(name));
        match (known, self.dialect) {
            (Some((name, ..)), Dialect::Postgres) => {
                let moment = self.moment(moment, depth)?;
                Ok(Some(format!("CAST(floor(date_part('{name}', {moment})) AS bigint)")))
            }
            (Some((_, before, after)), _) => {
                let moment = self.moment(moment, depth)?;
                Ok(Some(format!("{before}{moment}{after}")))
            }
            // PostgreSQL has others.
            (None, Dialect::Postgres) => Ok(None),
            (None, _) => {
                let parts = PARTS.map(|(name, ..)| name).join(", ");
                Err(unsupported(format!("date_part has no part '{part}': the parts are {parts}")))
            }
        }
    }

    /// `date_trunc('month', moment)`: the start of the month.
    pub(super) fn date_trunc(
        &self,
        unit: &Range<usize>,
        moment: &Range<usize>,
        depth: usize,
    ) -> Result<Option<String>> {
        let Some(unit) = self.literal(unit) else { return Ok(None) };
        let known = UNITS.iter().find(|name| unit.eq_ignore_ascii_case(name));
        match (known, self.dialect) {
            (Some(name), Dialect::Postgres) => {
                let moment = self.moment(moment, depth)?;
                Ok(Some(format!("date_trunc('{name}', {moment})")))
            }
            (Some(name), _) => Ok(Some(mysql_start(name, &self.moment(moment, depth)?))),
            (None, Dialect::Postgres) => Ok(None),
            (None, _) => {
                let units = UNITS.join(", ");
                Err(unsupported(format!("date_trunc has no unit '{unit}': the units are {units}")))
            }
        }
    }

    /// `strftime('%Y-%m', moment)`: text.
    pub(super) fn strftime(
        &self,
        format: &Range<usize>,
        rest: &[Range<usize>],
        depth: usize,
    ) -> Result<Option<String>> {
        let Some(format) = self.literal(format) else { return Ok(None) };
        let [moment] = rest else {
            let message = "strftime takes a format and one value on this server: its modifiers are \
                           SQLite's own";
            return Err(unsupported(message));
        };
        let moment = self.moment(moment, depth)?;
        Ok(Some(match self.dialect {
            Dialect::Postgres => {
                let format = self.quoted(&formatted(&POSTGRES, &format)?);
                format!("(to_char({moment}, {format}) COLLATE \"C\")")
            }
            _ => {
                let format = self.quoted(&formatted(&MYSQL, &format)?);
                format!("DATE_FORMAT({moment}, {format})")
            }
        }))
    }

    /// An argument that is a date or time. A literal or a parameter gets a type: the functions of
    /// PostgreSQL have several.
    fn moment(&self, range: &Range<usize>, depth: usize) -> Result<String> {
        let is_postgres = self.dialect == Dialect::Postgres;
        match self.literal(range) {
            Some(now) if now.eq_ignore_ascii_case("now") && is_postgres => Ok("now()".to_owned()),
            Some(now) if now.eq_ignore_ascii_case("now") => Ok("now(6)".to_owned()),
            Some(text) => self.moment_literal(Type::Timestamp, &text),
            None if self.is_parameter(range) && is_postgres => {
                Ok(format!("CAST({} AS timestamptz)", self.argument(range, depth)?))
            }
            None => self.argument(range, depth),
        }
    }

    /// `CAST(… AS type)`, if the server has another name for the type.
    pub(super) fn cast(&self, call: &Call<'_>, depth: usize) -> Result<Option<String>> {
        let [inside] = &call.arguments[..] else { return Ok(None) };
        let Some(word) = last_as(self.tokens, self.brackets, inside) else { return Ok(None) };
        let (value, name) = (inside.start..word, self.name(word + 1..inside.end));
        match (type_named(&name), self.literal(&value)) {
            (Some(Type::Uuid), text) if self.dialect != Dialect::Postgres => {
                return self.uuid(&value, text, depth).map(Some);
            }
            (Some(ty), Some(text)) if ty != Type::Uuid => {
                return self.moment_literal(ty, &text).map(Some);
            }
            _ => {}
        }
        let types: &[(&str, &str)] = match self.dialect {
            Dialect::Postgres => &POSTGRES_TYPES,
            _ => &MYSQL_TYPES,
        };
        let Some((_, ty)) = types.iter().find(|(own, _)| *own == name) else { return Ok(None) };
        Ok(Some(format!("CAST({} AS {ty})", self.argument(&value, depth)?)))
    }

    /// The name of a type, in lower case.
    fn name(&self, range: Range<usize>) -> String {
        let tokens = self.tokens.get(range).unwrap_or_default().iter();
        let words = tokens.filter(|token| !token.is_trivia()).map(|token| token.text);
        words.collect::<Vec<_>>().join(" ").to_ascii_lowercase()
    }

    /// A UUID where it is 16 bytes.
    fn uuid(&self, value: &Range<usize>, text: Option<String>, depth: usize) -> Result<String> {
        let Some(text) = text else {
            let value = self.argument(value, depth)?;
            return Ok(format!("CAST(UNHEX(REPLACE({value}, '-', '')) AS BINARY(16))"));
        };
        let mut bytes = String::new();
        push_literal(self.dialect, &mut bytes, stored_literal(Type::Uuid, &text)?.as_ref());
        Ok(format!("CAST({bytes} AS BINARY(16))"))
    }

    /// A literal of a date or time, in UTC.
    fn moment_literal(&self, ty: Type, text: &str) -> Result<String> {
        let stored = stored_literal(ty, text)?;
        let shown = match ty {
            Type::Date => Date::from_value(stored.as_ref())?.to_string(),
            Type::Time => Time::from_value(stored.as_ref())?.to_string(),
            _ => {
                let at = DateTime::from_value(stored.as_ref())?;
                format!("{} {}", at.date(), at.time())
            }
        };
        let (before, after) = match (self.dialect, ty) {
            (_, Type::Date) => ("DATE'", "'"),
            (_, Type::Time) => ("TIME'", "'"),
            (Dialect::Postgres, Type::Timestamp) => ("TIMESTAMPTZ'", "+00'"),
            _ => ("TIMESTAMP'", "'"),
        };
        Ok(format!("{before}{shown}{after}"))
    }
}
