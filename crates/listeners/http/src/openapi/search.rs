//! Parameters and results of full-text search.

use super::builders::query;
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
