//! Endless requests are interrupted: after the time limit, or if the client disconnects.

use crate::client::{TOKEN, TestServer};
use crate::connections::settings;
use bobak_core::Engine;
use bobak_http::SqlAccess;
use bobak_sqlite::Sqlite;
use std::io::Write;
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;

pub const ENDLESS_QUERY: &str =
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n";
const ENDLESS_WRITE: &str =
    "INSERT INTO t WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n";

/// A server with one worker, and a database file with the table `t`.
fn server(timeout: Duration) -> (TempDir, TestServer) {
    let folder = tempfile::tempdir().unwrap();
    let engine = Sqlite::open(folder.path().join("test.db")).unwrap();
    engine.session().unwrap().execute("CREATE TABLE t (a INTEGER)", &[]).unwrap();
    let settings = settings(|settings| {
        settings.max_workers = 1;
        settings.request_timeout = timeout;
        settings.sql = SqlAccess::Write;
    });
    (folder, TestServer::with(settings, Arc::new(engine)))
}

fn body(sql: &str) -> String {
    serde_json::json!({ "sql": sql }).to_string()
}

#[test]
fn timed_out_request_frees_worker() {
    let (_folder, server) = server(Duration::from_secs(1));
    for sql in [ENDLESS_QUERY, ENDLESS_WRITE] {
        server.send("POST", "/sql", &body(sql)).is(504, "Timeout");
    }
    // The only worker is free in time only if nothing else still runs.
    let reply = loop {
        let reply = server.send("POST", "/sql", &body("SELECT count(*) FROM t"));
        if reply.status != 504 {
            break reply;
        }
    };
    assert_eq!(reply.ok(200).json()["rows"], serde_json::json!([[0]]));
}

#[test]
fn disconnected_client_frees_worker() {
    let (_folder, server) = server(Duration::from_secs(600));
    for sql in [ENDLESS_QUERY, ENDLESS_WRITE] {
        let body = body(sql);
        let mut stream = TcpStream::connect(server.http.addresses()[0]).unwrap();
        let head = format!(
            "POST /sql HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {TOKEN}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all((head + &body).as_bytes()).unwrap();
        // While it runs, or before it starts.
        std::thread::sleep(Duration::from_millis(100));
    }
    let reply = server.send("POST", "/sql", &body("SELECT count(*) FROM t"));
    assert_eq!(reply.ok(200).json()["rows"], serde_json::json!([[0]]));
}

#[test]
fn disconnect_rolls_back_batch() {
    let (_folder, server) = server(Duration::from_secs(600));
    server.send("POST", "/sql", &body("CREATE TABLE u (id INTEGER PRIMARY KEY, n TEXT)")).ok(200);
    let mut stream = TcpStream::connect(server.http.addresses()[0]).unwrap();
    let head = format!(
        "POST /batch HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {TOKEN}\r\n\
         content-type: application/x-ndjson\r\ncontent-length: 100000000\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    for id in 0..20_000 {
        let line =
            format!("{{\"op\":\"insert\",\"table\":\"u\",\"row\":{{\"id\":{id},\"n\":\"x\"}}}}\n");
        stream.write_all(line.as_bytes()).unwrap();
    }
    drop(stream);
    let reply = server.send("POST", "/sql", &body("SELECT count(*) FROM u"));
    assert_eq!(reply.ok(200).json()["rows"], serde_json::json!([[0]]));
}
