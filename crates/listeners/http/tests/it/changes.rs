//! Change feeds and histories.

use crate::client::{TOKEN, TestServer, memory, sqlite};
use bobak_core::change_log::{TRACKED_TABLE, log_schema};
use bobak_core::{Engine, SchemaChange, TableSchema};
use bobak_http::{Settings, SqlAccess};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

/// A subscriber of the change feed: its lines, without chunk headers.
pub struct Events(BufReader<TcpStream>);

impl Events {
    pub fn subscribe(server: &TestServer, query: &str, headers: &str) -> Self {
        let mut stream = TcpStream::connect(server.http.addresses()[0]).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let token = format!("authorization: Bearer {TOKEN}\r\n");
        let own = if headers.starts_with("authorization") { "" } else { &token };
        let head = format!(
            "GET /tables/person/changes{query} HTTP/1.1\r\nhost: x\r\n\
             {own}{headers}\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut events = Self(BufReader::new(stream));
        let status = events.line();
        assert!(status.starts_with("HTTP/1.1 200"), "{status}");
        while !events.line().is_empty() {}
        events
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).expect("a line in time");
        assert!(!line.is_empty(), "the stream has ended");
        line.trim_end().to_owned()
    }

    /// Reads until the server ends the stream.
    pub fn rest(&mut self) -> String {
        let mut rest = String::new();
        self.0.read_to_string(&mut rest).expect("the stream ends in time");
        rest
    }

    /// The next event: id, kind and data.
    pub fn next(&mut self) -> (u64, String, Value) {
        let (mut id, mut kind) = (0, String::new());
        loop {
            let line = self.line();
            if let Some(number) = line.strip_prefix("id: ") {
                id = number.parse().unwrap();
            } else if let Some(name) = line.strip_prefix("event: ") {
                kind = name.to_owned();
            } else if let Some(data) = line.strip_prefix("data: ") {
                return (id, kind, serde_json::from_str(data).unwrap());
            }
        }
    }
}

pub fn track(engine: &dyn Engine) {
    let tables = engine.tables().unwrap();
    let person: &TableSchema = tables.iter().find(|table| table.name() == "person").unwrap();
    let (table, history) = (Arc::new(person.clone()), false);
    assert!(log_schema(&table, history).is_ok());
    engine.alter(&[SchemaChange::Track { table, history }]).unwrap();
    assert!(engine.tables().unwrap().iter().all(|table| table.name() != TRACKED_TABLE));
}

#[test]
fn changes_are_streamed_and_resumed() {
    let mut settings = Settings::default();
    settings.sql = SqlAccess::Write;
    for engine in [sqlite(), memory()] {
        track(&*engine);
        let engine_has_sql = engine.capabilities().sql;
        let server = TestServer::with(settings.clone(), engine);
        let mut all = Events::subscribe(&server, "", "");
        let mut rich = Events::subscribe(&server, "?filter=balance+%3E+10", "");
        server.send("POST", "/tables/person/rows", r#"{"name":"Ada","balance":5}"#).ok(201);
        server.send("PATCH", "/tables/person/rows/1", r#"{"balance":20}"#).ok(200);
        server.send("PATCH", "/tables/person/rows/1", r#"{"balance":1}"#).ok(200);
        server.ask("DELETE", "/tables/person/rows/1", &[], "").ok(204);
        let (first, kind, data) = all.next();
        assert_eq!((kind.as_str(), &data["row"]["name"]), ("insert", &json!("Ada")));
        assert_eq!(data["who"], "operator");
        let kinds: Vec<_> = (0..3).map(|_| all.next().1).collect();
        assert_eq!(kinds, ["update", "update", "delete"]);
        let (_, kind, data) = rich.next();
        assert_eq!((kind.as_str(), &data["row"]["balance"]), ("insert", &json!(20.0)));
        let (_, kind, data) = rich.next();
        assert_eq!(
            (kind.as_str(), &data["key"], &data["row"]),
            ("delete", &json!({"id":1}), &json!(null))
        );
        if engine_has_sql {
            let sql = "INSERT INTO person (id, name, balance) VALUES (7, 'Eve', 1)";
            server.send("POST", "/sql", &json!({ "sql": sql }).to_string()).ok(200);
            let sql = json!({ "sql": "UPDATE person SET id = 8 WHERE id = 7" }).to_string();
            server.send("POST", "/sql", &sql).ok(200);
            assert_eq!(all.next().2["old_key"], json!(null));
            let (_, kind, data) = all.next();
            assert_eq!(
                (kind.as_str(), &data["key"], &data["old_key"]),
                ("update", &json!({"id":8}), &json!({"id":7}))
            );
        }
        let mut again = Events::subscribe(&server, "", &format!("last-event-id: {first}\r\n"));
        assert_eq!(again.next().1, "update");
        let mut since = Events::subscribe(&server, "?since=0", "");
        assert_eq!(since.next().0, first);
        server.http.begin_stop();
        assert!(server.http.stop(), "subscribers do not delay the stop");
    }
}

/// The kinds and keys of a page of changes, and its `next` and `more`.
fn page(server: &TestServer, query: &str) -> (Vec<(String, Value)>, u64, bool) {
    let path = format!("/tables/person/changes?{query}");
    let reply = server.ask("GET", &path, &[("accept", "application/json")], "");
    let page = reply.ok(200).json();
    let changes = page["changes"].as_array().unwrap().iter();
    let changes = changes.map(|change| {
        assert_eq!(change["row"].is_null(), change["kind"] == "delete", "{change}");
        (change["kind"].as_str().unwrap().to_owned(), change["key"]["id"].clone())
    });
    (changes.collect(), page["next"].as_u64().unwrap(), page["more"].as_bool().unwrap())
}

#[test]
fn pages_of_changes_end_and_have_net_changes() {
    let found = |changes: &[(&str, i64)]| -> Vec<(String, Value)> {
        changes.iter().map(|(kind, id)| ((*kind).to_owned(), json!(id))).collect()
    };
    for engine in [sqlite(), memory()] {
        track(&*engine);
        let server = TestServer::with(Settings::default(), engine);
        let (none, start, more) = page(&server, "");
        assert_eq!((none, more), (vec![], false));
        for name in ["Ada", "Bob", "Cy"] {
            let row = format!("{{\"name\":\"{name}\",\"balance\":5}}");
            server.send("POST", "/tables/person/rows", &row).ok(201);
        }
        server.send("PATCH", "/tables/person/rows/1", r#"{"balance":20}"#).ok(200);
        server.ask("DELETE", "/tables/person/rows/2", &[], "").ok(204);
        let since = format!("since={start}");
        let (all, next, more) = page(&server, &since);
        let each = [("insert", 1), ("insert", 2), ("insert", 3), ("update", 1), ("delete", 2)];
        assert_eq!((all, more), (found(&each), false));
        assert_eq!(page(&server, &format!("since={next}")), (vec![], next, false));
        // Pages of two changes.
        let (first, second, more) = page(&server, &format!("{since}&limit=2"));
        assert_eq!((first, more), (found(&each[..2]), true));
        assert_eq!(page(&server, &format!("since={second}&limit=2")).0, found(&each[2..4]));
        // A row that came and went is none.
        let net = found(&[("insert", 3), ("insert", 1)]);
        assert_eq!(page(&server, &format!("{since}&net")), (net, next, false));
        let net = found(&[("update", 1), ("delete", 2)]);
        assert_eq!(page(&server, &format!("since={second}&net&filter=name+!=+'Cy'")).0, net);
        // A row that comes to match the filter is an insert; a new key is another row.
        let rich = found(&[("insert", 1)]);
        assert_eq!(page(&server, &format!("since={second}&net&filter=balance+%3E+10")).0, rich);
        let wrong = server.ask(
            "GET",
            "/tables/person/changes?limit=0",
            &[("accept", "application/json")],
            "",
        );
        wrong.ok(400);
        server
            .ask("GET", "/tables/person/changes?net", &[("accept", "text/event-stream")], "")
            .ok(406);
        let gone = format!("/tables/person/changes?since={}", next + 1_000);
        server.ask("GET", &gone, &[("accept", "application/json")], "").ok(410);
        let both = "/changes?tables=person&since=0";
        let named = server.ask("GET", both, &[("accept", "application/json")], "").ok(200).json();
        assert_eq!(named["changes"][0]["table"], "person");
    }
}

#[test]
fn each_subscriber_gets_all_changes_of_many_writers_in_order() {
    for engine in [sqlite(), memory()] {
        track(&*engine);
        let server = TestServer::with(Settings::default(), engine);
        let mut subscribers: Vec<_> = (0..3).map(|_| Events::subscribe(&server, "", "")).collect();
        // Some changes arrive together, and there are more of them than the server keeps for all subscribers.
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let server = &server;
                scope.spawn(move || {
                    for part in 0..10 {
                        let row = |number| format!("{{\"name\":\"{writer}-{part}-{number}\"}}\n");
                        let rows: String = (0..40).map(row).collect();
                        let kind = [("content-type", "application/x-ndjson")];
                        server.ask("POST", "/tables/person/import", &kind, &rows).ok(200);
                        server.send("POST", "/tables/person/rows", r#"{"name":"one"}"#).ok(201);
                    }
                });
            }
        });
        for events in &mut subscribers {
            let mut names = Vec::new();
            let mut last = 0;
            for _ in 0..4 * 10 * 41 {
                let (id, kind, data) = events.next();
                assert!(id > last && kind == "insert", "{kind} {id} after {last}");
                last = id;
                names.push(data["row"]["name"].as_str().unwrap().to_owned());
            }
            names.sort();
            names.dedup();
            assert_eq!(names.len(), 4 * 10 * 40 + 1);
        }
    }
}

#[test]
fn schema_change_ends_events_with_error() {
    let engine = sqlite();
    track(&*engine);
    let server = TestServer::with(Settings::default(), Arc::clone(&engine));
    let mut events = Events::subscribe(&server, "", "connection: close\r\n");
    server.send("POST", "/tables/person/rows", r#"{"name":"Ada"}"#).ok(201);
    assert_eq!(events.next().1, "insert");
    engine.session().unwrap().execute("ALTER TABLE person ADD COLUMN extra TEXT", &[]).unwrap();
    server.get("/tables").ok(200);
    server.send("POST", "/tables/person/rows", r#"{"name":"Bea"}"#).ok(201);
    let rest = events.rest();
    let data = rest.split("event: error\ndata: ").nth(1).expect("an error");
    assert!(data.contains("\"kind\":\"Schema\"") && data.contains("\"status\":409"), "{rest}");
    assert!(!rest.contains("Bea"), "{rest}");
}

#[test]
fn untracked_table_has_no_changes() {
    let server = TestServer::open();
    server.get("/tables/person/changes").is(409, "Schema");
    let engine = sqlite();
    track(&*engine);
    let several = TestServer::with(Settings::default(), engine);
    let rejected = several.get("/changes?tables=note,person,seat");
    assert_eq!(rejected.is(409, "Schema").json()["untracked"], json!(["note", "seat"]));
    server.get("/tables/missing/changes").is(404, "NotFound");
    server.get("/tables/person/changes?since=x").is(400, "Syntax");
}

#[test]
fn future_change_id_is_rejected() {
    for engine in [sqlite(), memory()] {
        track(&*engine);
        let server = TestServer::with(Settings::default(), engine);
        server.send("POST", "/tables/person/rows", r#"{"name":"Ada"}"#).ok(201);
        server.get("/tables/person/changes?since=2").is(410, "NotFound");
        let headers = [("last-event-id", "99999")];
        server.ask("GET", "/tables/person/changes", &headers, "").is(410, "NotFound");
        let mut events = Events::subscribe(&server, "?since=1", "");
        server.send("POST", "/tables/person/rows", r#"{"name":"Bea"}"#).ok(201);
        assert_eq!(events.next().0, 2);
    }
}

#[test]
fn history_lists_changes_of_row() {
    for engine in [sqlite(), memory()] {
        track(&*engine);
        let server = TestServer::with(Settings::default(), engine);
        server.send("POST", "/tables/person/rows", r#"{"name":"Ada","balance":5}"#).ok(201);
        server.send("POST", "/tables/person/rows", r#"{"name":"Bea"}"#).ok(201);
        server.send("PATCH", "/tables/person/rows/1", r#"{"balance":20.5}"#).ok(200);
        server.ask("DELETE", "/tables/person/rows/1", &[], "").ok(204);
        let of = |query: &str| server.get(&format!("/tables/person/rows/1/history{query}"));
        let whole = of("").ok(200).json();
        let changes = whole["changes"].as_array().unwrap();
        let kinds: Vec<_> = changes.iter().map(|change| change["kind"].as_str().unwrap()).collect();
        assert_eq!(kinds, ["insert", "update", "delete"]);
        assert_eq!(changes[0]["before"], json!(null));
        assert_eq!(changes[1]["before"]["balance"], json!(5.0));
        assert_eq!(changes[1]["after"], changes[2]["before"]);
        assert_eq!((&changes[2]["after"], &whole["more"]), (&json!(null), &json!(false)));
        let first = of("?limit=2").ok(200).json();
        assert_eq!((first["more"].clone(), first["next"].clone()), (json!(true), json!(3)));
        let rest = of("?limit=2&since=3").ok(200).json();
        assert_eq!(rest["changes"], json!([changes[2]]));
        assert_eq!(of("?numbers=text").json()["changes"][1]["after"]["balance"], json!("20.50"));
        assert_eq!(of("?since=9").ok(200).json()["changes"], json!([]));
        server.get("/tables/person/rows/7/history").is(404, "NotFound");
        server.get("/tables/person/rows/x/history").is(400, "Mismatch");
        server.get("/tables/seat/rows/a,1/history").is(409, "Schema");
        of("?limit=1000000").is(400, "Syntax");
        server.ask("POST", "/tables/person/rows/1/history", &[], "x").is(405, "Unsupported");
    }
}
