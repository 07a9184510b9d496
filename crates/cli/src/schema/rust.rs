//! Generates Rust structs for existing tables.

use crate::schema::names::{KEYWORDS, field_name, struct_name};
use crate::schema::relations::{StructRelation, TableStruct, inverse_relations, relations};
use bobak::Value;
use bobak::schema::{
    Collation, ColumnRole, ColumnSchema, ForeignKey, IndexSchema, KeyGeneration, OnDelete,
    OnUpdate, TableSchema, Type,
};
use bobak_sql::LONG_DECIMAL;
use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt::Write;

/// A module with one `#[derive(Record)]` struct per table or view, and their relations. `others` are lines on what else the database has.
///
/// A comment says what is known of each column that holds values of any type. A table whose key has too many columns for a record gets a
/// comment instead of a struct.
#[must_use]
pub fn rust_module(tables: &[TableSchema], others: &[String]) -> String {
    let structs = table_structs(tables);
    let all: Vec<_> = structs.iter().map(|owner| (owner, relations(owner, &structs))).collect();
    let mut text = "use bobak::prelude::*;\n".to_owned();
    if all.iter().any(|(_, relations)| !relations.is_empty()) {
        text.push_str("use bobak::relation::ToMany;\n");
    }
    let mut line = |text_line: String| {
        writeln!(text, "{text_line}").expect("writing to a String does not fail");
    };
    for other in others {
        line(format!("// In no struct: {}", one_line(other)));
    }
    for table in tables {
        let found = all.iter().find(|(owner, _)| std::ptr::eq(owner.table, table));
        let Some((owner, relations)) = found else {
            let (table, columns) = (one_line(table.name()), table.key().len());
            line(format!(
                "\n// Without a struct: {table}: its key has {columns} columns, a record's at most {MAX_KEY}."
            ));
            continue;
        };
        line(format!("\n{}", rust_struct(owner, relations)));
        let inverse = inverse_relations(owner, &all);
        if inverse.is_empty() {
            continue;
        }
        line(format!("\n#[allow(dead_code)]\nimpl {} {{", owner.name));
        for (name, other, relation) in inverse {
            line(format!(
                "    pub const {name}: ToMany<Self, {other}> = {other}::{relation}.inverse();"
            ));
        }
        line("}".to_owned());
    }
    text
}

/// The structs of the tables, with names that differ.
fn table_structs(tables: &[TableSchema]) -> Vec<TableStruct<'_>> {
    let mut taken = HashSet::new();
    let with_key = tables.iter().filter(|table| table.key().len() <= MAX_KEY);
    with_key
        .map(|table| {
            let mut name = struct_name(table.name());
            while !taken.insert(name.clone()) {
                name.push('_');
            }
            let (columns, mut taken) = (table.columns().iter(), HashSet::new());
            let fields =
                columns.map(|column| field_name(&column.name, KEYWORDS, str::to_owned, &mut taken));
            TableStruct { table, name, fields: fields.collect() }
        })
        .collect()
}

/// The most fields of a record's key.
const MAX_KEY: usize = 8;

/// The columns in the order of the fields: a record's key is in the order of its fields.
fn field_order(table: &TableSchema) -> Vec<usize> {
    let mut key = table.key().iter().copied();
    let column =
        |place| if table.key().contains(&place) { key.next().unwrap_or(place) } else { place };
    (0..table.columns().len()).map(column).collect()
}

fn rust_struct(owner: &TableStruct<'_>, relations: &[StructRelation<'_>]) -> String {
    let TableStruct { table, name, fields } = owner;
    let columns = table.columns();
    let mut lines = vec!["#[derive(Record, Debug, Clone, PartialEq)]".to_owned()];
    let mut on_struct = vec![format!("table = {}", quoted(table.name()))];
    if table.is_view() {
        on_struct.push("view".to_owned());
    }
    if table.never_reuses_keys() {
        on_struct.push("never_reuse_keys".to_owned());
    }
    on_struct.extend(search(table, fields));
    on_struct.extend(table_indexes(table, fields));
    on_struct.extend(foreign_keys(owner, relations));
    lines.push(format!("#[record({})]", on_struct.join(", ")));
    lines.push(format!("pub struct {name} {{"));
    for place in field_order(table) {
        let (Some(column), Some(field)) = (columns.get(place), fields.get(place)) else { continue };
        let relation = relations.iter().find(|relation| relation.is_of_column(place));
        let attributes = attributes(table, place, field, relation);
        if !attributes.is_empty() {
            lines.push(format!("    #[record({})]", attributes.join(", ")));
        }
        lines.push(format!("    pub {field}: {},{}", rust_type(column), comment(column)));
    }
    lines.push("}".to_owned());
    lines.join("\n")
}

/// The attribute of a table that is searched.
fn search(table: &TableSchema, fields: &[String]) -> Option<String> {
    let search = table.search()?;
    let names = search.columns.iter().filter_map(|place| fields.get(*place));
    let names: Vec<&str> = names.map(String::as_str).collect();
    let language = search.language.name();
    let language = match language {
        "simple" => String::new(),
        language => format!(", language = {}", quoted(language)),
    };
    Some(format!("search({}{language})", names.join(", ")))
}

/// What is known of a column whose declared type does not say what its values are.
fn comment(column: &ColumnSchema) -> String {
    let values = match column.ty {
        Type::Any if column.declared.is_none() => return " // declared without a type".to_owned(),
        Type::Any => "values of any type",
        Type::Text => "texts",
        Type::I64 => "integers",
        Type::F64 => "numbers",
        Type::Bytes => "bytes",
        _ => return String::new(),
    };
    match column.declared.as_deref() {
        Some(declared) if declared != LONG_DECIMAL => {
            format!(" // declared {}: holds {values}", one_line(declared))
        }
        _ => String::new(),
    }
}

/// The text for a comment to the end of a line.
pub(super) fn one_line(text: &str) -> String {
    text.replace(char::is_control, " ")
}

/// The type of a column's values, without NULL.
pub(super) fn plain_type(column: &ColumnSchema) -> Cow<'static, str> {
    Cow::Borrowed(match column.ty {
        Type::Text => "String",
        Type::Bytes => "Vec<u8>",
        Type::Uuid => "Uuid",
        Type::Currency => "Currency",
        Type::Date => "Date",
        Type::Time => "Time",
        Type::DateTime => "DateTime",
        Type::Timestamp => "Timestamp",
        Type::Json => "Json<serde_json::Value>",
        Type::Any => "Value<'static>",
        Type::Vector(length) => return Cow::Owned(format!("Vector<{length}>")),
        ty => ty.name(),
    })
}

fn rust_type(column: &ColumnSchema) -> Cow<'static, str> {
    let plain = plain_type(column);
    if column.nullable && column.ty != Type::Any {
        return Cow::Owned(format!("Option<{plain}>"));
    }
    plain
}

fn attributes(
    table: &TableSchema,
    place: usize,
    field: &str,
    relation: Option<&StructRelation<'_>>,
) -> Vec<String> {
    let Some(column) = table.columns().get(place) else { return Vec::new() };
    let mut attributes = Vec::new();
    attributes.extend(key(table, place, column, field));
    if field != column.name {
        attributes.push(format!("column = {}", quoted(&column.name)));
    }
    let max = column.max_chars.filter(|_| column.ty == Type::Text);
    attributes.extend(max.map(|max| format!("max = {max}")));
    if column.unique {
        attributes.push("unique".to_owned());
    } else if table.indexes().iter().any(|index| is_of_field(table, index, place)) {
        attributes.push("index".to_owned());
    }
    if column.is_kept_as_text() {
        attributes.push("store = \"text\"".to_owned());
    }
    match column.collation {
        Collation::Binary => {}
        _ if column.ty != Type::Text => {}
        Collation::NoCase => attributes.push("collation = \"nocase\"".to_owned()),
        Collation::UnicodeNoCase => attributes.push("collation = \"unicode_nocase\"".to_owned()),
    }
    match column.role {
        ColumnRole::Plain => {}
        ColumnRole::CreatedAt => attributes.push("created_at".to_owned()),
        ColumnRole::ModifiedAt => attributes.push("modified_at".to_owned()),
        ColumnRole::Version => attributes.push("version".to_owned()),
    }
    attributes.extend(default(column));
    let generated = column.generated.as_ref();
    attributes.extend(generated.map(|text| format!("generated = {}", quoted(text))));
    attributes.extend(column.check.as_ref().map(|check| format!("check = {}", quoted(check))));
    attributes.extend(reference(column, relation));
    attributes
}

/// The foreign key of a column: to a struct, or to a table by its name.
fn reference(column: &ColumnSchema, relation: Option<&StructRelation<'_>>) -> Vec<String> {
    let Some(reference) = &column.reference else { return Vec::new() };
    let target = match relation {
        Some(relation) => relation.target.name.clone(),
        None if is_plain(&reference.table) && is_plain(&reference.column) => {
            quoted(&format!("{}({})", reference.table, reference.column))
        }
        None => return Vec::new(),
    };
    let (on_delete, on_update) = (reference.on_delete, reference.on_update);
    let mut attributes = vec![format!("references = {target}")];
    attributes.extend(actions(on_delete, on_update, reference.deferred, column.nullable));
    attributes
}

fn key(table: &TableSchema, place: usize, column: &ColumnSchema, field: &str) -> Option<String> {
    if !table.key().contains(&place) {
        return None;
    }
    let alone = table.key().len() == 1;
    let may_be_made = alone && matches!(column.ty, Type::I64 | Type::Uuid);
    if may_be_made && table.key_generation() == KeyGeneration::Given {
        return Some("key = \"given\"".to_owned());
    }
    // A single key field `id` needs no attribute.
    (!alone || field != "id").then(|| "key".to_owned())
}

/// The default, if the derive supports it: for booleans, numbers and text.
fn default(column: &ColumnSchema) -> Option<String> {
    let text = match (column.default.as_ref()?, column.ty) {
        (Value::Int(integer @ (0 | 1)), Type::Bool) => (*integer == 1).to_string(),
        (Value::Int(integer), ty) if is_integer(ty) => integer.to_string(),
        (Value::Float(float), Type::F32 | Type::F64) => format!("{float:?}"),
        (Value::Text(text), Type::Text)
            if column.max_chars.is_none_or(|max| text.chars().count() <= max as usize) =>
        {
            quoted(text)
        }
        _ => return None,
    };
    Some(format!("default = {text}"))
}

const fn is_integer(ty: Type) -> bool {
    use Type::{I8, I16, I32, I64, U8, U16, U32, U64};
    matches!(ty, I8 | I16 | I32 | I64 | U8 | U16 | U32 | U64)
}

/// What a foreign key does, unless it is the default.
fn actions(on_delete: OnDelete, on_update: OnUpdate, deferred: bool, null: bool) -> Vec<String> {
    let on_delete = delete_action(on_delete, null).map(|action| format!("on_delete = {action:?}"));
    let on_update = match on_update {
        OnUpdate::NoAction => None,
        OnUpdate::Restrict => Some("on_update = \"restrict\""),
        OnUpdate::Cascade => Some("on_update = \"cascade\""),
        OnUpdate::SetNull if !null => None,
        OnUpdate::SetNull => Some("on_update = \"set_null\""),
    };
    let others = [on_update, deferred.then_some("deferred")].into_iter().flatten();
    on_delete.into_iter().chain(others.map(str::to_owned)).collect()
}

/// What a delete of the referenced row does, unless it is the default.
pub(super) const fn delete_action(on_delete: OnDelete, null: bool) -> Option<&'static str> {
    match on_delete {
        OnDelete::Restrict => None,
        OnDelete::Cascade => Some("cascade"),
        OnDelete::SetNull if null => Some("set_null"),
        // If the column may not be NULL, the delete fails.
        OnDelete::SetNull | OnDelete::NoAction => Some("no_action"),
    }
}

/// The foreign keys of several columns.
fn foreign_keys(owner: &TableStruct<'_>, relations: &[StructRelation<'_>]) -> Vec<String> {
    let TableStruct { table, fields, .. } = owner;
    let attribute = |key: &ForeignKey| {
        let own = key.columns.iter().filter_map(|&place| fields.get(place));
        let mut parts: Vec<String> = own.cloned().collect();
        let relation = relations.iter().find(|relation| relation.is_of_key(key));
        match relation {
            Some(StructRelation { target, fields, .. }) => {
                parts.push(format!("references = {}({})", target.name, fields.join(", ")));
            }
            None if can_be_named(key) => {
                let target = format!("{}({})", key.table, key.referenced.join(", "));
                parts.push(format!("references = {}", quoted(&target)));
            }
            None => return None,
        }
        let mut own = key.columns.iter().filter_map(|&place| table.columns().get(place));
        let null = own.all(|column| column.nullable);
        parts.extend(actions(key.on_delete, key.on_update, key.deferred, null));
        let named = relation.filter(|relation| relation.is_named);
        parts.extend(named.map(|relation| format!("relation = {}", relation.constant)));
        Some(format!("foreign_key({})", parts.join(", ")))
    };
    table.foreign_keys().iter().filter_map(attribute).collect()
}

fn can_be_named(key: &ForeignKey) -> bool {
    is_plain(&key.table) && key.referenced.iter().all(|name| is_plain(name) && !name.contains(','))
}

/// Whether `references` can name it.
pub(super) fn is_plain(name: &str) -> bool {
    !name.contains(['(', ')']) && name.trim() == name
}

/// The indexes that no attribute of a field says.
fn table_indexes(table: &TableSchema, fields: &[String]) -> Vec<String> {
    table
        .indexes()
        .iter()
        .filter(|index| !is_of_a_field(table, index))
        .map(|index| {
            let mut parts: Vec<String> =
                index.columns.iter().filter_map(|&place| fields.get(place)).cloned().collect();
            if index.unique {
                parts.push("unique".to_owned());
            }
            parts.push(format!("name = {}", quoted(&index.name)));
            format!("index({})", parts.join(", "))
        })
        .collect()
}

/// Whether an attribute of a field says that there is this index.
pub(super) fn is_of_a_field(table: &TableSchema, index: &IndexSchema) -> bool {
    match index.columns[..] {
        [place] if index.unique => table.columns().get(place).is_some_and(|column| column.unique),
        [place] => is_of_field(table, index, place),
        _ => false,
    }
}

/// Whether it is the index that `index` on the field makes: of this column alone, by its name.
pub(super) fn is_of_field(table: &TableSchema, index: &IndexSchema, place: usize) -> bool {
    let name = table.columns().get(place).map(|column| format!("{}_{}", table.name(), column.name));
    !index.unique && index.columns == [place] && name.as_deref() == Some(&*index.name)
}

/// A string literal.
fn quoted(text: &str) -> String {
    format!("{text:?}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_struct_says_what_the_table_says() {
        let planes = TableSchema::builder("planes")
            .column(ColumnSchema::new("tailnum", Type::Text).max_chars(6))
            .column(ColumnSchema::new("type", Type::Text).default("a \"jet\""))
            .column(ColumnSchema::new("year", Type::I64).nullable(true))
            .column(ColumnSchema::new("is new", Type::Bool).default(true))
            .column(ColumnSchema::new("serial", Type::I32).unique())
            .column(ColumnSchema::new("maker", Type::I64).nullable(true).references(
                "makers",
                "id",
                OnDelete::SetNull,
            ))
            .key(["tailnum"])
            .index("planes_year", ["year"])
            .index("by_maker", ["maker"])
            .unique_index("planes_type_year", ["type", "year"])
            .build()
            .expect("a sound table");
        assert_eq!(
            rust_module(&[planes], &[]),
            r#"use bobak::prelude::*;

#[derive(Record, Debug, Clone, PartialEq)]
#[record(table = "planes", index(maker, name = "by_maker"), index(type_, year, unique, name = "planes_type_year"))]
pub struct Plane {
    #[record(key, max = 6)]
    pub tailnum: String,
    #[record(column = "type", default = "a \"jet\"")]
    pub type_: String,
    #[record(index)]
    pub year: Option<i64>,
    #[record(column = "is new", default = true)]
    pub is_new: bool,
    #[record(unique)]
    pub serial: i32,
    #[record(references = "makers(id)", on_delete = "set_null")]
    pub maker: Option<i64>,
}
"#
        );
    }

    #[test]
    fn given_keys_have_an_attribute() {
        let table = |given: bool| {
            let table =
                TableSchema::builder("t").column(ColumnSchema::new("id", Type::I64)).key(["id"]);
            let table = if given { table.given_key() } else { table };
            rust_module(&[table.build().expect("a sound table")], &[])
        };
        assert!(table(false).contains("{\n    pub id: i64,"));
        assert!(table(true).contains("    #[record(key = \"given\")]\n    pub id: i64,"));
    }
}
