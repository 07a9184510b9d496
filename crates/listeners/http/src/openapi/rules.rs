//! The rules of fields in the schemas of rows that are written.

use crate::json::NumberFormat;
use crate::json::write::write_cell;
use bobak_core::rules::{FieldRule, RangeLimits};
use bobak_core::{ColumnSchema, Type, Value as Stored};
use serde_json::{Value, json};
use std::ops::Bound;

/// Adds what rules say about the values of a column, as they are after white space is removed and letters have their case. Rules
/// after a function that changes values are left out.
pub(super) fn add(schema: &mut Value, column: &ColumnSchema, rules: &[FieldRule]) {
    for rule in rules {
        match rule {
            FieldRule::Normalize(_) => return,
            // Bytes have another text, in base64.
            FieldRule::Length { .. } if column.ty == Type::Bytes => {}
            FieldRule::Length { min, max } => {
                if *min > 0 {
                    schema["minLength"] = json!(min);
                }
                let known = schema.get("maxLength").and_then(Value::as_u64);
                let known = known.and_then(|known| usize::try_from(known).ok());
                if let Some(max) = max.map(|max| known.map_or(max, |known| known.min(max))) {
                    schema["maxLength"] = json!(max);
                }
            }
            FieldRule::Email => schema["format"] = json!("email"),
            FieldRule::Range { limits, .. } => add_range(schema, column, &limits()),
            rule => {
                if let Some(pattern) = rule.pattern() {
                    schema["pattern"] = json!(format!("^(?:{pattern})$"));
                }
            }
        }
    }
}

fn add_range(schema: &mut Value, column: &ColumnSchema, limits: &RangeLimits) {
    let ends = [
        (&limits.min, "minimum", "exclusiveMinimum"),
        (&limits.max, "maximum", "exclusiveMaximum"),
    ];
    for (end, included, excluded) in ends {
        let (name, value) = match end {
            Bound::Included(value) => (included, value),
            Bound::Excluded(value) => (excluded, value),
            Bound::Unbounded => continue,
        };
        // Dates and times are texts.
        if let Some(number) = json_of(column, value).filter(Value::is_number) {
            schema[name] = number;
        }
    }
}

fn json_of(column: &ColumnSchema, value: &Stored<'_>) -> Option<Value> {
    let mut text = String::new();
    write_cell(&mut text, column.ty, NumberFormat::Exact, value.as_ref());
    serde_json::from_str(&text).ok()
}
