//! The path of single values.

use super::builders::{body, empty, operation, problem, query, response};
use super::examples;
use super::parameters::key;
use crate::database::table::CachedTable;
use bobak_core::Type;
use serde_json::{Value, json};

/// The path of the values of a table that has columns of bytes.
pub(super) fn path(name: &str, table: &CachedTable) -> Option<Value> {
    let columns = table.schema.columns().iter().filter(|column| column.ty == Type::Bytes);
    let columns: Vec<&str> = columns.map(|column| &*column.name).collect();
    if columns.is_empty() || table.schema.is_view() {
        return None;
    }
    let column = json!({
        "name": "column", "in": "path", "required": true,
        "description": "A column of bytes", "schema": {"enum": columns},
    });
    let parameters = [key(table), column];
    let mut path = json!({"parameters": parameters, "get": get(name), "put": put(name)});
    examples::add(&mut path, table);
    Some(path)
}

fn bytes() -> Value {
    json!({"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}})
}

fn get(name: &str) -> Value {
    let parameters = vec![
        query::header("Range", "One range of bytes: bytes=0-1023"),
        query::header("If-Range", "Only if the value has this entity tag; else all of it"),
        query::header("If-None-Match", "The entity tag of a value that the client has"),
    ];
    let mut get = operation(&format!("get_value_{name}"), "Read one value as bytes", parameters);
    get["responses"]["200"] = response("All bytes", bytes());
    get["responses"]["206"] = response("The bytes of the range", bytes());
    get["responses"]["204"] = empty("The value is NULL");
    get["responses"]["304"] = empty("The value has not changed");
    problem(&mut get, &[400, 404, 409, 416, 501]);
    get
}

fn put(name: &str) -> Value {
    let parameters = vec![
        query::header("If-Match", "Only if the value has this entity tag"),
        query::header("If-None-Match", "Only if the value does not have this entity tag"),
    ];
    let summary = "Replace one value by the body, which is streamed";
    let mut put = operation(&format!("put_value_{name}"), summary, parameters);
    put["requestBody"] = body(bytes());
    put["responses"]["204"] = empty("The value is replaced");
    problem(&mut put, &[400, 404, 408, 409, 411, 412, 413, 415, 422, 501]);
    put
}
