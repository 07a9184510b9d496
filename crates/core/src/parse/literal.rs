//! Converts literals to values of their columns.

use crate::{ColumnSchema, Currency, Error, ErrorKind, Result, Type, Value};
use std::borrow::Cow;

/// A literal, as written.
pub(super) enum Literal<'a> {
    Number(Cow<'a, str>),
    Text(Cow<'a, str>),
    Bytes(Vec<u8>),
}

/// Converts the literal to the column's stored form.
///
/// # Errors
/// `Syntax` for a malformed number; as [`ColumnSchema::accept`].
pub(super) fn to_stored(column: &ColumnSchema, literal: Literal<'_>) -> Result<Value<'static>> {
    let money = |text: &str| text.parse().map(|amount: Currency| Value::Int(amount.scaled()));
    let value = match (column.ty, literal) {
        (Type::Currency, Literal::Number(text) | Literal::Text(text)) => money(&text),
        (_, Literal::Number(text)) => number(&text),
        (Type::F32 | Type::F64, Literal::Text(text)) if text == "inf" => Ok(f64::INFINITY.into()),
        (Type::F32 | Type::F64, Literal::Text(text)) if text == "-inf" => {
            Ok(f64::NEG_INFINITY.into())
        }
        (_, Literal::Text(text)) => Ok(Value::from(text.into_owned())),
        (_, Literal::Bytes(bytes)) => Ok(Value::from(bytes)),
    };
    value
        .map_err(|error| error.in_column(column.name.clone()))
        .and_then(|value| column.accept(value))
}

fn number(text: &str) -> Result<Value<'static>> {
    if let Ok(integer) = text.parse() {
        return Ok(Value::Int(integer));
    }
    let float = text.parse().ok().filter(|float: &f64| float.is_finite());
    float
        .map(Value::Float)
        .ok_or_else(|| Error::new(ErrorKind::Syntax, format!("'{text}' is not a number")))
}
