//! Parameters that several paths of a table have.

use super::builders::query;
use crate::database::table::CachedTable;
use serde_json::{Value, json};

/// Those that select rows.
pub(super) fn selection() -> Vec<Value> {
    vec![
        query::condition("filter", "A condition as in SQL's WHERE: age > 30 and name like 'A%'"),
        query::columns(
            "order",
            "Columns, separated by commas; names that contain a comma are in double quotes; a minus \
             sign before a name means descending order",
        ),
        query::count("limit", "The maximum number of rows"),
        query::count("offset", "The number of rows to skip"),
    ]
}

/// The path parameter with the key.
pub(super) fn key(table: &CachedTable) -> Value {
    let parts = table.schema.key().len();
    let columns =
        table.schema.key().iter().filter_map(|&position| table.schema.columns().get(position));
    let names: Vec<&str> = columns.map(|column| &*column.name).collect();
    let description = match parts {
        1 => names.join(""),
        _ => format!("{}, separated by commas", names.join(", ")),
    };
    json!({
        "name": "key", "in": "path", "required": true, "description": description,
        "schema": {"type": "string"},
    })
}
