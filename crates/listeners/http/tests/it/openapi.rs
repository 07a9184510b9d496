//! The OpenAPI document is valid, and every operation matches it.

use crate::changes::track;
use crate::client::{TestServer, sqlite};
use crate::openapi_client::{Checker, Operation, call_all, operations};
use crate::statements::monitored;
use bobak_core::Engine;
use bobak_core::statements::MonitorOptions;
use bobak_http::{HttpServer, Settings, SqlAccess};
use bobak_permissions::{Access, new_token};
use bobak_sqlite::Sqlite;
use boon::{Compiler, Schemas};
use serde_json::Value;
use std::sync::Arc;

/// The schema of OpenAPI 3.1 documents, published by the OpenAPI Initiative (Apache-2.0).
const OFFICIAL: &str = include_str!("../data/openapi-3.1.json");

fn server() -> TestServer {
    let mut settings = Settings::default();
    settings.sql = SqlAccess::Write;
    TestServer::with(settings, monitored(MonitorOptions::new()))
}

#[test]
fn document_matches_official_schema() {
    let server = server();
    for path in ["/openapi.json", "/databases/main/openapi.json"] {
        let document = server.get(path).ok(200).json();
        let mut compiler = Compiler::new();
        let official: Value = serde_json::from_str(OFFICIAL).unwrap();
        let id = official["$id"].as_str().unwrap().to_owned();
        compiler.add_resource(&id, official).unwrap();
        let mut schemas = Schemas::new();
        let schema = compiler.compile(&id, &mut schemas).unwrap();
        if let Err(error) = schemas.validate(&document, schema) {
            panic!("{path}: {error:#}");
        }
        let ids: Vec<_> =
            operations(&document).map(|op| op.schema["operationId"].clone()).collect();
        assert!(ids.iter().enumerate().all(|(at, id)| !ids[..at].contains(id)), "{ids:?}");
    }
}

/// Each schema has a name of its own: the SQL of a request is none of the statements that ran.
#[test]
fn examples_match_their_schemas() {
    let server = server();
    server
        .send("POST", "/sql", r#"{"sql":"CREATE TABLE pair (a UUID, b TEXT, PRIMARY KEY (a, b))"}"#)
        .ok(200);
    let document = server.get("/openapi.json").ok(200).json();
    let checker = Checker::new(&document);
    let checked = operations(&document).map(|operation| checker.check_examples(&operation));
    assert!(checked.sum::<usize>() > 50);
    let sql = &document["components"]["schemas"]["bobak.Statement"];
    assert_eq!(sql["required"], serde_json::json!(["sql"]));
}

#[test]
fn document_follows_schema_changes() {
    let server = server();
    let before = server.get("/openapi.json").json();
    server
        .send(
            "POST",
            "/sql",
            r#"{"sql":"CREATE TABLE \"odd näme/%\" (\"a b\" INTEGER PRIMARY KEY, c)"}"#,
        )
        .ok(200);
    let after = server.get("/openapi.json").json();
    assert!(before["paths"].as_object().unwrap().len() < after["paths"].as_object().unwrap().len());
    let path = "/tables/odd%20n%C3%A4me%2F%25/rows";
    assert!(after["paths"][path].is_object(), "{}", after["paths"]);
    server.send("POST", path, r#"{"a b":7,"c":"x"}"#).ok(201);
}

/// The server generates a value that is NULL as one that is missing, and the document says so.
#[test]
fn a_new_row_may_have_null_where_a_value_is_generated() {
    let server = server();
    let sql = r#"{"sql":"CREATE TABLE made (id INTEGER PRIMARY KEY, n INTEGER NOT NULL)"}"#;
    server.send("POST", "/sql", sql).ok(200);
    server.send("POST", "/tables/made/rows", r#"{"id":null,"n":1}"#).ok(201);
    server.send("POST", "/tables/made/rows", r#"{"id":5,"n":null}"#).ok(422);
    let document = server.get("/openapi.json").json();
    let schemas = &document["components"]["schemas"];
    let may_be_null = |schema: &str, column: &str| {
        let types = &schemas[schema]["properties"][column]["type"];
        types.as_array().is_some_and(|types| types.iter().any(|ty| ty == "null"))
    };
    assert!(may_be_null("made.new", "id"), "{}", schemas["made.new"]);
    assert!(!may_be_null("made.new", "n") && !may_be_null("made.patch", "id"));
}

#[test]
fn every_operation_matches_document() {
    let statuses = call_all(&server());
    for status in [200, 201, 204, 304, 409, 412] {
        assert!(statuses.contains(&status), "no response had status {status}: {statuses:?}");
    }
    assert!(statuses.len() > 300, "{}", statuses.len());
}

#[test]
fn restricted_client_gets_matching_document() {
    let (token, hash) = new_token().unwrap();
    let grants = "read on seat\nread, insert on person where name = :user\nread, delete on note";
    let access = format!("role clerk\n{grants}\ntoken ada {hash} roles clerk\n");
    let builder = HttpServer::builder().access(Access::from_text(&access).unwrap());
    let mut server = TestServer::of(builder.shared_database("main", sqlite()));
    call_all(&server);
    for (table, row) in
        [("note", "{\"id\":1,\"text\":\"x\"}"), ("seat", "{\"row\":\"x\",\"number\":1}")]
    {
        server.send("POST", &format!("/tables/{table}/rows"), row).ok(201);
    }
    server.headers = vec![("authorization".to_owned(), format!("Bearer {token}"))];
    let statuses = call_all(&server);
    let denied = statuses.iter().filter(|status| **status == 403).count();
    assert!(denied > 20 && statuses.contains(&304), "{denied}: {statuses:?}");
}

/// SQLite stores values of any type in any column.
#[test]
fn untyped_values_match_document() {
    let engine = Sqlite::builder().typed_sql(false).open_memory().unwrap();
    for sql in [
        "CREATE TABLE odd (k TEXT PRIMARY KEY, i INT, s SMALLINT, r REAL, b BOOLEAN, t VARCHAR(3), d BLOB, u)",
        "CREATE TABLE own (id INTEGER PRIMARY KEY, born DATE_DAYS, at TIMESTAMP_MICROS, cash CURRENCY_E4)",
    ] {
        engine.session().unwrap().execute(sql, &[]).unwrap();
    }
    for value in ["'text'", "2.5", "x'00ff'", "NULL", "7", "9e999", "'12345'"] {
        let odd = format!("INSERT INTO odd VALUES ({value}, {})", [value; 7].join(", "));
        let own = format!("INSERT INTO own VALUES (NULL, {})", [value; 3].join(", "));
        for sql in [odd, own] {
            engine.session().unwrap().execute(&sql, &[]).unwrap();
        }
    }
    let server = TestServer::with(Settings::default(), Arc::new(engine));
    let document = server.get("/openapi.json").json();
    let checker = Checker::new(&document);
    for table in ["odd", "own"] {
        let queries = [
            ("rows", ["?", "?numbers=text"]),
            ("aggregate", ["?", "?numbers=text"]),
            ("export", ["?lossy", "?lossy=true&numbers=text"]),
        ];
        for (path, query) in queries.iter().flat_map(|(path, q)| q.map(|q| (path, q))) {
            let path = format!("/tables/{table}/{path}");
            let operation = operations(&document).find(|o| o.path == path && o.method == "get");
            let reply = server.get(&format!("{path}{query}"));
            checker.check(&operation.unwrap(), reply.ok(200));
        }
    }
}

#[test]
fn histories_match_document() {
    let engine = sqlite();
    track(&*engine);
    let server = TestServer::with(Settings::default(), engine);
    server.send("POST", "/tables/person/rows", r#"{"name":"Ada","balance":12.5}"#).ok(201);
    server.send("PATCH", "/tables/person/rows/1", r#"{"tags":[1]}"#).ok(200);
    server.ask("DELETE", "/tables/person/rows/1", &[], "").ok(204);
    let document = server.get("/openapi.json").json();
    let checker = Checker::new(&document);
    let is_wanted =
        |operation: &Operation<'_>| operation.path == "/tables/person/rows/{key}/history";
    let operation = operations(&document).find(is_wanted).unwrap();
    for query in ["", "?limit=1", "?since=3"] {
        let reply = server.get(&format!("/tables/person/rows/1/history{query}"));
        checker.check(&operation, reply.ok(200));
    }
    checker.check(&operation, server.get("/tables/person/rows/2/history").ok(404));
    checker.check(&operation, server.get("/tables/person/rows/1/history?limit=0").ok(400));
}
