//! Functions of values, as every engine calculates them.

use bobak_core::join::{JoinFunction, Location};
use bobak_core::{Currency, Error, ErrorKind, Result, Type, Value, ValueRef};

const DAY: i64 = 86_400_000_000;

/// The value of a function; `ty` is the type of its first argument.
///
/// # Errors
/// `Mismatch` for an argument of another class; `OutOfRange` for a date beyond the largest one.
pub(super) fn call(
    function: JoinFunction,
    arguments: &[Value<'_>],
    ty: Type,
) -> Result<Value<'static>> {
    if arguments.is_empty() || arguments.iter().any(Value::is_null) {
        return Ok(Value::Null);
    }
    let first = arguments.first().map_or(ValueRef::Null, Value::as_ref);
    match function {
        JoinFunction::ToFloat => to_float(first, ty),
        JoinFunction::ToInteger => to_integer(first, ty),
        JoinFunction::ToText => match first {
            ValueRef::Int(integer) => Ok(integer.to_string().into()),
            other => Err(Error::mismatch("an integer", other)),
        },
        JoinFunction::Part(part) => part.of(micros(first, ty)?).map(Value::Int),
        JoinFunction::StartOf(unit) => {
            let start = unit.start(micros(first, ty)?)?;
            Ok(Value::Int(if ty == Type::Date { start.div_euclid(DAY) } else { start }))
        }
        JoinFunction::Length => {
            let length = text(first)?.chars().count();
            Ok(Value::Int(i64::try_from(length).unwrap_or(i64::MAX)))
        }
        JoinFunction::Lower => Ok(text(first)?.to_ascii_lowercase().into()),
        JoinFunction::Upper => Ok(text(first)?.to_ascii_uppercase().into()),
        JoinFunction::Trim => Ok(text(first)?.trim_matches(' ').to_owned().into()),
        JoinFunction::Substring(start, length) => {
            let characters = text(first)?.chars().skip(start.saturating_sub(1) as usize);
            Ok(characters.take(length as usize).collect::<String>().into())
        }
        JoinFunction::Concat => {
            let texts = arguments.iter().map(|value| text(value.as_ref()));
            Ok(texts.collect::<Result<String>>()?.into())
        }
        // It calculates its arguments itself.
        JoinFunction::Coalesce => Ok(Value::Null),
        JoinFunction::Distance => {
            Location::metres_between(&arguments.iter().map(Value::as_ref).collect::<Vec<_>>())
        }
        json => json.of_json(&arguments.iter().map(Value::as_ref).collect::<Vec<_>>()),
    }
}

fn to_float(number: ValueRef<'_>, ty: Type) -> Result<Value<'static>> {
    let float = match number {
        ValueRef::Int(scaled) if ty == Type::Currency => scaled as f64 / Currency::SCALE as f64,
        ValueRef::Int(integer) => integer as f64,
        ValueRef::Float(float) => float,
        other => return Err(Error::mismatch("a number", other)),
    };
    Ok(Value::Float(float))
}

fn to_integer(number: ValueRef<'_>, ty: Type) -> Result<Value<'static>> {
    match number {
        ValueRef::Int(scaled) if ty == Type::Currency => Ok(Value::Int(scaled / Currency::SCALE)),
        ValueRef::Int(integer) => Ok(Value::Int(integer)),
        // The largest float below 2^63 is an integer; 2^63 itself is none of 64 bits.
        ValueRef::Float(float) if float >= i64::MIN as f64 && float < -(i64::MIN as f64) => {
            Ok(Value::Int(float as i64))
        }
        ValueRef::Float(float) => {
            let message = format!("{float} is too large for an integer of 64 bits");
            Err(Error::new(ErrorKind::OutOfRange, message))
        }
        other => Err(Error::mismatch("a number", other)),
    }
}

/// A date or time in microseconds since 1970.
fn micros(moment: ValueRef<'_>, ty: Type) -> Result<i64> {
    match moment {
        ValueRef::Int(days) if ty == Type::Date => Ok(days.saturating_mul(DAY)),
        ValueRef::Int(micros) => Ok(micros),
        other => Err(Error::mismatch("a date or time", other)),
    }
}

fn text(value: ValueRef<'_>) -> Result<&str> {
    match value {
        ValueRef::Text(text) => Ok(text),
        other => Err(Error::mismatch("a text", other)),
    }
}
