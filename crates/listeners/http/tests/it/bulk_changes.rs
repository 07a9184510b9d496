//! Changes of all rows that match a filter, groups by their number, and results as CSV.

use crate::client::{TestServer, memory, sqlite};
use bobak_core::Engine;
use bobak_http::{HttpServer, Settings, SqlAccess};
use bobak_permissions::{Access, new_token};
use serde_json::json;
use std::sync::Arc;

fn filled(engine: Arc<dyn Engine>) -> TestServer {
    let mut settings = Settings::default();
    settings.sql = SqlAccess::Read;
    let server = TestServer::with(settings, engine);
    for (name, active, balance) in
        [("Ada", true, "1.50"), ("Bob", true, "2"), ("Eve", false, "3"), ("Zoe", true, "2")]
    {
        let row = format!(r#"{{"name":"{name}","active":{active},"balance":{balance}}}"#);
        server.send("POST", "/tables/person/rows", &row).ok(201);
    }
    server
}

#[test]
fn rows_that_match_are_changed_and_deleted() {
    for engine in [sqlite(), memory()] {
        let server = filled(engine);
        let path = "/tables/person/rows?filter=balance%20%3E=%202";
        let changed = server.send("PATCH", path, r#"{"email":null,"rate":0.5}"#).ok(200).json();
        assert_eq!(changed, json!({"changed": 3}));
        let count = server.get("/tables/person/aggregate?filter=rate%20=%200.5").json();
        assert_eq!(count["rows"][0]["count"], 3);
        // A value that breaks a rule changes no row.
        server.send("PATCH", path, r#"{"name":null}"#).is(422, "Constraint");
        server.send("PATCH", path, r#"{"id":7}"#).is(400, "Misuse");
        server.send("PATCH", path, "{}").is(400, "Misuse");
        server.send("PATCH", path, r#"{"nosuch":1}"#).is(400, "Schema");
        // A filter is never forgotten.
        server.send("PATCH", "/tables/person/rows", r#"{"rate":1}"#).is(400, "Syntax");
        server.ask("DELETE", "/tables/person/rows", &[], "").is(400, "Syntax");
        server.ask("DELETE", "/tables/person/rows?filter=x%20=", &[], "").is(400, "Syntax");
        for header in ["if-match", "if-none-match"] {
            let one = "/tables/person/rows?filter=id%20=%201";
            let precondition = [("content-type", "application/json"), (header, "\"x\"")];
            server.ask("DELETE", one, &precondition[1..], "").is(400, "Syntax");
            server.ask("PATCH", one, &precondition, r#"{"name":"x"}"#).is(400, "Syntax");
        }
        let both = "/tables/person/rows?filter=id%20=%201&set=balance%20=%201";
        server.send("PATCH", both, r#"{"balance":2}"#).is(400, "Syntax");
        assert_eq!(server.ask("DELETE", path, &[], "").ok(200).json(), json!({"changed": 3}));
        assert_eq!(server.ask("DELETE", path, &[], "").ok(200).json(), json!({"changed": 0}));
        let rows = server.get("/tables/person/rows?columns=name").json();
        assert_eq!(rows["rows"], json!([{"name": "Ada"}]));
    }
}

#[test]
fn a_bulk_change_sets_the_version_and_the_time() {
    let server = TestServer::open();
    for text in ["a", "b"] {
        let row = json!({"text": text}).to_string();
        server.send("POST", "/tables/note/rows", &row).ok(201);
    }
    let before = server.get("/tables/note/rows/1").json();
    let path = "/tables/note/rows?filter=id%20in%20(1,2)";
    server.send("PATCH", path, r#"{"text":"c"}"#).ok(200);
    let after = server.get("/tables/note/rows/1").json();
    assert_eq!(after["text"], "c");
    let version = |row: &serde_json::Value| row["version"].as_i64().unwrap();
    assert!(version(&after) > version(&before), "{before} {after}");
    server.send("PATCH", path, r#"{"version":9}"#).is(400, "Misuse");
}

#[test]
fn bulk_changes_keep_row_rules() {
    let (token, hash) = new_token().unwrap();
    let access = format!(
        "role clerk\nread on person\nupdate, delete on person where active = true\ntoken ada {hash} roles clerk\n"
    );
    let builder = HttpServer::builder().access(Access::from_text(&access).unwrap());
    let mut server = TestServer::of(builder.shared_database("main", sqlite()));
    for (name, active) in [("Ada", true), ("Eve", false)] {
        let row = json!({"name": name, "active": active}).to_string();
        server.send("POST", "/tables/person/rows", &row).ok(201);
    }
    server.headers = vec![("authorization".to_owned(), format!("Bearer {token}"))];
    let path = "/tables/person/rows?filter=id%20%3E%200";
    let changed = server.send("PATCH", path, r#"{"rate":2}"#).ok(200).json();
    assert_eq!(changed, json!({"changed": 1}));
    server.send("PATCH", path, r#"{"active":false}"#).is(403, "Denied");
    assert_eq!(server.ask("DELETE", path, &[], "").ok(200).json(), json!({"changed": 1}));
    server.ask("DELETE", "/tables/note/rows?filter=id%20%3E%200", &[], "").is(404, "NotFound");
    let left = server.get("/tables/person/rows?columns=name").json();
    assert_eq!(left["rows"], json!([{"name": "Eve"}]));
}

#[test]
fn groups_are_ordered_by_their_number() {
    for engine in [sqlite(), memory()] {
        let server = filled(engine);
        let groups = |rest: &str| {
            server.get(&format!("/tables/person/aggregate?group=balance{rest}")).ok(200).json()
        };
        let most = json!({"balance": 2.0, "count": 2});
        let all = groups("&order=-count");
        assert_eq!((&all["rows"][0], &all["more"]), (&most, &json!(false)));
        // Groups with the same number are in the order of their columns.
        assert_eq!(all["rows"][1]["balance"], 1.5);
        assert_eq!(all["rows"][2]["balance"], 3.0);
        let first = groups("&order=-count&limit=1");
        assert_eq!((&first["rows"], &first["more"]), (&json!([most]), &json!(true)));
        let second = groups("&order=-count&limit=1&offset=1");
        assert_eq!((&second["rows"][0]["balance"], &second["more"]), (&json!(1.5), &json!(true)));
        assert_eq!(groups("&order=-count&limit=5&offset=3")["rows"], json!([]));
        assert_eq!(groups("&order=count")["rows"][2], most);
        let sums = groups("&values=max(name),count&order=-count&limit=1");
        assert_eq!(sums["rows"][0]["max_name"], "Zoe");
        server.get("/tables/person/aggregate?values=max(name)&order=-count").is(400, "Schema");
        server.get("/tables/person/aggregate?order=name").is(400, "Syntax");
    }
}

#[test]
fn results_of_sql_are_csv_of_any_length() {
    let server = filled(sqlite());
    let csv = |sql: &str| {
        let body = json!({ "sql": sql }).to_string();
        let headers = [("content-type", "application/json"), ("accept", "text/csv")];
        server.ask("POST", "/sql", &headers, &body)
    };
    let reply =
        csv("SELECT name, balance, email, 'a \"b\", c' AS \"x,y\" FROM person WHERE id < 3");
    assert!(reply.ok(200).header("content-type").starts_with("text/csv"));
    let quoted = "\"a \"\"b\"\", c\"";
    let lines =
        format!("name,balance,email,\"x,y\"\r\nAda,1.50,,{quoted}\r\nBob,2.00,,{quoted}\r\n");
    assert_eq!(reply.text, lines);
    // More rows than a page has.
    let many = csv(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) SELECT i FROM n",
    );
    assert_eq!(many.ok(200).text.lines().count(), 20_001);
    csv("SELECT NULL").ok(200);
    csv("DELETE FROM person").is(403, "Denied");
    csv("SELECT nosuch FROM person").is(400, "Schema");
}
