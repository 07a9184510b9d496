//! Places in an order of rows: `next` of a page, which is `after` of the one behind it. A JSON array of a row's values.

use crate::json::NumberFormat;
use crate::json::cell::parse_cell;
use crate::json::write::write_cell;
use crate::problem::Problem;
use bobak_core::{ColumnSchema, Result, TableSchema, Value, ValueRef, compare_values, no_place};
use serde_json::value::RawValue;

/// What a row is sorted by: a column, or an expression.
#[derive(Clone, Debug)]
pub(crate) struct PlaceStep {
    /// The column, or one of the expression's type.
    pub column: ColumnSchema,
    /// Whether the column is of the key, whose values tell a row from all others unless one of them is NULL.
    pub is_key: bool,
}

impl PlaceStep {
    /// The steps of columns of a table.
    pub fn of_columns(table: &TableSchema, columns: &[usize]) -> Vec<Self> {
        let step = |&position: &usize| {
            let column = table.columns().get(position)?.clone();
            Some(Self { column, is_key: table.key().contains(&position) })
        };
        columns.iter().filter_map(step).collect()
    }

    /// Whether the text of a value leads back to it.
    fn locates(&self, value: ValueRef<'_>, text: &str) -> bool {
        let is_same = |parsed: Value<'_>| compare_values(parsed.as_ref(), value).is_eq();
        !(value.is_null() && self.is_key) && self.parse(text).is_ok_and(is_same)
    }

    fn parse(&self, json: &str) -> Result<Value<'static>> {
        let value = parse_cell(&self.column, json)?.into_owned();
        if value.is_null() { Ok(value) } else { self.column.accept(value) }
    }
}

/// The place behind a row, by its values in the order.
///
/// # Errors
/// `Mismatch` if they do not locate it, as SQLite files of other programs have rows with NULL in their key, and values
/// that are not of their column's type.
pub(crate) fn write_place(steps: &[PlaceStep], values: &[ValueRef<'_>]) -> Result<String> {
    let mut place = String::from("[");
    for (step, value) in steps.iter().zip(values) {
        place.push_str(if place.len() > 1 { "," } else { "" });
        let start = place.len();
        write_cell(&mut place, step.column.ty, NumberFormat::Exact, *value);
        if !step.locates(*value, place.get(start..).unwrap_or_default()) {
            let names = steps.iter().map(|step| &*step.column.name);
            return Err(no_place(&step.column.name, names.zip(values.iter().copied())));
        }
    }
    place.push(']');
    Ok(place)
}

/// The values of a place in an order of these steps.
///
/// # Errors
/// 400 for another text, for example of a page in another order.
pub(crate) fn parse_place(text: &str, steps: &[PlaceStep]) -> Result<Vec<Value<'static>>, Problem> {
    let other = || Problem::bad_request("'after' is 'next' of the page before, in the same order");
    let values: Vec<&RawValue> = serde_json::from_str(text).map_err(|_| other())?;
    if values.len() != steps.len() || values.is_empty() {
        return Err(other());
    }
    let values = values.iter().zip(steps);
    values.map(|(json, step)| step.parse(json.get()).map_err(|_| other())).collect()
}
