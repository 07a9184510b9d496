//! Bobak's own description of a table, as a property in the file: Access has no NOT NULL, no checks and fewer types.

use bobak_core::{ColumnSchema, Result, TableSchema};
use bobak_engine_common::{table_from_json, table_to_json};
use serde_json::Value as Json;

const HIDDEN_KEY: &str = "hidden_key";

/// Describes a table. Its foreign keys are relationships, and not in it.
pub(crate) fn describe(table: &TableSchema) -> Result<String> {
    let hidden = table.has_hidden_key();
    let without = |column: ColumnSchema| ColumnSchema { reference: None, ..column };
    let builder = table.clone().into_builder().map_columns(without).map_foreign_keys(|_| None);
    let mut json = table_to_json(&builder.build()?);
    if hidden && let Some(object) = json.as_object_mut() {
        object.insert(HIDDEN_KEY.to_owned(), true.into());
    }
    Ok(json.to_string())
}

/// The table that a text describes; `None` if it describes none.
pub(crate) fn described(text: &str) -> Option<TableSchema> {
    let json: Json = serde_json::from_str(text).ok()?;
    let table = table_from_json(&json).ok()?;
    match json.get(HIDDEN_KEY).and_then(Json::as_bool) {
        Some(true) => table.into_builder().hidden_key().build().ok(),
        _ => Some(table),
    }
}
