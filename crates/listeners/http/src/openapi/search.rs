//! Parameters and results of full-text search, and of queries for the nearest rows.

use super::builders::query;
use bobak_core::{TableSchema, Type};
use serde_json::{Value, json};

/// Adds the parameters of a search to an operation that reads rows of a searched table; `is_list` if it makes snippets.
pub(super) fn add(get: &mut Value, is_list: bool) {
    let Some(parameters) = get["parameters"].as_array_mut() else { return };
    let what = "Words that the texts of the rows have: \"lazy dog\" (fox OR jump*) NOT quick. The \
                best rows come first unless there is an order. `after` is then rejected";
    let mut search = query::condition("search", what);
    search["example"] = json!("fox OR jump*");
    parameters.push(search);
    if is_list {
        let what = "With `search`: the response has the rank and a snippet of each row as `found`";
        parameters.push(query::flag("snippets", what));
    }
}

/// Adds the ranks and snippets to the schema of a list.
pub(super) fn add_found(list: &mut Value) {
    let part = json!({
        "type": "object",
        "required": ["text"],
        "properties": {"text": {"type": "string"}, "found": {"const": true}},
    });
    let found = json!({
        "type": "object",
        "required": ["rank", "snippet"],
        "properties": {"rank": {"type": "number"}, "snippet": {"type": "array", "items": part}},
    });
    list["properties"]["found"] = json!({
        "type": "array", "items": found,
        "description": "With `snippets`: for each row its rank, the larger the better, and a part of its texts",
    });
}

/// Adds the parameters of a query for the nearest rows to an operation that reads rows of a table with vectors.
pub(super) fn add_nearest(get: &mut Value, table: &TableSchema) {
    let names: Vec<&str> = vectors(table).collect();
    let Some(parameters) = get["parameters"].as_array_mut() else { return };
    if names.is_empty() {
        return;
    }
    let what = "The column of vectors by whose distance from `to` the rows come, the nearest first. \
                `order`, `search` and `after` are then rejected";
    parameters.push(query::choice("nearest", what, &names));
    parameters.push(query::text("to", "With `nearest`: the vector, as a JSON array of numbers"));
    let what = "With `nearest`: how the distance is measured; default: cosine";
    parameters.push(query::choice("metric", what, &["cosine", "euclidean", "dot"]));
}

/// Adds the distances to the schema of a list.
pub(super) fn add_distances(list: &mut Value, table: &TableSchema) {
    if vectors(table).next().is_some() {
        list["properties"]["distances"] = json!({
            "type": "array", "items": {"type": "number"},
            "description": "With `nearest`: the distance of each row",
        });
    }
}

fn vectors(table: &TableSchema) -> impl Iterator<Item = &str> {
    let columns = table.columns().iter();
    columns.filter(|column| matches!(column.ty, Type::Vector(_))).map(|column| &*column.name)
}
