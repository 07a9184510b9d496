//! The functions of the shared vocabulary, which `docs/sql.md` lists. `bobak_sql::translate` has them
//! for servers.

use crate::analyzer::Analyzer;
use crate::convert::{call, parenthesized, take, text_literal};
use crate::kind::{ValueKind, mismatch, noun, unsupported};
use bobak_core::{DatePart, DateUnit, Field, Result, Type, Value, ValueRef};
use turso_parser::ast::{Expr, Literal, Operator};

/// The functions that are rewritten in any statement, with their numbers of arguments.
pub(crate) const SHARED_FUNCTIONS: [(&str, usize); 4] =
    [("now", 0), ("date_part", 2), ("date_trunc", 2), ("json_value", 2)];

const TIMESTAMP: ValueKind = ValueKind::Of(Type::Timestamp);

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
    DateUnit::named(&String::from_value(unit)?)?.start(micros).map(Value::Int)
}
