//! The functions of the shared vocabulary, which `docs/sql.md` lists. `bobak_sql::translate` has them
//! for servers.

use crate::analyzer::Analyzer;
use crate::convert::text_literal;
use crate::kind::{ValueKind, mismatch, noun, unsupported};
use crate::tree::{CallParts, ParsedExpr};
use bobak_core::{DatePart, DateUnit, Field, Result, Type, Value, ValueRef};

/// The functions that are rewritten in any statement, with their numbers of arguments.
pub(crate) const SHARED_FUNCTIONS: [(&str, usize); 4] =
    [("now", 0), ("date_part", 2), ("date_trunc", 2), ("json_value", 2)];

/// The time of the statement, to the millisecond.
const NOW: &str = "bobak_timestamp(strftime('%Y-%m-%d %H:%M:%f', 'now'))";

const TIMESTAMP: ValueKind = ValueKind::Of(Type::Timestamp);

impl Analyzer<'_> {
    /// Rewrites a call of the vocabulary. `None` if it is another call.
    pub(crate) fn shared_call(
        &mut self,
        e: &ParsedExpr<'_>,
        call: &CallParts<'_>,
        kinds: &[ValueKind],
    ) -> Result<Option<ValueKind>> {
        let name = call.name.as_str();
        if self.stored || !is_shared(name, call.arguments.len()) {
            return Ok(None);
        }
        let (rewritten, kind) = match (name, call.arguments.as_slice(), kinds) {
            ("json_value", [document, path], _) => {
                let (document, path) = (self.rewrite.text(document), self.rewrite.text(path));
                (format!("bobak_scalar((({document}) -> {path}))"), ValueKind::Of(Type::Text))
            }
            (_, [unit, moment], [_, kind]) => self.unit_call(name, unit, moment, *kind)?,
            _ => (NOW.to_owned(), TIMESTAMP),
        };
        self.rewrite.replace(e, rewritten);
        Ok(Some(kind))
    }

    /// `date_part(unit, moment)` or `date_trunc(unit, moment)`.
    fn unit_call(
        &mut self,
        name: &str,
        unit: &ParsedExpr<'_>,
        moment: &ParsedExpr<'_>,
        kind: ValueKind,
    ) -> Result<(String, ValueKind)> {
        let Some(unit_name) = text_literal(unit) else {
            let message =
                format!("the first argument of {name} is a text in quotes, such as 'month'");
            return Err(unsupported(message));
        };
        let ty = self.micros(moment, kind)?;
        let is_part = name == "date_part";
        let is_of_time = if is_part {
            DatePart::named(&unit_name)?.is_of_time()
        } else {
            DateUnit::named(&unit_name)?;
            false
        };
        if ty == Type::Time && !is_of_time {
            return Err(mismatch(format!("{name} of '{unit_name}' needs a date, not a time")));
        }
        let (function, kind) = match (is_part, ty) {
            (true, _) => ("bobak_part", ValueKind::Of(Type::I64)),
            (false, Type::DateTime) => ("bobak_start_local", ValueKind::Of(ty)),
            (false, _) => ("bobak_start", TIMESTAMP),
        };
        let (unit, moment) = (self.rewrite.text(unit), self.rewrite.text(moment));
        Ok((format!("{function}({unit}, {moment})"), kind))
    }
}

impl Analyzer<'_> {
    /// Makes a date or time microseconds. Returns what they are of: a date-time, a timestamp or a time.
    fn micros(&mut self, moment: &ParsedExpr<'_>, kind: ValueKind) -> Result<Type> {
        if text_literal(moment).is_some_and(|text| text.eq_ignore_ascii_case("now")) {
            self.rewrite.replace(moment, NOW.to_owned());
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

/// What `bobak_part` returns.
pub(crate) fn part(unit: ValueRef<'_>, micros: i64) -> Result<Value<'static>> {
    DatePart::named(&String::from_value(unit)?)?.of(micros).map(Value::Int)
}

/// What `bobak_start` returns.
pub(crate) fn start(unit: ValueRef<'_>, micros: i64) -> Result<Value<'static>> {
    DateUnit::named(&String::from_value(unit)?)?.start(micros).map(Value::Int)
}
