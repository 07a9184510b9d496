//! Converts literals to values of their columns.

use crate::sql_expression::SqlLiteral;
use crate::{ColumnSchema, Currency, Error, ErrorKind, Result, Type, Value};

/// Converts the literal to the column's stored form. A number has its sign.
///
/// # Errors
/// `Syntax` for a malformed number and for NULL; as [`ColumnSchema::accept`].
pub(super) fn to_stored(column: &ColumnSchema, literal: &SqlLiteral<'_>) -> Result<Value<'static>> {
    let money = |text: &str| text.parse().map(|amount: Currency| Value::Int(amount.scaled()));
    let value = match (column.ty, literal) {
        (Type::Currency, SqlLiteral::Number(text)) => money(text),
        (Type::Currency, SqlLiteral::Text(text)) => money(text),
        (_, SqlLiteral::Number(text)) => number(text),
        (Type::F32 | Type::F64, SqlLiteral::Text(text)) if text == "inf" => {
            Ok(f64::INFINITY.into())
        }
        (Type::F32 | Type::F64, SqlLiteral::Text(text)) if text == "-inf" => {
            Ok(f64::NEG_INFINITY.into())
        }
        (_, SqlLiteral::Text(text)) => Ok(Value::from(text.clone().into_owned())),
        (_, SqlLiteral::Bytes(bytes)) => Ok(Value::from(bytes.clone())),
        (_, SqlLiteral::Bool(truth)) => Ok(Value::Int(i64::from(*truth))),
        (_, SqlLiteral::Null) => {
            let message = "no value equals null: write 'is null' or 'is not null'";
            Err(Error::new(ErrorKind::Syntax, message))
        }
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
