//! Quotas: other clients are served while one client uses all that it may.

use crate::client::{TOKEN, TestServer};
use crate::connections::{raw, rest, settings};
use crate::interrupts::ENDLESS_QUERY;
use bobak_core::Engine;
use bobak_http::{HttpServer, Settings, SqlAccess};
use bobak_permissions::{Access, new_token};
use bobak_sqlite::Sqlite;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;

/// A server for a database file, with a Unix socket, and the token of a second user besides [`TOKEN`].
fn server(change: impl FnOnce(&mut Settings)) -> (TempDir, TestServer, String) {
    let folder = tempfile::tempdir().unwrap();
    let settings = settings(|settings| {
        settings.sql = SqlAccess::Write;
        change(settings);
    });
    let engine = Sqlite::builder().readers(16).open(folder.path().join("test.db")).unwrap();
    engine.session().unwrap().execute("CREATE TABLE t (a INTEGER PRIMARY KEY)", &[]).unwrap();
    let (token, hash) = new_token().unwrap();
    let access = Access::from_text(&format!("token greedy {hash} roles admin\n")).unwrap();
    let builder = HttpServer::builder().settings(settings).access(access);
    let builder = builder.shared_database("main", Arc::new(engine));
    let server = TestServer::of(builder.unix(folder.path().join("socket")));
    (folder, server, token)
}

/// Sends SQL, and does not wait for the response.
fn send(mut stream: impl Write, token: Option<&str>, sql: &str) {
    let body = serde_json::json!({ "sql": sql }).to_string();
    let shown = token.map(|token| format!("authorization: Bearer {token}\r\n"));
    let head = format!(
        "POST /sql HTTP/1.1\r\nhost: x\r\nconnection: close\r\n{}\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n",
        shown.unwrap_or_default(),
        body.len()
    );
    stream.write_all((head + &body).as_bytes()).unwrap();
}

#[test]
fn one_client_cannot_take_all_workers() {
    // Of four workers, one client may have two, and one address three.
    let (folder, server, greedy) = server(|settings| settings.max_workers = 4);
    let quick = serde_json::json!({ "sql": "SELECT 7" }).to_string();
    let connect = || raw(server.http.addresses()[0]);
    let crowd: Vec<_> = (0..8).map(|_| connect()).collect();
    crowd.iter().for_each(|stream| send(stream, Some(&greedy), ENDLESS_QUERY));
    // Some of these run, others wait. Other clients still get workers.
    std::thread::sleep(Duration::from_millis(200));
    for _ in 0..3 {
        server.send("POST", "/sql", &quick).ok(200);
    }
    let others: Vec<_> = (0..4).map(|_| connect()).collect();
    others.iter().for_each(|stream| send(stream, Some(TOKEN), ENDLESS_QUERY));
    std::thread::sleep(Duration::from_millis(200));
    // The address has used up its quota, which does not apply to the operator.
    for _ in 0..3 {
        let mut operator = UnixStream::connect(folder.path().join("socket")).unwrap();
        send(&operator, None, "SELECT 7");
        let response = rest(&mut operator);
        assert!(response.starts_with("HTTP/1.1 200"), "{response}");
    }
    // Disconnected clients, running or waiting, free their workers.
    drop((crowd, others));
    let shown = format!("Bearer {greedy}");
    let headers = [("content-type", "application/json"), ("authorization", shown.as_str())];
    let theirs = TestServer { headers: Vec::new(), ..server };
    theirs.ask("POST", "/sql", &headers, &quick).ok(200);
}

#[test]
fn operator_connects_to_full_server() {
    let (folder, server, _) = server(|settings| settings.max_connections = 1);
    let mut first = raw(server.http.addresses()[0]);
    first.write_all(b"GET /health HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
    first.read_exact(&mut [0]).unwrap();
    assert_eq!(rest(&mut raw(server.http.addresses()[0])), "");
    let mut operator = UnixStream::connect(folder.path().join("socket")).unwrap();
    send(&operator, None, "SELECT 7");
    let response = rest(&mut operator);
    assert!(response.starts_with("HTTP/1.1 200"), "{response}");
}

#[test]
fn streams_occupy_no_workers() {
    let (_folder, server, greedy) =
        server(|settings| (settings.max_workers, settings.max_streams) = (1, 2));
    let mut stream = raw(server.http.addresses()[0]);
    let head = format!(
        "POST /tables/t/import HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {greedy}\r\n\
         content-type: application/x-ndjson\r\ncontent-length: 16\r\n\r\n"
    );
    stream.write_all((head + "{\"a\":1}\n").as_bytes()).unwrap();
    let taken = || server.get("/metrics").text.contains("bobak_http_streams 1\n");
    while !taken() {
        std::thread::yield_now();
    }
    server.get("/tables/t/rows").ok(200);
    stream.write_all(b"{\"a\":2}\n").unwrap();
    let mut first = [0; 15];
    stream.read_exact(&mut first).unwrap();
    assert_eq!(&first, b"HTTP/1.1 200 OK");
}

#[test]
fn one_client_cannot_take_all_memory() {
    // Eight blocks of 64 KiB: one client may have four, and one address six.
    let (_folder, server, greedy) = server(|settings| settings.max_memory = 512 << 10);
    let address = server.http.addresses()[0];
    let long = |token: &str, length: usize, sent: usize| {
        let mut stream = raw(address);
        let head = format!(
            "POST /sql HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\n\
             connection: close\r\ncontent-type: application/json\r\n\
             content-length: {length}\r\n\r\n"
        );
        stream.write_all(&[head.as_bytes(), &vec![b' '; sent]].concat()).unwrap();
        stream
    };
    let more = || rest(&mut long(&greedy, 300_000, 300_000));
    // Of two concurrent bodies either may be rejected, so this repeats until one holds memory and the
    // other is rejected. A body that is not rejected gets 400, because it is not JSON.
    let is_full = |response: &str| !response.starts_with("HTTP/1.1 400");
    let (held, rejected) = (0..100)
        .find_map(|_| {
            let held = long(&greedy, 300_000, 299_999);
            let [_, second] = [more(), more()];
            is_full(&second).then_some((held, second))
        })
        .unwrap();
    assert!(
        rejected.starts_with("HTTP/1.1 503") && rejected.contains("limit of bytes"),
        "{rejected}"
    );
    let other = rest(&mut long(TOKEN, 190_000, 190_000));
    assert!(other.starts_with("HTTP/1.1 400"), "{other}");
    drop(held);
    assert!((0..1_000).any(|_| !is_full(&more())), "the memory is released");
    let sql = |length: usize| {
        let sql = format!("SELECT printf('%.*c', {length}, 'x')");
        server.send("POST", "/sql", &serde_json::json!({ "sql": sql }).to_string())
    };
    assert!(sql(250_000).ok(200).text.len() > 250_000);
    sql(400_000).is(503, "Busy");
}
