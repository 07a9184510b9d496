//! Builders for the parts of operations.

use serde_json::{Value, json};

/// An operation with the error responses that all operations have.
pub(super) fn operation(id: &str, summary: &str, parameters: Vec<Value>) -> Value {
    let mut operation = json!({"operationId": id, "summary": summary, "responses": {}});
    if !parameters.is_empty() {
        operation["parameters"] = Value::Array(parameters);
    }
    problem(&mut operation, &[401, 403, 429, 500, 503, 504]);
    // Statuses that depend on the engine: 501, 502, 507 and others.
    operation["responses"]["default"] = response("Another error", problem_content());
    operation
}

fn problem_content() -> Value {
    json!({"application/problem+json": {"schema": reference("bobak.Problem")}})
}

/// Adds error responses.
pub(super) fn problem(operation: &mut Value, statuses: &[u16]) {
    for status in statuses {
        let name = hyper::StatusCode::from_u16(*status).ok();
        let name = name.and_then(|status| status.canonical_reason()).unwrap_or("Error");
        operation["responses"][status.to_string()] = response(name, problem_content());
    }
}

pub(super) fn response(description: &str, content: Value) -> Value {
    json!({"description": description, "content": content})
}

pub(super) fn empty(description: &str) -> Value {
    json!({"description": description})
}

pub(super) fn body(content: Value) -> Value {
    json!({"required": true, "content": content})
}

pub(super) fn json_of(schema: Value) -> Value {
    json!({"application/json": {"schema": schema}})
}

/// The schema of a body whose lines are values of a component.
pub(super) fn each_line(media: &str, description: &str, component: &str) -> Value {
    json!({
        "type": "string", "description": description,
        "contentMediaType": media, "contentSchema": reference(component),
    })
}

pub(super) fn reference(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}

/// `next` of a page.
pub(super) fn next_page() -> Value {
    let what = "The value of `after` for the next page, to be percent-encoded in a URL";
    json!({"type": "string", "description": what})
}

/// A name in a list of names, in quotes if it needs them.
pub(super) fn list_name(name: &str) -> String {
    let needs_quotes = name.contains([',', '"']) || name.starts_with('-') || name.trim() != name;
    if needs_quotes { format!("\"{}\"", name.replace('"', "\"\"")) } else { name.to_owned() }
}

/// Query parameters and headers.
pub(super) mod query {
    use super::{Value, json};

    pub fn text(name: &str, description: &str) -> Value {
        of(name, description, json!({"type": "string"}))
    }

    /// A list of columns, which has at least one.
    pub fn columns(name: &str, description: &str) -> Value {
        of(name, description, json!({"type": "string", "minLength": 1}))
    }

    /// A flag: its name alone sets it, too.
    pub fn flag(name: &str, description: &str) -> Value {
        let mut flag = of(name, description, json!({"type": "boolean", "default": false}));
        flag["allowEmptyValue"] = true.into();
        flag
    }

    /// A condition, or expressions: not empty.
    pub fn condition(name: &str, description: &str) -> Value {
        of(name, description, json!({"type": "string", "minLength": 1}))
    }

    pub fn count(name: &str, description: &str) -> Value {
        of(name, description, json!({"type": "integer", "minimum": 0, "maximum": u64::MAX}))
    }

    pub fn choice(name: &str, description: &str, words: &[&str]) -> Value {
        of(name, description, json!({"enum": words, "default": words.first()}))
    }

    pub fn numbers() -> Value {
        choice(
            "numbers",
            "With `text`, 64-bit integers and money are strings in the response, whatever their size",
            &["exact", "text"],
        )
    }

    pub fn header(name: &str, description: &str) -> Value {
        json!({
            "name": name, "in": "header", "description": description,
            "schema": {"type": "string"},
        })
    }

    fn of(name: &str, description: &str, schema: Value) -> Value {
        json!({"name": name, "in": "query", "description": description, "schema": schema})
    }
}
