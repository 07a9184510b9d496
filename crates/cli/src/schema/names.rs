//! Converts names of tables and columns to Rust names.

use std::collections::HashSet;
use unicode_ident::{is_xid_continue, is_xid_start};

/// Rust keywords of all editions, including weak keywords that would confuse readers.
pub const KEYWORDS: &[&str] = &[
    "abstract", "as", "async", "await", "become", "box", "break", "const", "continue", "crate",
    "do", "dyn", "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if", "impl",
    "in", "let", "loop", "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref",
    "return", "self", "static", "struct", "super", "trait", "true", "try", "type", "typeof",
    "union", "unsafe", "unsized", "use", "virtual", "where", "while", "yield",
];

/// Singular words that end in `s`.
const SINGULAR: &[&str] = &["news", "series", "species", "lens", "alias", "atlas", "canvas", "gas"];

/// Names that the fields of generated structs, and their derives, use.
const USED: &[&str] = &[
    "Box",
    "Clone",
    "Currency",
    "Date",
    "DateTime",
    "Debug",
    "Err",
    "Json",
    "None",
    "Ok",
    "Option",
    "PartialEq",
    "Record",
    "Some",
    "String",
    "Time",
    "Timestamp",
    "Uuid",
    "Value",
    "Vec",
];

/// The struct name for a table: camel case, with a plural in `s` turned into the singular.
#[must_use]
pub fn struct_name(table: &str) -> String {
    let words: Vec<_> = words(table);
    let mut name = String::new();
    for (index, word) in words.iter().enumerate() {
        let word = if index + 1 == words.len() { singular(word) } else { word.clone() };
        name.push_str(&upper_first(&word));
    }
    if USED.contains(&name.as_str()) {
        return format!("{name}Row");
    }
    if starts_like_a_name(&name) && name != "Self" { name } else { format!("Table{name}") }
}

/// `Name` for `name`.
pub fn upper_first(word: &str) -> String {
    let mut chars = word.chars();
    chars.next().map(char::to_uppercase).into_iter().flatten().collect::<String>() + chars.as_str()
}

/// The name of a table or column in snake case, which may be a keyword.
pub fn snake_name(name: &str) -> String {
    let snake = words(name).join("_");
    if starts_like_a_name(&snake) { snake } else { format!("column_{snake}") }
}

/// The field name for a column: snake case as the language spells it, no keyword, unique among `taken`, to which it is added.
#[must_use]
pub fn field_name(
    column: &str,
    keywords: &[&str],
    spelled: fn(&str) -> String,
    taken: &mut HashSet<String>,
) -> String {
    let mut name = spelled(&snake_name(column));
    if !starts_like_a_name(&name) {
        name.insert_str(0, "column_");
    }
    while keywords.contains(&name.as_str()) || taken.contains(&name) {
        name.push('_');
    }
    taken.insert(name.clone());
    name
}

/// The words of a name in lower case: `depTime`, `dep_time` and `Dep Time` all give `dep` and `time`.
fn words(name: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut after_lower = false;
    for c in name.chars() {
        let part = is_xid_continue(c) && c != '_';
        if (!part || (c.is_uppercase() && after_lower)) && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if part {
            word.extend(c.to_lowercase());
        }
        after_lower = c.is_lowercase() || c.is_numeric();
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

fn singular(word: &str) -> String {
    let ends = |end: &str| word.len() > end.len() + 1 && word.ends_with(end);
    if SINGULAR.contains(&word) || ["ss", "us", "is"].iter().any(|end| ends(end)) {
        return word.to_owned();
    }
    if let Some(stem) = word.strip_suffix("ies").filter(|stem| stem.len() > 1) {
        return format!("{stem}y");
    }
    for end in ["sses", "xes", "ches", "shes"] {
        if ends(end) {
            return word.trim_end_matches("es").to_owned();
        }
    }
    match word.strip_suffix('s') {
        Some(stem) if stem.len() > 1 => stem.to_owned(),
        _ => word.to_owned(),
    }
}

pub fn starts_like_a_name(name: &str) -> bool {
    name.starts_with(is_xid_start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn struct_names_are_singular() {
        for (table, name) in [
            ("flights", "Flight"),
            ("airlines", "Airline"),
            ("weather", "Weather"),
            ("order_lines", "OrderLine"),
            ("cities", "City"),
            ("addresses", "Address"),
            ("boxes", "BoxRow"),
            ("foxes", "Fox"),
            ("status", "Status"),
            ("series", "Series"),
            ("OrderLine", "OrderLine"),
            ("my table", "MyTable"),
            ("2013", "Table2013"),
            ("self", "TableSelf"),
            ("", "Table"),
        ] {
            assert_eq!(struct_name(table), name);
        }
    }

    #[test]
    fn field_names_are_unique_and_valid() {
        let mut taken = HashSet::new();
        for (column, name) in [
            ("depTime", "dep_time"),
            ("dep_time", "dep_time_"),
            ("Dep Time", "dep_time__"),
            ("type", "type_"),
            ("2nd", "column_2nd"),
            ("größe", "größe"),
            ("%", "column_"),
            ("m²", "m"),
            ("_id", "id"),
            ("名前", "名前"),
            ("", "column__"),
        ] {
            assert_eq!(field_name(column, KEYWORDS, str::to_owned, &mut taken), name);
        }
    }
}
