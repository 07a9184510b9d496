//! The parameters of an SQL statement, as JSON.

use super::cell::parse_value;
use super::error::invalid_json;
use bobak_core::{
    Currency, Error, ErrorKind, Parameter, Result, SqlArgument, SqlArguments, Type, Value,
};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// The values of `json`: an array of those by position, or an object of those by name. An array in the place of a value is a list.
///
/// # Errors
/// `Mismatch` if it is neither; as [`parse_value`].
pub(crate) fn parse_arguments(json: &RawValue) -> Result<SqlArguments<'static>> {
    match json.get().as_bytes().first() {
        Some(b'[') => {
            let values: Vec<&RawValue> = parse(json)?;
            let values: Result<_> = values.into_iter().map(argument).collect();
            values.map(SqlArguments::Positional)
        }
        Some(b'{') => {
            let values: BTreeMap<String, &RawValue> = parse(json)?;
            let named = |(name, value): (String, &RawValue)| Ok((name.into(), argument(value)?));
            values.into_iter().map(named).collect::<Result<_>>().map(SqlArguments::Named)
        }
        _ => {
            let message = "'parameters' is an array of values, or an object of values by name";
            Err(Error::new(ErrorKind::Mismatch, message))
        }
    }
}

fn argument(json: &RawValue) -> Result<SqlArgument<'static>> {
    if !json.get().starts_with('[') {
        return value(json).map(SqlArgument::Value);
    }
    let values: Vec<&RawValue> = parse(json)?;
    values.into_iter().map(value).collect::<Result<_>>().map(SqlArgument::List)
}

/// A number that no float says exactly, and an amount does, is an amount.
fn value(json: &RawValue) -> Result<Parameter<'static>> {
    let text = json.get();
    let value = parse_value(Type::Any, text)?;
    if let Value::Float(near) = value
        && let Ok(amount) = text.parse::<Currency>()
        && near.to_string().parse().ok() != Some(amount)
    {
        return Ok(Parameter::new(amount.scaled().into(), Type::Currency));
    }
    Ok(value.into_owned().into())
}

fn parse<'v, V: Deserialize<'v>>(json: &'v RawValue) -> Result<V> {
    serde_json::from_str(json.get()).map_err(|error| invalid_json(&error))
}
