//! The path and the schemas of the statements that ran.

use super::builders::{json_of, operation, problem, query, reference, response};
use serde_json::{Map, Value, json};

/// Adds the path.
pub(super) fn paths(paths: &mut Map<String, Value>) {
    let limit = query::count("limit", "Maximum number of statements; 100 if it is not given");
    let orders = ["total", "mean", "p95", "max", "count", "rows", "waited", "errors"];
    let order = query::choice("order", "The order: the largest value first", &orders);
    let summary = "List the statements that ran, with their times: requires all permissions";
    let mut get = operation("statements", summary, vec![limit, order]);
    get["responses"]["200"] = response("The list", json_of(reference("bobak.Statements")));
    problem(&mut get, &[400]);
    paths.insert("/statements".to_owned(), json!({"get": get}));
}

/// Adds the schemas.
pub(super) fn components(schemas: &mut Map<String, Value>) {
    let text = |description: &str| json!({"type": "string", "description": description});
    let optional =
        |description: &str| json!({"type": ["string", "null"], "description": description});
    let number =
        |description: &str| json!({"type": "integer", "minimum": 0, "description": description});
    let millis =
        |description: &str| json!({"type": "number", "minimum": 0, "description": description});
    let properties = json!({
        "text": text("The text without values; an outline for requests that are no SQL"),
        "verb": text("What it does, in lower case"),
        "table": optional("The table, if it is known"),
        "engine": text("The engine that ran it"),
        "count": number("How often it ran"),
        "errors": number("How often it failed"),
        "rows": number("Rows that it returned or changed"),
        "total_ms": millis("The sum of its times"),
        "mean_ms": millis("The average time"),
        "p95_ms": millis("A time that 95 of 100 did not exceed, at most an eighth too long"),
        "max_ms": millis("The longest time"),
        "waited_ms": millis("Waiting for a connection or a writer"),
        "last_origin": optional("The client and route that ran it last"),
        "last_error": optional("Why the last one that failed did so"),
    });
    let required: Vec<_> =
        properties.as_object().into_iter().flat_map(Map::keys).cloned().collect();
    let one = json!({"type": "object", "required": required, "properties": properties});
    let all = json!({
        "type": "object",
        "required": ["statements", "total"],
        "properties": {
            "statements": {"type": "array", "items": reference("bobak.StatementTimes")},
            "total": number("How many there are"),
        },
    });
    schemas.insert("bobak.StatementTimes".to_owned(), one);
    schemas.insert("bobak.Statements".to_owned(), all);
}
