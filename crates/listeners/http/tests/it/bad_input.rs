//! Hostile input: JSON bombs, slow headers, and attempts to learn about forbidden tables from responses.

use crate::client::{Reply, TOKEN, TestServer, memory, sqlite};
use crate::connections::settings;
use bobak_http::{HttpServer, SqlAccess};
use bobak_permissions::{Access, new_token};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// Closes the connection after each request. The server closes a connection with an unread body, and
/// the client might reuse it at that moment.
fn close_connection() -> (String, String) {
    ("connection".to_owned(), "close".to_owned())
}

/// Asserts a rejection with a short response.
#[track_caller]
fn assert_rejected(reply: &Reply) {
    assert!(matches!(reply.status, 400 | 422), "{} {:.200}", reply.status, reply.text);
    assert!(reply.text.len() < 10_000, "the response is as long as the request");
}

#[test]
fn json_bombs_are_rejected() {
    let settings = settings(|settings| settings.sql = SqlAccess::Write);
    let mut server = TestServer::with(settings, sqlite());
    server.headers.push(close_connection());
    let deep = |count: usize| format!("{}{}", "[".repeat(count), "]".repeat(count));
    let lines = [("content-type", "application/x-ndjson")];
    for count in [200, 100_000] {
        let nested = deep(count);
        let tags = format!(r#"{{"name":"a","tags":{nested}}}"#);
        let name = format!(r#"{{"name":{nested}}}"#);
        for body in [&nested, &tags, &name] {
            assert_rejected(&server.send("POST", "/tables/person/rows", body));
            assert_rejected(&server.ask("POST", "/tables/person/import", &lines, body));
        }
        let line = format!(r#"{{"op":"insert","table":"person","row":{tags}}}"#);
        assert_rejected(&server.ask("POST", "/batch", &lines, &line));
        let sql = format!(r#"{{"sql":"SELECT ?","parameters":{nested}}}"#);
        assert_rejected(&server.send("POST", "/sql", &sql));
    }
    // A number of one megabyte, and the same column ten thousand times.
    let digits = "9".repeat(1 << 20);
    for number in [format!("1e{digits}"), format!("0.{digits}"), digits] {
        let body = format!(r#"{{"name":"a","rate":{number},"rate":1}}"#);
        assert_rejected(&server.send("POST", "/tables/person/rows", &body));
    }
    let twice = format!("{{{}}}", vec![r#""name":"a""#; 10_000].join(","));
    assert_rejected(&server.send("POST", "/tables/person/rows", &twice));
    assert_eq!(server.get("/tables/person/rows?total").json()["total"], 0);
}

#[test]
fn slow_headers_time_out() {
    let settings = settings(|settings| settings.header_timeout = Duration::from_millis(500));
    let server = TestServer::with(settings, memory());
    let mut stream = TcpStream::connect(server.http.addresses()[0]).unwrap();
    stream.set_nonblocking(true).unwrap();
    let mut head = format!("GET /tables HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {TOKEN}\r\n");
    head += &"x: y\r\n".repeat(10_000);
    let mut response = Vec::new();
    // At one byte at a time, the request would take an hour.
    let ended = head.bytes().any(|byte| {
        std::thread::sleep(Duration::from_millis(50));
        let written = stream.write_all(&[byte]);
        let mut room = [0; 512];
        match stream.read(&mut room) {
            Ok(0) => true,
            Ok(count) => {
                response.extend_from_slice(&room[..count]);
                false
            }
            Err(error) => written.is_err() || error.kind() != std::io::ErrorKind::WouldBlock,
        }
    });
    assert!(ended && !String::from_utf8_lossy(&response).contains("200 OK"));
    server.get("/tables").ok(200);
}

/// The reply without its date.
fn without_date(reply: &Reply) -> String {
    let headers = reply.headers.iter().filter(|(name, _)| *name != "date");
    format!("{} {:?} {}", reply.status, headers.collect::<Vec<_>>(), reply.text)
}

#[test]
fn forbidden_table_looks_like_missing_table() {
    let (token, hash) = new_token().unwrap();
    let access = format!("role clerk\n    read, sql on seat\ntoken ada {hash} roles clerk\n");
    let access = Access::from_text(&access).unwrap();
    let settings = settings(|settings| settings.sql = SqlAccess::Write);
    let engine = sqlite();
    engine.session().unwrap().execute("CREATE VIEW seen AS SELECT * FROM person", &[]).unwrap();
    let builder = HttpServer::builder().access(access).settings(settings);
    let mut server = TestServer::of(builder.shared_database("main", engine));
    server.send("POST", "/tables/person/rows", r#"{"name":"a"}"#).ok(201);
    let everything = server.headers.clone();
    server.headers =
        vec![("authorization".to_owned(), format!("Bearer {token}")), close_connection()];
    let headers = [("if-none-match", "*"), ("content-type", "application/json")];
    for path in ["", "/rows", "/rows/1", "/rows/x", "/import", "/export", "/aggregate", "/changes"]
    {
        for method in ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] {
            let body =
                if matches!(method, "POST" | "PUT" | "PATCH") { "{\"name\":\"b\"}" } else { "" };
            let ask = |table: &str| {
                let path = format!("/tables/{table}{path}");
                without_date(&server.ask(method, &path, &headers, body)).replace(table, "NAME")
            };
            // Names of equal length, because of the content-length header; the message has the client's own.
            assert_eq!(ask("person"), ask("absent"), "{method} {path}");
        }
    }
    for text in [
        "SELECT * FROM TABLE",
        "SELECT nothing FROM TABLE",
        "SELECT 1 /*/ ' */ FROM TABLE -- '",
        "SELECT 1 WHERE EXISTS (SELECT 1 FROM \u{feff}TABLE)",
        "INSERT INTO TABLE (name) VALUES (1)",
        "DELETE FROM TABLE",
        "SELECT $x('), id FROM TABLE -- '",
        "PRAGMA table_info(TABLE)",
        "DROP TABLE TABLE",
        "SELEC 1 FROM TABLE",
    ] {
        let ask = |table: &str| {
            let sql = text.replace("TABLE", table);
            let reply = server.send("POST", "/sql", &serde_json::json!({ "sql": sql }).to_string());
            assert!(reply.status >= 400, "{sql}: {reply:?}");
            without_date(&reply).replace(table, "TABLE")
        };
        assert_eq!(ask("person"), ask("absent"), "{text}");
    }
    // Metrics contain path templates, not paths.
    server.headers = everything;
    let counted = server.get("/metrics").ok(200).text.clone();
    assert!(!counted.contains("person") && !counted.contains("absent"), "{counted}");
    assert_eq!(server.get("/tables/person/rows?total").json()["total"], 1);
}
