//! A table's description, and values, as JSON: for engines that store schemas themselves.

use crate::schema_change::index_parts as named;
use bobak_core::search::SearchLanguage;
use bobak_core::{
    Collation, ColumnRole, ColumnSchema, Error, ErrorKind, ForeignKey, KeyGeneration, OnDelete,
    OnUpdate, Reference, Result, Storage, TableSchema, Type, Value, ValueRef,
};
use serde_json::{Map, Value as Json, json};

/// Describes a table. Defaults are left out.
#[must_use]
pub fn table_to_json(table: &TableSchema) -> Json {
    let key = table.key().iter();
    let key = key.filter_map(|position| Some(table.columns().get(*position)?.name.as_ref()));
    let indexes = table.indexes().iter().map(|index| {
        let (name, columns, unique) = named(table, index);
        json!({ "name": name, "columns": columns, "unique": unique })
    });
    let mut json = json!({
        "name": table.name(),
        "columns": table.columns().iter().map(column_to_json).collect::<Vec<_>>(),
        "key": key.collect::<Vec<_>>(),
        "given_key": table.key_generation() == KeyGeneration::Given,
        "indexes": indexes.collect::<Vec<_>>(),
    });
    if table.never_reuses_keys() {
        json["never_reuse_keys"] = true.into();
    }
    if let Some(search) = table.search() {
        let columns = search.columns.iter();
        let columns = columns.filter_map(|&at| Some(table.columns().get(at)?.name.as_ref()));
        let columns: Vec<&str> = columns.collect();
        json["search"] = json!({ "columns": columns, "language": search.language.name() });
    }
    if !table.foreign_keys().is_empty() {
        let keys = table.foreign_keys().iter().map(|key| {
            let columns = key.columns.iter().filter_map(|&at| table.columns().get(at));
            foreign_key_to_json(columns.map(|column| &*column.name), key)
        });
        json["foreign_keys"] = keys.collect();
    }
    json
}

/// Describes a foreign key of columns with these names.
#[must_use]
pub fn foreign_key_to_json<'c>(
    columns: impl IntoIterator<Item = &'c str>,
    key: &ForeignKey,
) -> Json {
    let columns = columns.into_iter();
    let mut json = json!({
        "columns": columns.collect::<Vec<_>>(),
        "table": key.table,
        "referenced": key.referenced,
        "on_delete": name_of(ON_DELETE, key.on_delete),
    });
    put_rules(&mut json, key.on_update, key.deferred);
    json
}

/// Adds what a foreign key does beyond its action on deletes.
fn put_rules(json: &mut Json, on_update: OnUpdate, deferred: bool) {
    if on_update != OnUpdate::NoAction {
        json["on_update"] = name_of(ON_UPDATE, on_update).into();
    }
    if deferred {
        json["deferred"] = true.into();
    }
}

/// The action on updates, and whether the foreign key is deferred.
fn rules_from_json(json: &Json) -> Result<(OnUpdate, bool)> {
    let on_update = match optional(json, "on_update")? {
        Some(action) => by_name(ON_UPDATE, "on_update", action)?,
        None => OnUpdate::NoAction,
    };
    Ok((on_update, json.get("deferred").and_then(Json::as_bool).unwrap_or(false)))
}

/// The table with a description by [`table_to_json`].
///
/// # Errors
/// `Corrupt` if the description is damaged, `Schema` if its table is invalid.
pub fn table_from_json(json: &Json) -> Result<TableSchema> {
    let mut builder = TableSchema::builder(text(json, "name")?.to_owned());
    let mut own = Vec::new();
    for column in list(json, "columns")? {
        let column = column_from_json(column)?;
        if column.unique {
            own.push(format!("{}_{}_unique", text(json, "name")?, column.name));
        }
        builder = builder.column(column);
    }
    builder = builder.key(names(json, "key")?);
    if json.get("given_key").and_then(Json::as_bool).unwrap_or(false) {
        builder = builder.given_key();
    }
    if json.get("never_reuse_keys").and_then(Json::as_bool).unwrap_or(false) {
        builder = builder.never_reuse_keys();
    }
    for index in list(json, "indexes")? {
        let unique = index.get("unique").and_then(Json::as_bool).unwrap_or(false);
        let (name, columns) = (text(index, "name")?.to_owned(), names(index, "columns")?);
        builder = match unique {
            // The column has it already.
            true if own.contains(&name) => builder,
            true => builder.unique_index(name, columns),
            false => builder.index(name, columns),
        };
    }
    if let Some(search) = json.get("search").filter(|search| !search.is_null()) {
        let language = SearchLanguage::from_name(text(search, "language")?)?;
        builder = builder.search(names(search, "columns")?, language);
    }
    for key in json.get("foreign_keys").and_then(Json::as_array).into_iter().flatten() {
        let (columns, key) = foreign_key_from_json(key)?;
        builder = builder.foreign_key(columns, key);
    }
    builder.build()
}

/// The foreign key that a JSON object describes, and the names of its columns.
///
/// # Errors
/// `Corrupt`.
pub fn foreign_key_from_json(json: &Json) -> Result<(Vec<String>, ForeignKey)> {
    let on_delete = on_delete_from_json(json)?;
    let (table, referenced) = (text(json, "table")?.to_owned(), names(json, "referenced")?);
    let mut key = ForeignKey::new(table, referenced, on_delete);
    (key.on_update, key.deferred) = rules_from_json(json)?;
    Ok((names(json, "columns")?, key))
}

/// Describes a column.
#[must_use]
pub fn column_to_json(column: &ColumnSchema) -> Json {
    let mut json = Map::new();
    let mut put = |name: &str, value: Json| {
        json.insert(name.to_owned(), value);
    };
    put("name", column.name.as_ref().into());
    put("type", column.ty.to_string().into());
    if column.storage != column.ty.storage() {
        put("storage", column.storage.name().into());
    }
    put("nullable", column.nullable.into());
    if let Some(max) = column.max_chars {
        put("max_chars", max.into());
    }
    if column.unique {
        put("unique", true.into());
    }
    if column.collation != Collation::Binary {
        put("collation", name_of(COLLATIONS, column.collation).into());
    }
    if let Some(default) = &column.default {
        put("default", value_to_json(default.as_ref()));
    }
    if let Some(check) = &column.check {
        put("check", check.as_ref().into());
    }
    if let Some(expression) = &column.generated {
        put("generated", expression.as_ref().into());
    }
    if let Some(reference) = &column.reference {
        let on_delete = name_of(ON_DELETE, reference.on_delete);
        let (table, column) = (&reference.table, &reference.column);
        let mut json = json!({ "table": table, "column": column, "on_delete": on_delete });
        put_rules(&mut json, reference.on_update, reference.deferred);
        put("references", json);
    }
    if column.role != ColumnRole::Plain {
        put("role", name_of(ROLES, column.role).into());
    }
    Json::Object(json)
}

/// What a delete of the referenced row does, as a program's record has it: without a name, the default.
fn on_delete_from_json(json: &Json) -> Result<OnDelete> {
    match optional(json, "on_delete")? {
        Some(name) => by_name(ON_DELETE, "on_delete", name),
        None if json.get("deferred").and_then(Json::as_bool) == Some(true) => {
            Ok(OnDelete::NoAction)
        }
        None => Ok(OnDelete::Restrict),
    }
}

/// The column with a description by [`column_to_json`].
///
/// # Errors
/// `Corrupt`, which names the column, if the description is damaged.
pub fn column_from_json(json: &Json) -> Result<ColumnSchema> {
    let name = text(json, "name")?;
    let in_column = |error: Error| corrupt(format!("column {name}: {}", error.message()));
    named_column_from_json(name, json).map_err(in_column)
}

fn named_column_from_json(name: &str, json: &Json) -> Result<ColumnSchema> {
    let ty = text(json, "type")?;
    let ty = Type::from_name(ty).ok_or_else(|| unknown("type", ty))?;
    let mut column = ColumnSchema::new(name.to_owned(), ty);
    if let Some(storage) = optional(json, "storage")? {
        column.storage = by_name(STORAGES, "storage", storage)?;
    }
    column.nullable = json.get("nullable").and_then(Json::as_bool).unwrap_or(false);
    if let Some(max) = json.get("max_chars") {
        let max = max.as_u64().and_then(|max| u32::try_from(max).ok());
        column.max_chars = Some(max.ok_or_else(|| unknown("max_chars", "value"))?);
    }
    column.unique = json.get("unique").and_then(Json::as_bool).unwrap_or(false);
    if let Some(collation) = optional(json, "collation")? {
        column.collation = by_name(COLLATIONS, "collation", collation)?;
    }
    column.default = json.get("default").map(value_from_json).transpose()?;
    column.check = optional(json, "check")?.map(|check| check.to_owned().into());
    column.generated = optional(json, "generated")?.map(|text| text.to_owned().into());
    if let Some(reference) = json.get("references") {
        let mut read = Reference::new(
            text(reference, "table")?.to_owned(),
            text(reference, "column")?.to_owned(),
            on_delete_from_json(reference)?,
        );
        (read.on_update, read.deferred) = rules_from_json(reference)?;
        column.reference = Some(read);
    }
    if let Some(role) = optional(json, "role")? {
        column.role = by_name(ROLES, "role", role)?;
    }
    Ok(column)
}

const COLLATIONS: &[(Collation, &str)] = &[
    (Collation::Binary, "binary"),
    (Collation::NoCase, "nocase"),
    (Collation::UnicodeNoCase, "unicode_nocase"),
];

const ON_DELETE: &[(OnDelete, &str)] = &[
    (OnDelete::Restrict, "restrict"),
    (OnDelete::Cascade, "cascade"),
    (OnDelete::SetNull, "set_null"),
    (OnDelete::NoAction, "no_action"),
];

const ON_UPDATE: &[(OnUpdate, &str)] = &[
    (OnUpdate::NoAction, "no_action"),
    (OnUpdate::Restrict, "restrict"),
    (OnUpdate::Cascade, "cascade"),
    (OnUpdate::SetNull, "set_null"),
];

const ROLES: &[(ColumnRole, &str)] = &[
    (ColumnRole::Plain, "plain"),
    (ColumnRole::CreatedAt, "created_at"),
    (ColumnRole::ModifiedAt, "modified_at"),
    (ColumnRole::Version, "version"),
];

const STORAGES: &[(Storage, &str)] = &[
    (Storage::Int, "integer"),
    (Storage::Float, "float"),
    (Storage::Text, "text"),
    (Storage::Bytes, "bytes"),
    (Storage::Any, "any"),
];

fn name_of<T: PartialEq>(names: &[(T, &'static str)], wanted: T) -> &'static str {
    names.iter().find(|(value, _)| *value == wanted).map_or("", |(_, name)| *name)
}

fn by_name<T: Copy>(names: &[(T, &str)], what: &str, wanted: &str) -> Result<T> {
    let found = names.iter().find(|(_, name)| *name == wanted);
    found.map(|(value, _)| *value).ok_or_else(|| unknown(what, wanted))
}

/// A value as JSON: `{"bytes": "00ff"}` for bytes, `{"float": "inf"}` for a float that JSON would not
/// return exactly, and JSON's own form for all others.
#[must_use]
pub fn value_to_json(value: ValueRef<'_>) -> Json {
    match value {
        ValueRef::Null => Json::Null,
        ValueRef::Int(i) => i.into(),
        ValueRef::Text(text) => text.into(),
        ValueRef::Float(float) => {
            let number = serde_json::Number::from_f64(float);
            let back = number
                .as_ref()
                .and_then(|number| serde_json::from_str::<f64>(&number.to_string()).ok());
            match number {
                Some(number) if back.map(f64::to_bits) == Some(float.to_bits()) => number.into(),
                _ => json!({ "float": format!("{float:?}") }),
            }
        }
        ValueRef::Bytes(bytes) => {
            let mut hex = String::with_capacity(bytes.len() * 2);
            for byte in bytes {
                hex.extend([byte >> 4, byte & 15].map(|half| char::from(DIGITS[half as usize])));
            }
            json!({ "bytes": hex })
        }
    }
}

const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// The value of JSON by [`value_to_json`].
///
/// # Errors
/// `Corrupt` for any other JSON.
pub fn value_from_json(json: &Json) -> Result<Value<'static>> {
    Ok(match json {
        Json::Null => Value::Null,
        Json::String(text) => Value::from(text.clone()),
        Json::Number(number) if number.is_f64() => match number.as_f64() {
            Some(float) if !float.is_nan() => Value::Float(float),
            _ => return Err(unknown("number", &number.to_string())),
        },
        Json::Number(number) => match number.as_i64() {
            Some(integer) => Value::Int(integer),
            None => return Err(unknown("number", &number.to_string())),
        },
        Json::Object(object) => match (object.get("float"), object.get("bytes")) {
            (Some(Json::String(float)), None) => match float.parse::<f64>() {
                Ok(float) if !float.is_nan() => Value::Float(float),
                _ => return Err(unknown("number", float)),
            },
            (None, Some(Json::String(hex))) => Value::Bytes(from_hex(hex)?.into()),
            _ => return Err(corrupt("an object that is neither a float nor bytes")),
        },
        Json::Bool(_) | Json::Array(_) => {
            return Err(corrupt("true, false or a list where a value is expected"));
        }
    })
}

fn from_hex(hex: &str) -> Result<Vec<u8>> {
    let half = |digit: u8| DIGITS.iter().position(|other| *other == digit.to_ascii_lowercase());
    let byte = |pair: &[u8]| match pair {
        [high, low] => Some((half(*high)? << 4 | half(*low)?) as u8),
        _ => None,
    };
    let bytes: Option<_> = hex.as_bytes().chunks(2).map(byte).collect();
    bytes.ok_or_else(|| unknown("bytes", hex))
}

fn list<'j>(json: &'j Json, name: &str) -> Result<&'j Vec<Json>> {
    let list = json.get(name).and_then(Json::as_array);
    list.ok_or_else(|| corrupt(format!("the list '{name}' is missing")))
}

fn names(json: &Json, name: &str) -> Result<Vec<String>> {
    let names = list(json, name)?.iter().map(|name| name.as_str().map(str::to_owned));
    let names: Option<_> = names.collect();
    names.ok_or_else(|| corrupt(format!("'{name}' is not a list of names")))
}

fn text<'j>(json: &'j Json, name: &str) -> Result<&'j str> {
    optional(json, name)?.ok_or_else(|| corrupt(format!("there is no '{name}'")))
}

fn optional<'j>(json: &'j Json, name: &str) -> Result<Option<&'j str>> {
    match json.get(name) {
        None => Ok(None),
        Some(Json::String(text)) => Ok(Some(text)),
        Some(_) => Err(corrupt(format!("'{name}' is not a text"))),
    }
}

fn corrupt(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Corrupt, message)
}

fn unknown(what: &str, found: &str) -> Error {
    corrupt(format!("unknown {what} '{found}'"))
}
