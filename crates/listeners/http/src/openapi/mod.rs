//! Generates the OpenAPI 3.1 document of a database, for the tables that the client may see.

mod administration;
mod builders;
mod examples;
mod keys;
mod migrations;
mod parameters;
mod patterns;
mod plans;
mod rules;
mod schemas;
mod search;
mod statements;
mod table_paths;
mod values;

use self::builders::{
    body, each_line, empty, json_of, list_name, operation, problem, query, reference, response,
};
use crate::database::schema_cache::VisibleTables;
use crate::settings::SqlAccess;
use bobak_core::Engine;
use serde_json::{Map, Value, json};

/// The document. `base_path` is the path of the database, empty for the default one. `max_page_size` is the
/// maximum number of rows in a page, `has_statements` whether the client may see which statements ran, and
/// `has_access_file` whether accounts can be changed.
pub(crate) fn document(
    catalog: &VisibleTables,
    engine: &dyn Engine,
    base_path: &str,
    sql: SqlAccess,
    max_page_size: u64,
    has_statements: bool,
    has_access_file: bool,
) -> Value {
    // SQLite stores values of any type in any column.
    let is_typed = !engine.capabilities().weak_types;
    let mut paths = Map::new();
    let mut schemas = common_schemas();
    schemas.extend(session_schemas());
    migrations::components(&mut schemas);
    administration::components(&mut schemas);
    if base_path.is_empty() {
        server_paths(&mut paths, has_access_file);
    }
    database_paths(&mut paths, catalog, sql);
    if has_statements {
        statements::paths(&mut paths);
        statements::components(&mut schemas);
    }
    for table in catalog.sorted() {
        table_paths::paths(&mut paths, catalog, table, max_page_size);
        let rules = engine.field_rules(&table.schema);
        schemas::components(&mut schemas, catalog, table, is_typed, &rules);
    }
    schemas.insert("bobak.Operation".to_owned(), schemas::operations(catalog));
    let server = if base_path.is_empty() { "/" } else { base_path };
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Bobak",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "The tables of a database. Numbers have all digits: 64-bit integers \
                and money are JSON numbers, which clients that parse numbers as floats may round. \
                With `numbers=text` responses contain them as strings; requests may always do so. \
                Infinite floats are strings (`inf`).",
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

/// Adds the paths of the server, which belong to no database.
fn server_paths(paths: &mut Map<String, Value>, has_access_file: bool) {
    let health = json!({"type": "object", "properties": {"status": {"type": "string"}}});
    let mut get = operation("health", "Health check", vec![]);
    get["security"] = json!([]);
    get["responses"] = json!({"200": response("The server is running", json_of(health))});
    paths.insert("/health".to_owned(), json!({"get": get}));
    let mut get = operation("metrics", "Metrics in the text format of Prometheus", vec![]);
    get["responses"]["200"] =
        response("All metrics", json!({"text/plain": {"schema": {"type": "string"}}}));
    paths.insert("/metrics".to_owned(), json!({"get": get}));
    let names = json!({"type": "array", "items": {"type": "string"}});
    let mut get = operation("databases", "List the databases", vec![]);
    get["responses"]["200"] = response(
        "Their names; the paths of each database begin with /databases/{name}",
        json_of(json!({"type": "object", "properties": {"databases": names}})),
    );
    paths.insert("/databases".to_owned(), json!({"get": get}));
    paths.insert("/session".to_owned(), session());
    administration::server_paths(paths);
    if has_access_file {
        administration::account_paths(paths);
    }
}

/// A parameter of an SQL statement.
fn argument() -> Value {
    json!({"type": ["null", "boolean", "integer", "number", "string", "array"]})
}

/// The session of a browser. Other programs authenticate each request.
fn session() -> Value {
    let client = || response("The client that is signed in", json_of(reference("bobak.Client")));
    let mut get = operation("session", "The client that is signed in", vec![]);
    get["responses"]["200"] = client();
    let mut post = operation("sign_in", "Sign in: only for pages of this server", vec![]);
    post["security"] = json!([]);
    post["requestBody"] = body(json_of(reference("bobak.SignIn")));
    post["responses"]["201"] = client();
    problem(&mut post, &[400, 413]);
    let mut delete = operation("sign_out", "Sign out: only for pages of this server", vec![]);
    delete["responses"]["204"] = empty("Signed out");
    json!({"get": get, "post": post, "delete": delete})
}

/// The changes of several tables.
fn changes(catalog: &VisibleTables) -> Value {
    let mut tables = query::columns(
        "tables",
        "The tables, separated by commas; names that contain a comma are in double quotes",
    );
    tables["required"] = json!(true);
    let example = catalog.sorted().first().map(|table| list_name(table.schema.name()));
    tables["example"] = json!(example.unwrap_or_default());
    let mut parameters = vec![tables];
    parameters.extend(table_paths::change_parameters());
    let summary = "Stream changes of several tables as server-sent events, or list a page of them as JSON; requires tracked tables";
    let mut get = operation("changes", summary, parameters);
    let representations = table_paths::change_representations("table, at, who, key and row");
    get["responses"]["200"] = response("Changes", representations);
    problem(&mut get, &[400, 404, 406, 409, 410]);
    json!({"get": get})
}

/// Adds the paths that do not depend on the tables.
fn database_paths(paths: &mut Map<String, Value>, catalog: &VisibleTables, sql: SqlAccess) {
    let mut get = operation("openapi", "This document", vec![]);
    get["responses"]["200"] = response("The document", json_of(json!({"type": "object"})));
    paths.insert("/openapi.json".to_owned(), json!({"get": get}));
    let mut get = operation("tables", "List the tables with their columns", vec![]);
    let tables = json!({"type": "array", "items": reference("bobak.Table")});
    let all = json!({"type": "object", "properties": {"tables": tables}});
    get["responses"]["200"] = response("The tables that the client may see", json_of(all));
    paths.insert("/tables".to_owned(), json!({"get": get}));
    paths.insert("/changes".to_owned(), changes(catalog));
    let mut post = operation(
        "batch",
        "Write rows of several tables, one operation per line, in one transaction unless `commit` is set",
        table_paths::load_parameters("once, at the end"),
    );
    let media = "application/x-ndjson";
    let lines = each_line(media, "One operation per line", "bobak.Operation");
    post["requestBody"] = body(json!({media: {"schema": lines}}));
    post["responses"]["200"] = response("A report", json_of(reference("bobak.Report")));
    problem(&mut post, &[400, 404, 408, 409, 413, 415, 422]);
    paths.insert("/batch".to_owned(), json!({"post": post}));
    migrations::paths(paths);
    administration::database_paths(paths);
    paths.insert("/mcp".to_owned(), mcp_path());
    if sql != SqlAccess::None {
        paths.insert("/sql".to_owned(), sql_path());
    }
}

fn sql_path() -> Value {
    let limit = query::count("limit", "Maximum number of rows of a result as JSON");
    let mut post = operation("sql", "Execute one SQL statement", vec![query::numbers(), limit]);
    post["requestBody"] = body(json_of(reference("bobak.Statement")));
    let example = json!({"sql": "SELECT 1 AS one"});
    post["requestBody"]["content"]["application/json"]["example"] = example;
    let mut content = json_of(reference("bobak.Rows"));
    content["text/csv"] = json!({"schema": {"type": "string"}});
    add_arrow(&mut content);
    post["responses"]["200"] =
        response("Its result; as a stream all rows, however many there are", content);
    problem(&mut post, &[400, 406, 409, 413, 415, 422, 501]);
    json!({"post": post})
}

/// Adds the media type of Arrow streams to the content of a response, if the server has it.
fn add_arrow(content: &mut Value) {
    #[cfg(feature = "arrow")]
    {
        let what = "A stream in Arrow IPC";
        content[bobak::arrow::STREAM_MEDIA_TYPE] =
            json!({"schema": {"type": "string", "format": "binary", "description": what}});
    }
    #[cfg(not(feature = "arrow"))]
    let _ = content;
}

fn mcp_path() -> Value {
    let summary = "Answer messages of the Model Context Protocol: tools that read and change rows";
    let mut post = operation("mcp", summary, Vec::new());
    let message = json!({"schema": {"type": ["object", "array"], "description": "JSON-RPC 2.0"}});
    let request = json!({
        "type": "object",
        "required": ["jsonrpc"],
        "properties": {
            "jsonrpc": {"const": "2.0"}, "method": {"type": "string"},
            "id": {"type": ["integer", "string"]},
        },
    });
    let batch = json!({"type": "array", "items": request, "minItems": 1, "maxItems": 100});
    post["requestBody"] = body(json_of(json!({"anyOf": [request, batch]})));
    post["requestBody"]["content"]["application/json"]["example"] =
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    post["responses"]["200"] = response("The response", json!({"application/json": message}));
    post["responses"]["202"] = json!({"description": "There was no request among the messages"});
    problem(&mut post, &[400, 404, 406, 413, 415]);
    for status in ["400", "404"] {
        post["responses"][status]["content"]["application/json"] = message.clone();
    }
    json!({"post": post})
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
                "committed": count(), "untracked": {"type": "array", "items": text()},
                "violations": {"type": "array", "items": reference("bobak.Violation")},
            },
        },
        "bobak.Violation": {
            "type": "object",
            "required": ["message"],
            "properties": {"column": text(), "message": text()},
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
                "keys": {"enum": ["given", "generated"]},
                "view": {"type": "boolean", "description": "Whether rows can only be read"},
                "search": {
                    "type": "object",
                    "required": ["columns", "language"],
                    "properties": {"columns": {"type": "array", "items": text()}, "language": text()},
                    "description": "What full-text search finds; none if the table is not searched",
                },
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
                    "description": "Values for each ? in order, or for each :name. An array is the values of IN (?)",
                    "oneOf": [
                        {"type": "array", "items": argument()},
                        {"type": "object", "additionalProperties": argument()},
                    ],
                },
                "read_only": {"type": "boolean", "description": "Whether to reject writes"},
                "explain": {"type": "boolean", "description": "Whether to return the plan, and not to run it"},
            },
        },
        "bobak.PlanStep": {
            "type": "object",
            "properties": {
                "text": text(),
                "table": {"type": ["string", "null"]},
                "access": {"enum": ["scan", "search", null]},
                "index": {"type": ["string", "null"]},
                "rows": {"type": ["integer", "null"], "minimum": 0},
                "steps": {"type": "array", "items": reference("bobak.PlanStep")},
            },
        },
        "bobak.IndexAdvice": {
            "type": "object",
            "required": ["message", "table", "columns"],
            "properties": {
                "message": text(), "table": text(),
                "columns": {"type": "array", "items": text()},
            },
        },
        "bobak.Plan": {
            "type": "object",
            "required": ["steps", "advice"],
            "properties": {
                "steps": {"type": "array", "items": reference("bobak.PlanStep")},
                "advice": {"type": "array", "items": reference("bobak.IndexAdvice")},
            },
        },
        "bobak.Rows": {
            "type": "object",
            "properties": {
                "columns": {"type": "array", "items": text()},
                "rows": {"type": "array", "items": {"type": "array"}},
                "more": {"type": "boolean"},
                "changed": count(),
                "steps": {"type": "array", "items": reference("bobak.PlanStep")},
                "advice": {"type": "array", "items": reference("bobak.IndexAdvice")},
            },
        },
    });
    match schemas {
        Value::Object(schemas) => schemas,
        _ => Map::new(),
    }
}

/// The schemas of sessions and of bulk changes.
fn session_schemas() -> Map<String, Value> {
    let text = || json!({"type": "string"});
    let schemas = json!({
        "bobak.Client": {
            "type": "object",
            "required": ["name", "anonymous", "administrator", "sql"],
            "properties": {
                "name": text(),
                "anonymous": {"type": "boolean"},
                "administrator": {"type": "boolean"},
                "as": {"type": "string", "description": "The account whose permissions are tried"},
                "sql": {"enum": ["none", "read", "write"]},
            },
        },
        "bobak.SignIn": {
            "type": "object",
            "additionalProperties": false,
            "properties": {"code": text(), "token": text(), "user": text(), "password": text()},
        },
        "bobak.Changed": {
            "type": "object",
            "required": ["changed"],
            "properties": {"changed": {"type": "integer", "format": "int64", "minimum": 0}},
        },
    });
    match schemas {
        Value::Object(schemas) => schemas,
        _ => Map::new(),
    }
}
