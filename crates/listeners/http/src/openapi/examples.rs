//! Examples and schemas of parameters with a syntax of their own, so that generic tools can send valid requests.

use super::schemas::key_schema;
use crate::database::table::CachedTable;
use serde_json::{Value, json};

/// Adds examples to the operations of a path, and the key's columns, in order, to parameters that are
/// keys.
pub(super) fn add(path: &mut Value, table: &CachedTable) {
    let columns = table.schema.columns();
    let key = table.schema.key().iter().filter_map(|&position| columns.get(position));
    let key: Vec<&str> = key.map(|column| &*column.name).collect();
    let Some(path) = path.as_object_mut() else { return };
    for (method, part) in path {
        let parameters = if method == "parameters" { part } else { &mut part["parameters"] };
        let Some(parameters) = parameters.as_array_mut() else { continue };
        let groups = parameters.iter().any(|parameter| parameter["name"] == "group");
        for parameter in parameters {
            let name = parameter["name"].as_str().unwrap_or_default().to_owned();
            match name.as_str() {
                "key" | "after" => {
                    parameter["x-key"] = json!(key);
                    parameter["schema"] = key_schema(&table.schema);
                }
                // Groups can only be ordered by the columns that they are grouped by.
                "order" if groups => {}
                name => {
                    let sign = if name == "order" { "-?" } else { "" };
                    if matches!(name, "columns" | "group" | "order")
                        && let Some(pattern) = list_pattern(table, sign)
                    {
                        parameter["schema"]["pattern"] = json!(pattern);
                    }
                    if let Some(example) = example(name, key.first()) {
                        parameter["example"] = json!(example);
                    }
                }
            }
        }
    }
}

/// The pattern of a list of columns; none for a table with many columns, or with names that need quotes.
fn list_pattern(table: &CachedTable, sign: &str) -> Option<String> {
    let columns = table.schema.columns();
    let is_plain = |name: &str| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if columns.len() > 50 || !columns.iter().all(|column| is_plain(&column.name)) {
        return None;
    }
    let names: Vec<&str> = columns.iter().map(|column| &*column.name).collect();
    let name = format!("{sign}({})", names.join("|"));
    Some(format!("^{name}(,{name})*$"))
}

fn example(name: &str, column: Option<&&str>) -> Option<String> {
    let fixed = match name {
        "null" => Some("NULL"),
        "If-Match" | "If-None-Match" => Some("*"),
        "Prefer" => Some("return=minimal"),
        "Last-Event-ID" => Some("0"),
        _ => None,
    };
    if let Some(fixed) = fixed {
        return Some(fixed.to_owned());
    }
    // A plain name needs no quotes.
    let column = *column?;
    let is_plain = |c: char| !matches!(c, ',' | '(' | ')' | '-') && !c.is_whitespace();
    let plain = column.chars().all(is_plain).then_some(column);
    match name {
        "filter" => Some(format!("\"{}\" is not null", column.replace('"', "\"\""))),
        "columns" | "group" => plain.map(str::to_owned),
        "order" => plain.map(|column| format!("-{column}")),
        "values" => plain.map(|column| format!("count,max({column})")),
        _ => None,
    }
}
