//! The SQL functions that rewritten statements call. They are deterministic and have no effects.

use crate::convert::not_an_amount;
use crate::decimal::{Decimal, out_of_range, rounded_quotient};
use crate::kind::{ValueKind, mismatch, noun, unsupported};
use crate::{text, vocabulary};
use bobak_core::join::{JoinFunction, Location};
use bobak_core::{
    Currency, DateTime, Error, Field, Json, Result, Time, Type, Uuid, Value, ValueRef,
    stored_literal,
};

/// A function of SQL that rewritten statements may call: the engine registers all of them.
#[derive(Clone, Copy, Debug)]
pub struct StoredFunction {
    /// The name in SQL.
    pub name: &'static str,
    /// The number of arguments.
    pub arguments: u8,
    /// What it does. The result is NULL if an argument is NULL.
    pub call: fn(&[ValueRef<'_>]) -> Result<Value<'static>>,
    result: ValueKind,
}

const AMOUNT: ValueKind = ValueKind::Of(Type::Currency);
const TEXT: ValueKind = ValueKind::Of(Type::Text);

/// The functions that rewritten statements call.
pub const STORED_FUNCTIONS: &[StoredFunction] = &[
    function("bobak_amount", 1, AMOUNT, |a| int(number(a, 0)?.rounded_amount())),
    function("bobak_amount_given", 1, AMOUNT, |a| {
        let given = number(a, 0)?;
        let rounded = given.rounded_amount()?;
        let is_exact = given.exact_amount() == Some(rounded);
        let rejected = || mismatch(not_an_amount(&argument(a, 0).to_string()));
        is_exact.then_some(Value::Int(rounded)).ok_or_else(rejected)
    }),
    function("bobak_amount_of_digits", 1, AMOUNT, |a| {
        let ValueRef::Text(digits) = argument(a, 0) else { return Err(out_of_range()) };
        int(Decimal::parse_rounded(digits).ok_or_else(out_of_range)?.rounded_amount())
    }),
    function("bobak_times", 2, AMOUNT, |a| int(number(a, 1)?.times(amount(a, 0)?))),
    function("bobak_product", 2, AMOUNT, |a| product(amount(a, 0)?, amount(a, 1)?)),
    function("bobak_over", 2, AMOUNT, |a| {
        Ok(number(a, 1)?.divide(amount(a, 0)?)?.map_or(Value::Null, Value::Int))
    }),
    function("bobak_round", 2, AMOUNT, |a| round(amount(a, 0)?, integer(a, 1)?)),
    function("bobak_amount_text", 1, TEXT, |a| {
        let scaled = amount(a, 0)?;
        let sign = if scaled < 0 { "-" } else { "" };
        let (units, rest) = (scaled.unsigned_abs() / 10_000, scaled.unsigned_abs() % 10_000);
        Ok(format!("{sign}{units}.{rest:04}").into())
    }),
    function("bobak_date", 1, ValueKind::Of(Type::Date), |a| from_text(Type::Date, a)),
    function("bobak_time", 1, ValueKind::Of(Type::Time), |a| from_text(Type::Time, a)),
    function("bobak_datetime", 1, ValueKind::Of(Type::DateTime), |a| from_text(Type::DateTime, a)),
    function("bobak_timestamp", 1, ValueKind::Of(Type::Timestamp), |a| {
        from_text(Type::Timestamp, a)
    }),
    function("bobak_uuid", 1, ValueKind::Of(Type::Uuid), |a| from_text(Type::Uuid, a)),
    function("bobak_day", 1, ValueKind::Of(Type::Date), |a| {
        Ok(Value::Int(integer(a, 0)?.div_euclid(86_400_000_000)))
    }),
    function("bobak_date_text", 1, TEXT, |a| to_text(Type::Date, a)),
    function("bobak_time_text", 1, TEXT, |a| to_text(Type::Time, a)),
    function("bobak_datetime_text", 1, TEXT, |a| to_text(Type::DateTime, a)),
    function("bobak_timestamp_text", 1, TEXT, |a| to_text(Type::Timestamp, a)),
    function("bobak_uuid_text", 1, TEXT, |a| to_text(Type::Uuid, a)),
    function("bobak_clock", 1, TEXT, clock),
    function("bobak_clock_time", 1, TEXT, clock_time),
    function("bobak_micros", 2, TEXT, micros),
    function("bobak_part", 2, ValueKind::Of(Type::I64), |a| {
        vocabulary::part(argument(a, 0), integer(a, 1)?)
    }),
    function("bobak_start", 2, ValueKind::Of(Type::Timestamp), |a| {
        vocabulary::start(argument(a, 0), integer(a, 1)?)
    }),
    function("bobak_start_local", 2, ValueKind::Of(Type::DateTime), |a| {
        vocabulary::start(argument(a, 0), integer(a, 1)?)
    }),
    function("bobak_scalar", 1, TEXT, scalar),
    // Of the whole text: SQLite's `length` and `substr` end at the character 0.
    function("bobak_length", 1, ValueKind::Of(Type::I64), |a| {
        let length = String::from_value(argument(a, 0))?.chars().count();
        Ok(Value::Int(i64::try_from(length).unwrap_or(i64::MAX)))
    }),
    function("bobak_substring", 3, TEXT, |a| {
        let count = |place| Ok::<_, Error>(usize::try_from(integer(a, place)?).unwrap_or(0));
        let (start, length) = (count(1)?, count(2)?);
        let text = String::from_value(argument(a, 0))?;
        Ok(text.chars().skip(start.saturating_sub(1)).take(length).collect::<String>().into())
    }),
    function("bobak_json_text", 2, TEXT, |a| JoinFunction::JsonText.of_json(a)),
    function("bobak_json_integer", 2, ValueKind::Of(Type::I64), |a| {
        JoinFunction::JsonInteger.of_json(a)
    }),
    function("bobak_json_float", 2, ValueKind::Of(Type::F64), |a| {
        JoinFunction::JsonFloat.of_json(a)
    }),
    function("bobak_json_truth", 2, ValueKind::Of(Type::Bool), |a| {
        JoinFunction::JsonTruth.of_json(a)
    }),
    function("bobak_json_length", 2, ValueKind::Of(Type::I64), |a| {
        JoinFunction::JsonLength.of_json(a)
    }),
    function("bobak_json_has", 3, ValueKind::Of(Type::Bool), |a| JoinFunction::JsonHas.of_json(a)),
    function("bobak_json_with", 3, ValueKind::Of(Type::Json), |a| {
        JoinFunction::JsonWith.of_json(a)
    }),
    function("bobak_distance", 4, ValueKind::Of(Type::F64), Location::metres_between),
    // SQLite prepares a text as it was written before it is rewritten.
    function("now", 0, ValueKind::Plain, |_| not_rewritten()),
    function("date_part", 2, ValueKind::Plain, |_| not_rewritten()),
    function("date_trunc", 2, ValueKind::Plain, |_| not_rewritten()),
    function("json_value", 2, ValueKind::Plain, |_| not_rewritten()),
];

const fn function(
    name: &'static str,
    arguments: u8,
    result: ValueKind,
    call: fn(&[ValueRef<'_>]) -> Result<Value<'static>>,
) -> StoredFunction {
    StoredFunction { name, arguments, call, result }
}

impl StoredFunction {
    /// Calls it. SQL's rule for NULL is here.
    ///
    /// # Errors
    /// `Mismatch`, `OutOfRange` for arguments that have no result.
    pub fn call(&self, arguments: &[ValueRef<'_>]) -> Result<Value<'static>> {
        if arguments.iter().any(|value| value.is_null()) {
            return Ok(Value::Null);
        }
        (self.call)(arguments)
    }
}

/// The kind of the result, if it is one of these functions.
pub(crate) fn result_kind(name: &str) -> Option<ValueKind> {
    let mut functions = STORED_FUNCTIONS.iter();
    functions.find(|f| f.name.eq_ignore_ascii_case(name)).map(|f| f.result)
}

fn argument<'v>(arguments: &[ValueRef<'v>], place: usize) -> ValueRef<'v> {
    arguments.get(place).copied().unwrap_or(ValueRef::Null)
}

fn integer(arguments: &[ValueRef<'_>], place: usize) -> Result<i64> {
    i64::from_value(argument(arguments, place))
}

/// A stored amount. SQLite makes a float of a sum that overflows.
fn amount(arguments: &[ValueRef<'_>], place: usize) -> Result<i64> {
    match argument(arguments, place) {
        ValueRef::Float(_) => Err(out_of_range()),
        value => Currency::from_value(value).map(Currency::scaled),
    }
}

fn number(arguments: &[ValueRef<'_>], place: usize) -> Result<Decimal> {
    Decimal::of(argument(arguments, place))
}

fn int(number: Result<i64>) -> Result<Value<'static>> {
    number.map(Value::Int)
}

fn product(left: i64, right: i64) -> Result<Value<'static>> {
    let scaled = rounded_quotient(i128::from(left) * i128::from(right), 10_000);
    i64::try_from(scaled).map(Value::Int).map_err(|_| out_of_range())
}

/// Rounds to a number of decimals; a negative one rounds to tens, hundreds, …
fn round(amount: i64, decimals: i64) -> Result<Value<'static>> {
    let unit = match 4 - decimals.clamp(-15, 4) {
        0 => return Ok(Value::Int(amount)),
        zeros => 10_i128.pow(zeros as u32),
    };
    let rounded = rounded_quotient(i128::from(amount), unit) * unit;
    i64::try_from(rounded).map(Value::Int).map_err(|_| out_of_range())
}

fn from_text(ty: Type, arguments: &[ValueRef<'_>]) -> Result<Value<'static>> {
    match argument(arguments, 0) {
        ValueRef::Text(given) => stored_literal(ty, given),
        value @ ValueRef::Bytes(_) if ty == Type::Uuid => {
            Ok(Uuid::from_value(value)?.to_value()?.into_owned())
        }
        other => Err(wrong_type(ty, other)),
    }
}

#[cold]
fn wrong_type(ty: Type, value: ValueRef<'_>) -> Error {
    let error = Error::mismatch(noun(ty), value);
    mismatch(format!("{error}: SQL compares {} with its text only", noun(ty)))
}

fn to_text(ty: Type, arguments: &[ValueRef<'_>]) -> Result<Value<'static>> {
    text::shown(ty, argument(arguments, 0)).map(Into::into)
}

/// The text of a moment for SQLite's date functions, which round: without what is below a
/// millisecond.
fn clock(arguments: &[ValueRef<'_>]) -> Result<Value<'static>> {
    let micros = integer(arguments, 0)?;
    let floor = micros - micros.rem_euclid(1_000);
    let moment = DateTime::from_value(ValueRef::Int(floor))?;
    Ok(format!("{} {:.3}", moment.date(), moment.time()).into())
}

fn clock_time(arguments: &[ValueRef<'_>]) -> Result<Value<'static>> {
    let micros = integer(arguments, 0)?;
    let time = Time::from_value(ValueRef::Int(micros - micros.rem_euclid(1_000)))?;
    Ok(format!("{time:.3}").into())
}

/// The text of a scalar in JSON, as it is spelled there; 1 and 0 for truth values, NULL for objects, arrays and `null`.
fn scalar(arguments: &[ValueRef<'_>]) -> Result<Value<'static>> {
    let ValueRef::Text(json) = argument(arguments, 0) else { return Ok(Value::Null) };
    Ok(match json.as_bytes().first() {
        Some(b'"') => Json::<String>::from_value(ValueRef::Text(json))?.0.into(),
        Some(b'{' | b'[' | b'n') | None => Value::Null,
        Some(b't') => "1".into(),
        Some(b'f') => "0".into(),
        Some(_) => Value::from(json).into_owned(),
    })
}

#[cold]
fn not_rewritten() -> Result<Value<'static>> {
    let message = "now, date_part, date_trunc and json_value need typed SQL, and are not possible in \
                   CREATE TABLE: open the database without typed_sql=off";
    Err(unsupported(message))
}

/// A format of `strftime` in which `%f` is written out: seconds with six decimals.
fn micros(arguments: &[ValueRef<'_>]) -> Result<Value<'static>> {
    let ValueRef::Text(format) = argument(arguments, 0) else {
        return Ok(argument(arguments, 0).to_owned());
    };
    let fraction = integer(arguments, 1)?.rem_euclid(1_000_000);
    let mut written = String::with_capacity(format.len() + 8);
    let mut rest = format.chars();
    while let Some(character) = rest.next() {
        match (character, rest.clone().next()) {
            ('%', Some('f')) => written.push_str(&format!("%S.{fraction:06}")),
            ('%', Some(next)) => written.extend(['%', next]),
            _ => {
                written.push(character);
                continue;
            }
        }
        rest.next();
    }
    Ok(written.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(name: &str, arguments: &[ValueRef<'_>]) -> Result<Value<'static>> {
        STORED_FUNCTIONS.iter().find(|f| f.name == name).unwrap().call(arguments)
    }

    #[test]
    fn amounts_have_exact_arithmetic() {
        use ValueRef::{Float, Int, Null, Text};
        for (name, arguments, result) in [
            ("bobak_amount", vec![Int(5)], Some(50_000)),
            ("bobak_amount", vec![Float(0.07)], Some(700)),
            ("bobak_amount", vec![Float(12.500_01)], Some(125_000)),
            ("bobak_amount_given", vec![Float(12.5)], Some(125_000)),
            ("bobak_amount_given", vec![Int(-3)], Some(-30_000)),
            ("bobak_times", vec![Int(50_000), Float(1.19)], Some(59_500)),
            ("bobak_product", vec![Int(15_000), Int(25_000)], Some(37_500)),
            ("bobak_over", vec![Int(100_000), Int(3)], Some(33_333)),
            ("bobak_round", vec![Int(12_345), Int(2)], Some(12_300)),
            ("bobak_round", vec![Int(15_000), Int(0)], Some(20_000)),
            ("bobak_round", vec![Int(-15_000), Int(-1)], Some(0)),
            ("bobak_day", vec![Int(-1)], Some(-1)),
        ] {
            assert_eq!(call(name, &arguments).unwrap(), Value::from(result), "{name}");
        }
        assert_eq!(call("bobak_times", &[Null, Int(1)]).unwrap(), Value::Null);
        assert_eq!(call("bobak_over", &[Int(1), Int(0)]).unwrap(), Value::Null);
        for (name, arguments) in [
            ("bobak_amount", vec![Text("5")]),
            ("bobak_amount", vec![Int(i64::MAX)]),
            ("bobak_amount_given", vec![Float(12.500_01)]),
            ("bobak_amount_given", vec![Int(i64::MAX)]),
            ("bobak_times", vec![Float(1e30), Int(1)]),
            ("bobak_product", vec![Int(i64::MAX), Int(20_000)]),
            ("bobak_timestamp", vec![Int(5)]),
        ] {
            assert!(call(name, &arguments).is_err(), "{name}");
        }
    }

    #[test]
    fn moments_have_texts() {
        let shown = |name: &str, number| match call(name, &[ValueRef::Int(number)]).unwrap() {
            Value::Text(text) => text.into_owned(),
            other => format!("{other:?}"),
        };
        assert_eq!(shown("bobak_amount_text", -5_000), "-0.5000");
        assert_eq!(shown("bobak_date_text", 1), "1970-01-02");
        assert_eq!(shown("bobak_clock", -1), "1969-12-31 23:59:59.999");
        assert_eq!(shown("bobak_clock_time", 1_999), "00:00:00.001");
        assert_eq!(shown("bobak_timestamp_text", 1_500_000), "1970-01-01T00:00:01.5Z");
        let format = call("bobak_micros", &[ValueRef::Text("%%f %f %Y%"), ValueRef::Int(-1)]);
        assert_eq!(format.unwrap(), Value::from("%%f %S.999999 %Y%"));
    }
}
