//! The OpenAPI 3.1 document of a database: made when it is asked for, of the tables that are there
//! then, and that who asks may see.

mod examples;
mod parts;
mod schema;
mod table;

use self::parts::{answer, body, each_line, json_of, operation, problem, query, reference};
use crate::answer::Answer;
use crate::call::Call;
use crate::model::Model;
use crate::problem::Problem;
use crate::settings::SqlAccess;
use hyper::StatusCode;
use serde_json::{Map, Value, json};

/// `GET /openapi.json`
pub(crate) async fn openapi(call: &mut Call) -> Result<Answer, Problem> {
    call.parameters.finish()?;
    let model = call.base.model().await?;
    let home = call.head.uri.path().strip_suffix("/openapi.json").unwrap_or_default();
    let loose = !matches!(call.base.engine.name(), "memory" | "postgres" | "mysql" | "mariadb");
    let document = document(&model, home, call.guest.sql, loose);
    let text = serde_json::to_string(&document).map_err(|error| {
        bobak_core::Error::new(bobak_core::ErrorKind::Engine, error.to_string())
    })?;
    Ok(Answer::json(StatusCode::OK, text))
}

/// In a `loose` engine other programs may have stored values of any type in any column: SQLite keeps
/// nobody from it.
fn document(model: &Model, home: &str, sql: SqlAccess, loose: bool) -> Value {
    let mut paths = Map::new();
    let mut schemas = common_schemas();
    if home.is_empty() {
        server_paths(&mut paths);
    }
    database_paths(&mut paths, sql);
    for table in model.sorted() {
        table::paths(&mut paths, table);
        schema::components(&mut schemas, table, loose);
    }
    schemas.insert("bobak.Operation".to_owned(), schema::operations(model));
    let server = if home.is_empty() { "/" } else { home };
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Bobak",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "The tables of a database. Numbers are exact in the text: 64-bit \
                integers and money are JSON numbers, which readers that make floats of them may \
                round; `numbers=text` has them written as strings, and strings are taken for them \
                always. What is above all range, `inf`, is a string.",
            "license": {"name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0"},
        },
        "servers": [{"url": server}],
        "security": [{"bearer": []}, {"basic": []}],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "basic": {"type": "http", "scheme": "basic"},
            },
        },
    })
}

/// The paths that are of the server, not of one database.
fn server_paths(paths: &mut Map<String, Value>) {
    let health = json!({"type": "object", "properties": {"status": {"type": "string"}}});
    let mut get = operation("health", "Whether the server answers", vec![]);
    get["security"] = json!([]);
    get["responses"] = json!({"200": answer("It does", json_of(health))});
    paths.insert("/health".to_owned(), json!({"get": get}));
    let mut get = operation("metrics", "Counters, as Prometheus reads them", vec![]);
    get["responses"]["200"] =
        answer("All counters", json!({"text/plain": {"schema": {"type": "string"}}}));
    paths.insert("/metrics".to_owned(), json!({"get": get}));
    let names = json!({"type": "array", "items": {"type": "string"}});
    let mut get = operation("databases", "The names of the databases", vec![]);
    get["responses"]["200"] = answer(
        "Their names; the paths of each begin with /databases/{name}",
        json_of(json!({"type": "object", "properties": {"databases": names}})),
    );
    paths.insert("/databases".to_owned(), json!({"get": get}));
}

/// The paths that are there whatever the tables are.
fn database_paths(paths: &mut Map<String, Value>, sql: SqlAccess) {
    let mut get = operation("home", "A page with links to the tables", vec![]);
    get["responses"]["200"] =
        answer("The page", json!({"text/html": {"schema": {"type": "string"}}}));
    problem(&mut get, &[406]);
    paths.insert("/".to_owned(), json!({"get": get}));
    let mut get = operation("openapi", "This document", vec![]);
    get["responses"]["200"] = answer("The document", json_of(json!({"type": "object"})));
    paths.insert("/openapi.json".to_owned(), json!({"get": get}));
    let mut get = operation("tables", "The tables with their columns", vec![]);
    let tables = json!({"type": "array", "items": reference("bobak.Table")});
    let all = json!({"type": "object", "properties": {"tables": tables}});
    get["responses"]["200"] = answer("All that may be seen", json_of(all));
    paths.insert("/tables".to_owned(), json!({"get": get}));
    let mut post = operation(
        "batch",
        "Writes to several tables, one a line: all of them or none, unless commit says otherwise",
        table::load_parameters("at the end"),
    );
    let media = "application/x-ndjson";
    let lines = each_line(media, "A write on each line", "bobak.Operation");
    post["requestBody"] = body(json!({media: {"schema": lines}}));
    post["responses"]["200"] = answer("What became of them", json_of(reference("bobak.Report")));
    problem(&mut post, &[400, 404, 408, 409, 413, 415, 422]);
    paths.insert("/batch".to_owned(), json!({"post": post}));
    if sql != SqlAccess::None {
        let mut post = operation("sql", "Runs one SQL statement", vec![query::numbers()]);
        post["requestBody"] = body(json_of(reference("bobak.Statement")));
        let example = json!({"sql": "SELECT 1 AS one"});
        post["requestBody"]["content"]["application/json"]["example"] = example;
        post["responses"]["200"] = answer("Its rows", json_of(reference("bobak.Rows")));
        problem(&mut post, &[400, 409, 413, 415, 422, 501]);
        paths.insert("/sql".to_owned(), json!({"post": post}));
    }
}

fn common_schemas() -> Map<String, Value> {
    let text = || json!({"type": "string"});
    let count = || json!({"type": "integer", "format": "int64", "minimum": 0});
    let schemas = json!({
        "bobak.Problem": {
            "type": "object",
            "required": ["type", "title", "status", "kind", "detail"],
            "properties": {
                "type": text(), "title": text(), "status": {"type": "integer"}, "kind": text(),
                "detail": text(), "table": text(), "column": text(), "row": count(),
                "committed": count(),
            },
        },
        "bobak.Report": {
            "type": "object",
            "required": ["rows", "inserted", "changed", "ignored", "failed", "errors"],
            "properties": {
                "rows": count(), "inserted": count(), "changed": count(), "ignored": count(),
                "failed": count(),
                "errors": {"type": "array", "items": reference("bobak.Problem")},
                "outcomes": {"type": "array", "items": {"type": "object"}},
            },
        },
        "bobak.Table": {
            "type": "object",
            "required": ["name", "key", "keys", "columns"],
            "properties": {
                "name": text(),
                "key": {"type": "array", "items": text()},
                "keys": {"enum": ["given", "made"]},
                "columns": {"type": "array", "items": {"type": "object"}},
            },
        },
        "bobak.Statement": {
            "type": "object",
            "required": ["sql"],
            "additionalProperties": false,
            "properties": {
                "sql": text(),
                "parameters": {
                    "type": "array",
                    "items": {"type": ["null", "boolean", "integer", "number", "string"]},
                },
            },
        },
        "bobak.Rows": {
            "type": "object",
            "properties": {
                "columns": {"type": "array", "items": text()},
                "rows": {"type": "array", "items": {"type": "array"}},
                "more": {"type": "boolean"},
                "changed": count(),
            },
        },
    });
    match schemas {
        Value::Object(schemas) => schemas,
        _ => Map::new(),
    }
}
