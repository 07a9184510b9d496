//! Places in an order of rows: `next` of a page, which is `after` of the one behind it. A JSON array of a row's values.

use crate::json::NumberFormat;
use crate::json::cell::parse_cell;
use crate::json::write::write_cell;
use crate::problem::Problem;
use bobak_core::{ColumnSchema, Result, Type, Value, ValueRef};
use serde_json::value::RawValue;

/// The place behind a row, by its values in the order.
pub(crate) fn write_place<'v>(values: impl Iterator<Item = (Type, ValueRef<'v>)>) -> String {
    let mut place = String::from("[");
    for (number, (ty, value)) in values.enumerate() {
        place.push_str(if number > 0 { "," } else { "" });
        write_cell(&mut place, ty, NumberFormat::Exact, value);
    }
    place.push(']');
    place
}

/// The values of a place in an order of `length`; `parse` parses one of them.
///
/// # Errors
/// 400 for another text, for example of a page in another order.
pub(crate) fn parse_place(
    text: &str,
    length: usize,
    parse: impl Fn(usize, &str) -> Result<Value<'static>>,
) -> Result<Vec<Value<'static>>, Problem> {
    let other = || Problem::bad_request("'after' is 'next' of the page before, in the same order");
    let values: Vec<&RawValue> = serde_json::from_str(text).map_err(|_| other())?;
    if values.len() != length || values.is_empty() {
        return Err(other());
    }
    let values = values.iter().enumerate();
    values.map(|(number, json)| parse(number, json.get()).map_err(|_| other())).collect()
}

/// A column's value in a place.
///
/// # Errors
/// `Mismatch` and others for a value that is not one of the column.
pub(crate) fn parse_column(column: &ColumnSchema, json: &str) -> Result<Value<'static>> {
    let value = parse_cell(column, json)?.into_owned();
    if value.is_null() { Ok(value) } else { column.accept(value) }
}
