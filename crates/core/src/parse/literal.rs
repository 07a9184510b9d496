//! Literals as values of their columns.

use crate::{ColumnSchema, Currency, Error, ErrorKind, Result, Type, Value};

/// A literal as it is written.
pub(super) enum Literal<'a> {
    Number(&'a str),
    Text(String),
    Bytes(Vec<u8>),
}

/// The literal in the column's stored form.
pub(super) fn stored(column: &ColumnSchema, literal: Literal<'_>) -> Result<Value<'static>> {
    let money = |text: &str| text.parse().map(|amount: Currency| Value::Int(amount.scaled()));
    let value = match (column.ty, literal) {
        (Type::Currency, Literal::Number(text)) => money(text),
        (Type::Currency, Literal::Text(text)) => money(&text),
        (_, Literal::Number(text)) => number(text),
        (Type::F32 | Type::F64, Literal::Text(text)) if text == "inf" => Ok(f64::INFINITY.into()),
        (Type::F32 | Type::F64, Literal::Text(text)) if text == "-inf" => {
            Ok(f64::NEG_INFINITY.into())
        }
        (_, Literal::Text(text)) => Ok(Value::from(text)),
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

/// The bytes that pairs of hexadecimal digits stand for.
pub(super) fn hex(digits: &str) -> Option<Vec<u8>> {
    let (pairs, []) = digits.as_bytes().as_chunks::<2>() else { return None };
    let digit = |byte: u8| char::from(byte).to_digit(16);
    pairs.iter().map(|&[high, low]| Some((digit(high)? << 4 | digit(low)?) as u8)).collect()
}
