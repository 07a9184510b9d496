//! Keys are generated if omitted, and kept if given, including 0 and the nil UUID.

use crate::client::{TestServer, memory, sqlite};
use bobak_core::Engine;
use bobak_http::{Settings, SqlAccess};
use bobak_sqlite::Sqlite;
use serde_json::json;
use std::sync::Arc;

const NDJSON: [(&str, &str); 1] = [("content-type", "application/x-ndjson")];
const NIL: &str = "00000000-0000-0000-0000-000000000000";

#[test]
fn key_0_is_an_ordinary_key() {
    for engine in [sqlite(), memory()] {
        let server = TestServer::with(Settings::default(), engine);
        let path = "/tables/person/rows/0";
        let inserted = server.send("PUT", path, r#"{"name":"zero"}"#);
        assert_eq!(inserted.ok(201).header("location"), path);
        let replaced = server.send("PUT", path, r#"{"name":"zero"}"#);
        assert_eq!(replaced.ok(200).json()["name"], "zero");
        let json = ("content-type", "application/json");
        let stale = server.ask("PUT", path, &[json, ("if-match", "\"x\"")], r#"{"name":"x"}"#);
        stale.is(412, "Conflict");
        let tag = replaced.header("etag");
        let known = server.ask("PUT", path, &[json, ("if-match", tag)], r#"{"name":"nil"}"#);
        assert_eq!(known.ok(200).json()["id"], 0);
        server.send("POST", "/tables/person/rows", r#"{"id":0,"name":"x"}"#).is(409, "Duplicate");
        for body in [r#"{"name":"one"}"#, r#"{"id":null,"name":"two"}"#] {
            assert_ne!(server.send("POST", "/tables/person/rows", body).ok(201).json()["id"], 0);
        }
        let all = server.get("/tables/person/export").ok(200).text.clone();
        for mode in ["replace", "upsert", "update"] {
            let path = format!("/tables/person/import?mode={mode}");
            server.ask("POST", &path, &NDJSON, &all).ok(200);
            assert_eq!(server.get("/tables/person/export").text, all, "{mode}");
        }
        let upsert = r#"{"op":"upsert","table":"person","row":{"id":0,"name":"null"}}"#;
        server.ask("POST", "/batch", &NDJSON, upsert).ok(200);
        assert_eq!(server.get(path).json()["name"], "null");
        assert_eq!(server.get("/tables/person/aggregate").json()["rows"], json!([{"count":3}]));
    }
}

#[test]
fn given_nil_uuid_is_kept() {
    let server = TestServer::open();
    let path = format!("/tables/thing/rows/{NIL}");
    server.send("PUT", &path, r#"{"name":"a"}"#).ok(201);
    server.send("PUT", &path, r#"{"name":"b"}"#).ok(200);
    let inserted = server.send("POST", "/tables/thing/rows", r#"{"id":null,"name":"c"}"#);
    assert_ne!(inserted.ok(201).json()["id"], NIL);
    assert_eq!(server.get("/tables/thing/aggregate").json()["rows"], json!([{"count":2}]));
}

/// The disk is not full, and the client can choose another key.
#[test]
fn exhausted_keys_are_a_conflict() {
    let mut settings = Settings::default();
    settings.sql = SqlAccess::Write;
    let server = TestServer::with(settings, sqlite());
    let largest = format!("{{\"id\":{},\"n\":1}}", i64::MAX);
    for (table, reuse) in [("reused", ""), ("never", "AUTOINCREMENT")] {
        let sql = format!("CREATE TABLE {table} (id INTEGER PRIMARY KEY {reuse}, n INTEGER)");
        server.send("POST", "/sql", &json!({"sql": sql}).to_string()).ok(200);
        let path = format!("/tables/{table}/rows");
        server.send("POST", &path, &largest).ok(201);
        let problem = server.send("POST", &path, r#"{"n":2}"#);
        problem.is(409, "Full");
        assert_eq!(problem.json()["column"], "id");
        assert!(problem.text.contains("the largest possible key is in use"), "{}", problem.text);
        server.send("POST", &path, r#"{"id":5,"n":3}"#).ok(201);
    }
    let memory = TestServer::with(Settings::default(), memory());
    let largest = format!("{{\"id\":{},\"name\":\"x\"}}", i64::MAX);
    memory.send("POST", "/tables/person/rows", &largest).ok(201);
    memory.send("POST", "/tables/person/rows", r#"{"name":"y"}"#).is(409, "Full");
}

/// A column without a type has 5 and '5', which have the same text: only one of them has a path.
#[test]
fn a_location_leads_to_the_inserted_row() {
    let engine = Sqlite::open_memory().unwrap();
    engine.session().unwrap().execute("CREATE TABLE u (id PRIMARY KEY, a TEXT)", &[]).unwrap();
    let server = TestServer::with(Settings::default(), Arc::new(engine));
    for (key, location) in [
        ("5", "/tables/u/rows/5"),
        (r#""5""#, ""),
        ("2.5", "/tables/u/rows/2.5"),
        (r#""a/b""#, "/tables/u/rows/a%2Fb"),
    ] {
        let row = format!(r#"{{"id":{key},"a":"x"}}"#);
        let reply = server.send("POST", "/tables/u/rows", &row);
        assert_eq!(reply.ok(201).header("location"), location, "{key}");
        if !location.is_empty() {
            assert_eq!(server.get(location).ok(200).json(), reply.json());
        }
    }
}

/// A foreign key compares by the collation of the key, whatever that of the column that refers to it.
#[test]
fn a_key_that_ignores_case_is_found_from_a_reference() {
    let engine = Sqlite::open_memory().unwrap();
    for sql in [
        "CREATE TABLE country (code TEXT COLLATE NOCASE PRIMARY KEY, name TEXT)",
        "CREATE TABLE city (id INTEGER PRIMARY KEY, country TEXT REFERENCES country (code))",
        "INSERT INTO country VALUES ('CH', 'Switzerland')",
        "INSERT INTO city VALUES (1, 'ch'), (2, 'CH')",
    ] {
        engine.session().unwrap().execute(sql, &[]).unwrap();
    }
    let server = TestServer::with(Settings::default(), Arc::new(engine));
    let cities = server.get("/tables/city/rows?expand=country_ref").ok(200).json();
    for city in cities["rows"].as_array().unwrap() {
        assert_eq!(city["country_ref"]["name"], "Switzerland", "{city}");
    }
    let city = server.get("/tables/city/rows/1?expand=country_ref").ok(200).json();
    assert_eq!(city["country_ref"]["code"], "CH");
    // In the other direction, the texts of the column compare by their bytes.
    let country = server.get("/tables/country/rows/CH?expand=city").ok(200).json();
    assert_eq!(country["city"], json!([{"id": 2, "country": "CH"}]));
}
