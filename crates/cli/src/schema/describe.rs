//! A table in words, for the terminal.

use bobak::Value;
use bobak::schema::{Collation, ColumnSchema, KeyGeneration, OnDelete, Role, Storage, TableSchema};
use std::fmt::Write;

/// The table's columns with their types and rules, and its indexes. Ends with a line feed.
#[must_use]
pub fn describe(table: &TableSchema) -> String {
    let columns = table.columns();
    let name_width = columns.iter().map(|column| column.name.chars().count()).max().unwrap_or(0);
    let type_width = columns.iter().map(|column| type_of(column).len()).max().unwrap_or(0);
    let mut text = format!("table {}\n", table.name());
    for (place, column) in columns.iter().enumerate() {
        let line = format!(
            "  {:name_width$}  {:type_width$}  {}",
            column.name,
            type_of(column),
            rules(table, place, column).join(", ")
        );
        text.push_str(line.trim_end());
        text.push('\n');
    }
    for index in table.indexes() {
        let names: Vec<_> = index
            .columns
            .iter()
            .filter_map(|&place| columns.get(place))
            .map(|column| column.name.as_ref())
            .collect();
        let kind = if index.unique { "unique index" } else { "index" };
        writeln!(text, "  {kind} {} ({})", index.name, names.join(", "))
            .expect("writing to a String does not fail");
    }
    text
}

/// The type, with a question mark where the column may be NULL.
fn type_of(column: &ColumnSchema) -> String {
    format!("{}{}", column.ty.name(), if column.nullable { "?" } else { "" })
}

fn rules(table: &TableSchema, place: usize, column: &ColumnSchema) -> Vec<String> {
    let mut rules = Vec::new();
    if table.key().contains(&place) {
        rules.push(match (table.key_generation(), table.key().len()) {
            (KeyGeneration::Engine, _) => "key, given by the engine".to_owned(),
            (KeyGeneration::Uuid, _) => "key, given by Bobak".to_owned(),
            (KeyGeneration::Given, 1) => "key".to_owned(),
            (KeyGeneration::Given, _) => "part of the key".to_owned(),
        });
    }
    if column.unique {
        rules.push("unique".to_owned());
    }
    if let Some(max) = column.max_chars {
        rules.push(format!("at most {max} characters"));
    }
    if column.storage == Storage::Text && column.ty.has_text_form() {
        rules.push("kept as text".to_owned());
    }
    match column.collation {
        Collation::Binary => {}
        Collation::NoCase => rules.push("ASCII case ignored".to_owned()),
        Collation::UnicodeNoCase => rules.push("case ignored".to_owned()),
    }
    match column.role {
        Role::Plain => {}
        Role::CreatedAt => rules.push("time of the insert".to_owned()),
        Role::ModifiedAt => rules.push("time of the last write".to_owned()),
        Role::Version => rules.push("version".to_owned()),
    }
    if let Some(default) = &column.default {
        rules.push(format!("default {}", shown(default)));
    }
    if let Some(check) = &column.check {
        rules.push(format!("check {check}"));
    }
    if let Some(reference) = &column.reference {
        let end = match reference.on_delete {
            OnDelete::Restrict => "",
            OnDelete::Cascade => ", deleted with it",
            OnDelete::SetNull => ", NULL when it is deleted",
        };
        rules.push(format!("refers to {}.{}{end}", reference.table, reference.column));
    }
    rules
}

fn shown(value: &Value<'_>) -> String {
    match value {
        Value::Null => "NULL".to_owned(),
        Value::Int(integer) => integer.to_string(),
        Value::Float(float) => format!("{float:?}"),
        Value::Text(text) => format!("{text:?}"),
        Value::Bytes(bytes) => format!("{} bytes", bytes.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bobak::schema::Type;

    #[test]
    fn a_table_reads_as_a_table() {
        let table = TableSchema::builder("flights")
            .column(ColumnSchema::new("id", Type::I64))
            .column(ColumnSchema::new("carrier", Type::Text).max_chars(2).references(
                "airlines",
                "carrier",
                OnDelete::Cascade,
            ))
            .column(ColumnSchema::new("dep_time", Type::I64).nullable(true))
            .column(ColumnSchema::new("note", Type::Text).default("none"))
            .key(["id"])
            .index("flights_carrier", ["carrier", "dep_time"])
            .build()
            .expect("a sound table");
        assert_eq!(
            describe(&table),
            "table flights\n\
             \x20 id        i64   key, given by the engine\n\
             \x20 carrier   text  at most 2 characters, refers to airlines.carrier, deleted with it\n\
             \x20 dep_time  i64?\n\
             \x20 note      text  default \"none\"\n\
             \x20 index flights_carrier (carrier, dep_time)\n"
        );
    }
}
