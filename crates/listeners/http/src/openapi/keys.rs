//! The schemas of keys.

use super::patterns;
use super::schemas::type_schema;
use bobak_core::{ColumnSchema, TableSchema, Type};
use serde_json::{Value, json};

/// The schema of a key in a path: its value, or an array of its values, which are separated by commas.
pub(super) fn path_key_schema(table: &TableSchema) -> Value {
    let mut parts: Vec<Value> = columns(table).map(part).collect();
    if parts.len() == 1 {
        return parts.swap_remove(0);
    }
    let count = parts.len();
    json!({"type": "array", "prefixItems": parts, "minItems": count, "maxItems": count})
}

/// The schema of a key in a parameter: its values as in a path, percent-encoded and separated by commas.
pub(super) fn encoded_key_schema(table: &TableSchema) -> Value {
    let patterns: Vec<String> = columns(table).map(encoded).collect();
    json!({"type": "string", "pattern": format!("^{}$", patterns.join(","))})
}

fn columns(table: &TableSchema) -> impl Iterator<Item = &ColumnSchema> {
    table.key().iter().filter_map(|&place| table.columns().get(place))
}

/// The schema of one value of a key.
fn part(column: &ColumnSchema) -> Value {
    let text = || json!({"type": "string", "minLength": 1});
    match column.ty {
        Type::I64 | Type::U64 => {
            json!({"type": "string", "pattern": patterns::integer(column.ty)})
        }
        Type::Currency => json!({"type": "string", "pattern": patterns::AMOUNT}),
        Type::F32 | Type::F64 => json!({"type": "number"}),
        Type::Uuid => json!({"type": "string", "format": "uuid", "pattern": patterns::UUID}),
        Type::Text => {
            let mut schema = text();
            if let Some(max) = column.max_chars {
                schema["maxLength"] = json!(max);
            }
            schema
        }
        Type::Bytes => json!({"type": "string", "pattern": "^([A-Za-z0-9]{4})+$"}),
        Type::Json | Type::Any | Type::Decimal => text(),
        ty => type_schema(ty),
    }
}

/// The pattern of one value of a key, percent-encoded, without `^` and `$`.
fn encoded(column: &ColumnSchema) -> String {
    let pattern = match column.ty {
        Type::I64 | Type::U64 => patterns::integer(column.ty),
        Type::Currency => patterns::AMOUNT,
        Type::Uuid => patterns::UUID,
        Type::Bool => "^(true|false)$",
        Type::Date => r"^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$",
        Type::I8 | Type::I16 | Type::I32 | Type::U8 | Type::U16 | Type::U32 => r"^-?\d{1,10}$",
        _ => {
            let most = column.max_chars.map_or(String::new(), |max| max.to_string());
            // A text may be empty, but no part of a path.
            return format!("{}{{0,{most}}}", patterns::ENCODED_CHARACTER);
        }
    };
    pattern.trim_start_matches('^').trim_end_matches('$').to_owned()
}
