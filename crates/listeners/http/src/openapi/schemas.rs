//! The JSON schemas of a table's rows.

use super::builders::{next_page, reference};
use super::patterns;
use crate::database::schema_cache::VisibleTables;
use crate::database::table::{CachedTable, OmittedValue};
use crate::json::NumberFormat;
use crate::json::write::write_cell;
use bobak_core::rules::FieldRules;
use bobak_core::{ColumnRole, ColumnSchema, IndexSchema, TableSchema, Type};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// Encodes a name as a component name, which may contain letters, digits, `.`, `-` and `_`. Other bytes
/// become `_` and two hexadecimal digits. A `_` is doubled, so that different names stay different.
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

/// The component of a table's rows with their related rows; that of its rows alone if it has no relations.
pub(super) fn expanded_name(catalog: &VisibleTables, table: &CachedTable) -> String {
    let name = component(table.schema.name());
    if catalog.relations_of(table).is_empty() { name } else { format!("{name}.expanded") }
}

/// Adds the schemas of a table: `name`, any of a row's columns; `name.expanded`, the same with related rows; `name.row`, a complete row; `name.new`,
/// a row to insert; `name.patch`, columns to update; `name.list`, a page of rows.
pub(super) fn components(
    schemas: &mut Map<String, Value>,
    catalog: &VisibleTables,
    table: &CachedTable,
    is_typed: bool,
    rules: &[FieldRules],
) {
    let name = component(table.schema.name());
    let columns = table.schema.columns();
    let (mut read, mut written) = (Map::new(), Map::new());
    for (position, column) in columns.iter().enumerate() {
        // SQLite permits NULL in keys, except for integer keys.
        let in_key = table.schema.key().contains(&position) && !table.schema.has_integer_key();
        let untyped = (!is_typed).then(|| untyped_schema(column, in_key));
        read.insert(column.name.to_string(), untyped.unwrap_or_else(|| column_schema(column)));
        let mut new = written_schema(column);
        for field in rules.iter().filter(|field| field.column == position) {
            super::rules::add(&mut new, column, field.rules);
        }
        written.insert(column.name.to_string(), new);
    }
    let all: Vec<&str> = columns.iter().map(|column| &*column.name).collect();
    let required: Vec<&str> = columns
        .iter()
        .zip(&table.omitted)
        .filter(|(_, omitted)| matches!(omitted, OmittedValue::Required))
        .map(|(column, _)| &*column.name)
        .collect();
    schemas.insert(
        name.clone(),
        json!({"type": "object", "properties": read, "additionalProperties": false}),
    );
    let with_relations = expanded_name(catalog, table);
    if with_relations != name {
        let mut members = read.clone();
        members.extend(catalog.relations_of(table).iter().filter_map(|relation| {
            let row = reference(&expanded_name(catalog, relation.table()?));
            let rows = match relation.is_one {
                true => json!({"anyOf": [row, {"type": "null"}]}),
                false => json!({"type": "array", "items": row}),
            };
            Some((relation.name.clone(), rows))
        }));
        let expanded =
            json!({"type": "object", "properties": members, "additionalProperties": false});
        schemas.insert(with_relations.clone(), expanded);
    }
    schemas.insert(format!("{name}.row"), json!({"allOf": [reference(&name)], "required": all}));
    let input = json!({"type": "object", "properties": written, "additionalProperties": false});
    schemas.insert(format!("{name}.patch"), input.clone());
    // Neither the key nor the version can be set in several rows.
    let mut all_rows = input.clone();
    for position in table.schema.key().iter().chain(&table.schema.version()) {
        let (column, members) = (columns.get(*position), all_rows["properties"].as_object_mut());
        column.zip(members).map(|(column, members)| members.remove(&*column.name));
    }
    all_rows["minProperties"] = json!(1);
    schemas.insert(format!("{name}.changes"), all_rows);
    let new = new_row(input, &required, table);
    schemas.insert(format!("{name}.new"), new);
    schemas.insert(format!("{name}.list"), list(table, &with_relations));
}

/// The schema of a page of rows with this schema.
fn list(table: &CachedTable, row: &str) -> Value {
    let mut list = json!({
        "type": "object",
        "required": ["rows", "more"],
        "properties": {
            "rows": {"type": "array", "items": reference(row)},
            "more": {"type": "boolean"},
            "next": next_page(),
            "total": {"type": "integer", "format": "int64", "minimum": 0},
        },
    });
    if table.schema.search().is_some() {
        super::search::add_found(&mut list);
    }
    super::search::add_distances(&mut list, &table.schema);
    list
}

/// The schema of a line of a batch, for all tables.
pub(super) fn operations(catalog: &VisibleTables) -> Value {
    let line = |operations: &[&str], table: Value, row: Value| {
        json!({
            "type": "object",
            "required": ["op", "table", "row"],
            "additionalProperties": false,
            "properties": properties(operations, table, row),
        })
    };
    let (whole, part) = (["insert", "ignore", "replace", "upsert"], ["update", "delete"]);
    let of_table = |table: &&Arc<CachedTable>| {
        let (name, label) = (component(table.schema.name()), json!({"const": table.schema.name()}));
        let rows = ["new", "patch"].map(|kind| reference(&format!("{name}.{kind}")));
        let [new, patch] = rows;
        [line(&whole, label.clone(), new), line(&part, label, patch)]
    };
    let tables = catalog.sorted();
    let tables = tables.iter().filter(|table| !table.schema.is_view());
    let all: Vec<Value> = tables.flat_map(of_table).collect();
    if all.is_empty() {
        return line(&whole, json!({"type": "string"}), json!({"type": "object"}));
    }
    json!({"anyOf": all})
}

/// The schema of the values that a column without an enforced type may contain: values of its type, or
/// any others that another program has stored.
fn untyped_schema(column: &ColumnSchema, in_key: bool) -> Value {
    let mut schema = column_schema(column);
    let other = match column.ty {
        Type::Json | Type::Any => return schema,
        // Bytes are strings as well.
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

/// The schema of a column's values. Numbers that clients might round may also be strings.
fn column_schema(column: &ColumnSchema) -> Value {
    let mut schema = type_schema(column.ty);
    if let Some(max) = column.max_chars.filter(|_| column.ty == Type::Text) {
        schema["maxLength"] = json!(max);
    }
    if column.nullable {
        permit_null(&mut schema);
    }
    if let Some(default) = &column.default {
        let mut text = String::new();
        write_cell(&mut text, column.ty, NumberFormat::Exact, default.as_ref());
        if let Ok(default) = serde_json::from_str::<Value>(&text) {
            schema["default"] = default;
        }
    }
    let description = description(column);
    if let Some(description) = description {
        schema["description"] = json!(description);
    }
    if column.generated.is_some() {
        schema["readOnly"] = json!(true);
    }
    schema
}

/// The schema of a value in a request: as text, an integer or an amount has fewer digits, since the largest ones do not fit.
fn written_schema(column: &ColumnSchema) -> Value {
    let mut schema = column_schema(column);
    match column.ty {
        Type::I64 | Type::U64 => schema["pattern"] = json!(patterns::integer(column.ty)),
        Type::Currency => {
            schema["pattern"] = json!(patterns::AMOUNT);
            let most = 922_337_203_685_477_i64;
            schema["minimum"] = json!(-most);
            schema["maximum"] = json!(most);
        }
        Type::Bytes => schema["pattern"] = json!(patterns::BASE64),
        _ => {}
    }
    schema
}

/// What a reader of the schema should know of a column that is filled for them.
fn description(column: &ColumnSchema) -> Option<&'static str> {
    match column.role {
        ColumnRole::Plain if column.generated.is_some() => {
            Some("Computed by the database; ignored in requests")
        }
        ColumnRole::Plain => None,
        ColumnRole::CreatedAt => Some("When the row was inserted; ignored in requests"),
        ColumnRole::ModifiedAt => Some("When the row was last written; ignored in requests"),
        ColumnRole::Version => {
            Some("Incremented by each update; an update that gives another version fails with 409")
        }
    }
}

/// The schema of a row to insert: a NULL for a value that is generated is the same as none.
fn new_row(mut schema: Value, required: &[&str], table: &CachedTable) -> Value {
    schema["required"] = json!(required);
    for (position, column) in table.schema.columns().iter().enumerate() {
        if table.is_generated(position) {
            permit_null(&mut schema["properties"][&*column.name]);
        }
    }
    schema
}

/// Adds `null` to the types of a schema.
fn permit_null(schema: &mut Value) {
    let Some(types) = schema.get_mut("type") else { return };
    let mut all = match types.take() {
        Value::Array(all) => all,
        one => vec![one],
    };
    if !all.iter().any(|ty| ty == "null") {
        all.push(json!("null"));
    }
    *types = Value::Array(all);
}

/// The lists of columns by which an upsert may find a row instead of the key: those of the unique indexes.
pub(super) fn unique_columns(table: &TableSchema) -> Vec<String> {
    let names = |index: &IndexSchema| {
        let columns = index.columns.iter().filter_map(|&place| table.columns().get(place));
        columns.map(|column| &*column.name).collect::<Vec<_>>().join(",")
    };
    table
        .indexes()
        .iter()
        .filter(|index| index.unique && !table.is_computed_index(index))
        .map(names)
        .collect()
}

pub(super) fn type_schema(ty: Type) -> Value {
    let wide = |number: &str| json!([number, "string"]);
    let (whole, real) = (r"^-?\d{1,19}$", r"^-?(inf|\d+(\.\d+)?([eE][-+]?\d+)?)$");
    match ty {
        Type::Bool => json!({"type": "boolean"}),
        Type::I64 => json!({"type": wide("integer"), "format": "int64", "pattern": whole}),
        Type::U64 => {
            json!({"type": wide("integer"), "format": "int64", "minimum": 0, "pattern": whole})
        }
        Type::Currency => json!({
            "type": wide("number"), "format": "decimal", "pattern": r"^-?\d+(\.\d+)?$",
            "description": "Money, exact to four decimals",
        }),
        Type::F32 => json!({
            "type": wide("number"), "format": "float", "pattern": real,
            "minimum": f32::MIN, "maximum": f32::MAX,
        }),
        Type::F64 => json!({"type": wide("number"), "format": "double", "pattern": real}),
        Type::Text => json!({"type": "string"}),
        Type::Bytes => json!({"type": "string", "contentEncoding": "base64"}),
        Type::Vector(length) => json!({
            "type": "array", "items": {"type": "number", "minimum": f32::MIN, "maximum": f32::MAX},
            "minItems": length, "maxItems": length,
        }),
        Type::Uuid => json!({"type": "string", "format": "uuid"}),
        Type::Date => json!({"type": "string", "format": "date"}),
        Type::Timestamp => {
            json!({"type": "string", "format": "date-time", "pattern": patterns::TIMESTAMP})
        }
        Type::DateTime => json!({
            "type": "string", "description": "A date and time of day, without a time zone",
            "pattern": patterns::DATE_TIME,
        }),
        Type::Time => json!({
            "type": "string", "description": "A time of day",
            "pattern": patterns::TIME,
        }),
        Type::Json => json!({"description": "Any JSON value"}),
        Type::Any => json!({"type": ["string", "number", "boolean", "null"]}),
        ty => match ty.integer_range() {
            Some((min, max)) => json!({"type": "integer", "minimum": min, "maximum": max}),
            None => json!({}),
        },
    }
}

/// The members of a line of a batch.
fn properties(operations: &[&str], table: Value, row: Value) -> Value {
    let mut properties = json!({"op": {"enum": operations}, "table": table, "row": row});
    if operations.contains(&"upsert") {
        let what =
            "The columns of a unique index by which an upsert finds a row, instead of the key";
        properties["on"] =
            json!({"type": "array", "items": {"type": "string"}, "description": what});
    }
    properties
}
