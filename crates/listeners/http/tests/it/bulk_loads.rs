//! When imports and batches commit, and what they report if they stop.

use crate::client::{Reply, TOKEN, TestServer, memory, sqlite};
use crate::connections::{raw, rest};
use bobak_http::Settings;
use serde_json::{Value, json};
use std::io::Write;

const NDJSON: [(&str, &str); 1] = [("content-type", "application/x-ndjson")];
const CSV: [(&str, &str); 1] = [("content-type", "text/csv")];

fn seats(count: usize) -> String {
    (0..count).map(|number| format!("{{\"row\":\"a\",\"number\":{number}}}\n")).collect()
}

fn count(server: &TestServer, table: &str) -> Value {
    server.get(&format!("/tables/{table}/aggregate")).ok(200).json()["rows"][0]["count"].clone()
}

fn stopped_at(reply: &Reply) -> (Value, Value) {
    (reply.json()["row"].clone(), reply.json()["committed"].clone())
}

#[test]
fn commit_interval_is_exact() {
    for engine in [sqlite(), memory()] {
        let server = TestServer::with(Settings::default(), engine);
        // Rows in the body, rows per commit, and rows in the table afterwards.
        for (rows, every, there) in
            [(2_999, 3_000, 0), (3_700, 1_700, 3_400), (10, 3, 9), (1_500, 1_500, 1_500), (5, 0, 0)]
        {
            let lines = format!("{}{}", seats(rows), "{\"missing\":1}\n");
            let path = format!("/tables/seat/import?commit={every}");
            let reply = server.ask("POST", &path, &NDJSON, &lines);
            reply.is(400, "Schema");
            assert_eq!(stopped_at(&reply), (json!(rows), json!(there)), "{rows} by {every}");
            assert_eq!(count(&server, "seat"), there, "{rows} by {every}");
            let all = seats(there);
            let emptied = server.ask("POST", "/tables/seat/import?mode=delete", &NDJSON, &all);
            assert_eq!(emptied.ok(200).json()["changed"], there);
        }
        // A skipped row counts as well.
        let lines = format!("{}{{}}\n{}{}", seats(1), seats(3), "{\"row\":\"b\"}\n");
        let path = "/tables/seat/import?commit=2&errors=skip";
        let report = server.ask("POST", path, &NDJSON, &lines).ok(200).json();
        let parts = ["rows", "inserted", "failed"].map(|name| report[name].clone());
        assert_eq!(parts, [json!(6), json!(3), json!(3)]);
        assert_eq!(count(&server, "seat"), 3);
    }
}

#[test]
fn upserts_by_unique_columns_keep_the_stored_key() {
    for engine in [sqlite(), memory()] {
        let server = TestServer::with(Settings::default(), engine);
        let row = |name: &str, email: &str| json!({"name": name, "email": email}).to_string();
        let path = "/tables/person/import?mode=upsert&on=email&outcomes=true";
        let lines = format!("{}\n{}\n", row("Ada", "a"), row("Bob", "b"));
        let report = server.ask("POST", path, &NDJSON, &lines).ok(200).json();
        assert_eq!((&report["inserted"], &report["changed"]), (&json!(2), &json!(0)));
        let given = json!({"id": 9, "name": "Cleo", "email": "c"});
        let lines = format!("{}\n{given}\n", row("Ben", "b"));
        let report = server.ask("POST", path, &NDJSON, &lines).ok(200).json();
        assert_eq!(report["outcomes"], json!([{"changed": 1, "key": 2}, {"inserted": true}]));
        let line = json!({"op": "upsert", "on": ["email"], "table": "person", "row": {"name": "Eve", "email": "a"}});
        server.ask("POST", "/batch", &NDJSON, &line.to_string()).ok(200);
        let rows = server.get("/tables/person/rows?columns=id,name,email").ok(200).json();
        let expected = json!([
            {"id": 1, "name": "Eve", "email": "a"},
            {"id": 2, "name": "Ben", "email": "b"},
            {"id": 9, "name": "Cleo", "email": "c"},
        ]);
        assert_eq!(rows["rows"], expected);
        let path = "/tables/person/import?mode=upsert&on=name";
        server.ask("POST", path, &NDJSON, &lines).is(400, "Schema");
        server.ask("POST", "/tables/person/import?on=email", &NDJSON, &lines).is(400, "Misuse");
    }
}

#[test]
fn stopped_load_reports_row_and_committed_rows() {
    let mut settings = Settings::default();
    settings.max_body = 1_000;
    let server = TestServer::with(settings, sqlite());
    let long = "x".repeat(20_000);
    let csv = format!("row,number\na,1\na,2\na,3\n{long},1\n");
    let reply = server.ask("POST", "/tables/seat/import?commit=2", &CSV, &csv);
    reply.is(413, "OutOfRange");
    assert_eq!(stopped_at(&reply), (json!(3), json!(2)));
    let lines = format!("{}{long}", seats(5).replace("\"a\"", "\"b\""));
    let reply = server.ask("POST", "/tables/seat/import?commit=2", &NDJSON, &lines);
    reply.is(413, "OutOfRange");
    assert_eq!(stopped_at(&reply), (json!(5), json!(4)));
    let write = r#"{"op":"upsert","table":"seat","row":{"row":"c","number":1}}"#;
    let lines = format!("{write}\n{write}\n{write}\n{long}\n");
    for (commit, there) in [("0", 0), ("2", 2)] {
        let reply = server.ask("POST", &format!("/batch?commit={commit}"), &NDJSON, &lines);
        reply.is(413, "OutOfRange");
        assert_eq!(stopped_at(&reply), (json!(3), json!(there)));
    }
    let body = seats(3).replace("\"a\"", "\"d\"");
    let size = body.len();
    let mut stream = raw(server.http.addresses()[0]);
    write!(
        stream,
        "POST /tables/seat/import?commit=2 HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {TOKEN}\r\n\
         transfer-encoding: chunked\r\ncontent-type: application/x-ndjson\r\n\r\n\
         {size:x}\r\n{body}\r\nzz\r\n"
    )
    .unwrap();
    let response = rest(&mut stream);
    assert!(response.contains("\"row\":3,\"committed\":2"), "{response}");
}

#[test]
fn updates_and_deletes_require_key() {
    let server = TestServer::open();
    server.ask("POST", "/tables/person/import", &NDJSON, "{\"name\":\"Ada\"}").ok(200);
    for mode in ["delete", "update"] {
        let path = format!("/tables/person/import?mode={mode}");
        for body in ["{\"name\":\"Ada\"}", "{\"id\":null,\"name\":\"Ada\"}"] {
            let reply = server.ask("POST", &path, &NDJSON, body);
            reply.is(422, "Constraint");
            assert_eq!(reply.json()["column"], "id");
            assert_eq!(stopped_at(&reply), (json!(0), json!(0)));
        }
    }
    let wrong = r#"{"op":"delete","table":"seat","row":{"row":"a"}}"#;
    assert_eq!(
        server.ask("POST", "/batch", &NDJSON, wrong).is(422, "Constraint").json()["column"],
        "number"
    );
    assert_eq!(count(&server, "person"), 1);
}
