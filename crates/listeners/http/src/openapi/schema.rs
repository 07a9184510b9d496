//! The schemas of a table's rows.

use super::parts::reference;
use crate::json::{Numbers, write_cell};
use crate::model::{Absent, Model, Table};
use bobak_core::{ColumnSchema, Role, Type};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// A name as components may have it: letters, digits, `.`, `-`, `_`; other bytes as `_` and two
/// digits. A `_` is doubled, so that no two names meet.
pub(super) fn component(name: &str) -> String {
    let mut safe = String::with_capacity(name.len());
    for byte in name.bytes() {
        match byte {
            b'_' => safe.push_str("__"),
            b'-' => safe.push('-'),
            _ if byte.is_ascii_alphanumeric() => safe.push(char::from(byte)),
            _ => safe.push_str(&format!("_{byte:02x}")),
        }
    }
    safe
}

/// Adds the schemas of a table: `name`, of which an answer may have a part; `name.row`, a whole
/// one; `name.new`, what makes a row; `name.list`.
pub(super) fn components(schemas: &mut Map<String, Value>, table: &Table, loose: bool) {
    let name = component(table.schema.name());
    let columns = table.schema.columns();
    let (mut read, mut written) = (Map::new(), Map::new());
    for (place, column) in columns.iter().enumerate() {
        // SQLite lets NULL into keys, but for integers.
        let in_key = table.schema.key().contains(&place) && !table.schema.has_integer_key();
        let of_file = loose.then(|| as_found(column, in_key));
        read.insert(column.name.to_string(), of_file.unwrap_or_else(|| of(column)));
        written.insert(column.name.to_string(), of(column));
    }
    let all: Vec<&str> = columns.iter().map(|column| &*column.name).collect();
    let wanted: Vec<&str> = columns
        .iter()
        .zip(&table.absent)
        .filter(|(_, absent)| matches!(absent, Absent::Refused))
        .map(|(column, _)| &*column.name)
        .collect();
    schemas.insert(
        name.clone(),
        json!({"type": "object", "properties": read, "additionalProperties": false}),
    );
    schemas.insert(format!("{name}.row"), json!({"allOf": [reference(&name)], "required": all}));
    let input = json!({"type": "object", "properties": written, "additionalProperties": false});
    schemas.insert(format!("{name}.patch"), input.clone());
    let mut new = input;
    new["required"] = json!(wanted);
    schemas.insert(format!("{name}.new"), new);
    schemas.insert(
        format!("{name}.list"),
        json!({
            "type": "object",
            "required": ["rows", "more"],
            "properties": {
                "rows": {"type": "array", "items": reference(&name)},
                "more": {"type": "boolean"},
                "next": {"type": "string", "description": "The value of `after` for the next page; percent-encoded in its URL"},
                "total": {"type": "integer", "format": "int64", "minimum": 0},
            },
        }),
    );
}

/// The schema of a line of a batch: which tables there are, and what their rows are like.
pub(super) fn operations(model: &Model) -> Value {
    let line = |operations: &[&str], table: Value, row: Value| {
        json!({
            "type": "object",
            "required": ["op", "table", "row"],
            "additionalProperties": false,
            "properties": {"op": {"enum": operations}, "table": table, "row": row},
        })
    };
    let (whole, part) = (["insert", "ignore", "replace", "upsert"], ["update", "delete"]);
    let of_table = |table: &&Arc<Table>| {
        let (name, label) = (component(table.schema.name()), json!({"const": table.schema.name()}));
        let rows = ["new", "patch"].map(|kind| reference(&format!("{name}.{kind}")));
        let [new, patch] = rows;
        [line(&whole, label.clone(), new), line(&part, label, patch)]
    };
    let all: Vec<Value> = model.sorted().iter().flat_map(of_table).collect();
    if all.is_empty() {
        return line(&whole, json!({"type": "string"}), json!({"type": "object"}));
    }
    json!({"anyOf": all})
}

/// The schema of what may be found in a column: of a value of its type, or of whatever another
/// program has stored there.
fn as_found(column: &ColumnSchema, in_key: bool) -> Value {
    let mut schema = of(column);
    let other = match column.ty {
        Type::Json | Type::Any => return schema,
        // Bytes are strings too.
        Type::Text => json!({"type": ["string", "null"]}),
        _ => json!({"type": ["string", "number", "null"]}),
    };
    if column.ty == Type::Text && column.max_chars.is_none() && (column.nullable || !in_key) {
        return schema;
    }
    let mut outer = json!({});
    for outside in ["default", "description"] {
        if let Some(value) = schema.as_object_mut().and_then(|schema| schema.remove(outside)) {
            outer[outside] = value;
        }
    }
    outer["anyOf"] = json!([schema, other]);
    outer
}

/// The schema of a column's values. Numbers that readers might round may be strings too.
fn of(column: &ColumnSchema) -> Value {
    let mut schema = of_type(column.ty);
    if let Some(most) = column.max_chars.filter(|_| column.ty == Type::Text) {
        schema["maxLength"] = json!(most);
    }
    if column.nullable
        && let Some(types) = schema.get_mut("type")
    {
        let mut all = match types.take() {
            Value::Array(all) => all,
            one => vec![one],
        };
        if !all.iter().any(|ty| ty == "null") {
            all.push(json!("null"));
        }
        *types = Value::Array(all);
    }
    if let Some(default) = &column.default {
        let mut text = String::new();
        write_cell(&mut text, column.ty, Numbers::Exact, default.as_ref());
        if let Ok(default) = serde_json::from_str::<Value>(&text) {
            schema["default"] = default;
        }
    }
    let filled = match column.role {
        Role::Plain => None,
        Role::CreatedAt => Some("When the row was made; what is sent is passed over"),
        Role::ModifiedAt => Some("When the row was last written; what is sent is passed over"),
        Role::Version => Some("Raised by each update; one that names another is refused with 409"),
    };
    if let Some(filled) = filled {
        schema["description"] = json!(filled);
    }
    schema
}

fn of_type(ty: Type) -> Value {
    let wide = |number: &str| json!([number, "string"]);
    match ty {
        Type::Bool => json!({"type": "boolean"}),
        Type::I64 | Type::U64 => json!({"type": wide("integer"), "format": "int64"}),
        Type::Currency => json!({
            "type": wide("number"), "format": "decimal",
            "description": "Money, exact to four decimals",
        }),
        Type::F32 => json!({"type": wide("number"), "format": "float"}),
        Type::F64 => json!({"type": wide("number"), "format": "double"}),
        Type::Text => json!({"type": "string"}),
        Type::Bytes => json!({"type": "string", "contentEncoding": "base64"}),
        Type::Uuid => json!({"type": "string", "format": "uuid"}),
        Type::Date => json!({"type": "string", "format": "date"}),
        Type::Timestamp => json!({"type": "string", "format": "date-time"}),
        Type::DateTime => json!({
            "type": "string", "description": "A date with a time of day, without a zone",
            "pattern": r"^-?\d{4,6}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d{1,9})?)?$",
        }),
        Type::Time => json!({
            "type": "string", "description": "A time of day",
            "pattern": r"^\d\d:\d\d(:\d\d(\.\d{1,9})?)?$",
        }),
        Type::Json => json!({"description": "Any JSON"}),
        Type::Any => json!({"type": ["string", "number", "boolean", "null"]}),
        ty => match ty.integer_range() {
            Some((least, most)) => json!({"type": "integer", "minimum": least, "maximum": most}),
            None => json!({}),
        },
    }
}
