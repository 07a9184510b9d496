//! Examples and schemas of parameters with a syntax of their own, so that generic tools can send valid requests.

use super::builders::list_name;
use super::keys::{encoded_key_schema, path_key_schema};
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
                "key" => {
                    parameter["x-key"] = json!(key);
                    parameter["schema"] = path_key_schema(&table.schema);
                }
                "after" => {
                    parameter["x-key"] = json!(key);
                    // `next` of a list with an order is another text.
                    let schemas = [encoded_key_schema(&table.schema), json!({"type": "string"})];
                    parameter["schema"] = json!({ "anyOf": schemas });
                }
                // Groups can only be ordered by the columns that they are grouped by, and by their number of rows.
                "order" if groups => add_order(parameter, table, &["count"]),
                "columns" | "group" if list_names(table).is_some() => {
                    let key = key.first().map(|name| list_name(name));
                    add_list(parameter, &list_names(table).unwrap_or_default(), key);
                }
                name => {
                    if name == "order" {
                        add_order(parameter, table, &[]);
                    }
                    if let Some(example) = example(name, key.first()) {
                        parameter["example"] = json!(example);
                    }
                }
            }
        }
    }
}

/// Describes a list of columns, separated by commas. The example is the key's first column, if there is one.
fn add_list(parameter: &mut Value, names: &[String], key: Option<String>) {
    parameter["style"] = json!("form");
    parameter["explode"] = json!(false);
    parameter["example"] = json!(key.or(names.first().cloned()).as_slice());
    parameter["schema"] =
        json!({"type": "array", "items": {"enum": names}, "minItems": 1, "uniqueItems": true});
}

/// Adds the pattern of an order by columns, or by other `words`.
fn add_order(parameter: &mut Value, table: &CachedTable, words: &[&str]) {
    if let Some(names) = list_names(table) {
        let mut names: Vec<String> = names.iter().map(|name| escape(name)).collect();
        names.extend(words.iter().map(|word| (*word).to_owned()));
        let name = format!("-?({})", names.join("|"));
        parameter["schema"]["pattern"] = json!(format!("^{name}(,{name})*$"));
    }
}

/// The names of the columns as in lists; none for a table with many columns.
fn list_names(table: &CachedTable) -> Option<Vec<String>> {
    let columns = table.schema.columns();
    (columns.len() <= 50).then(|| columns.iter().map(|column| list_name(&column.name)).collect())
}

/// The text as a part of a pattern.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if r"^$\.*+?()[]{}|/".contains(c) {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
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
