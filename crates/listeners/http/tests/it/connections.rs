//! Listeners, limits, CORS, and misbehaving clients.

use crate::client::{TOKEN, TestServer, memory, sqlite};
use bobak_http::{HttpServer, Settings};
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

pub fn raw(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).expect("connects");
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("is a socket");
    stream
}

/// Reads until the other end closes.
pub fn rest(stream: &mut impl Read) -> String {
    let mut all = Vec::new();
    match stream.read_to_end(&mut all) {
        Err(error) if error.kind() != ErrorKind::ConnectionReset => panic!("{error}"),
        _ => String::from_utf8_lossy(&all).into_owned(),
    }
}

pub fn settings(change: impl FnOnce(&mut Settings)) -> Settings {
    let mut settings = Settings::default();
    change(&mut settings);
    settings
}

#[test]
fn unix_socket_requires_no_token() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let builder = HttpServer::builder().shared_database("main", memory()).unix(&path);
    let server = builder.start().unwrap();
    let mut stream = UnixStream::connect(&path).unwrap();
    stream.write_all(b"GET /tables HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").unwrap();
    let response = rest(&mut stream);
    assert!(response.starts_with("HTTP/1.1 200") && response.contains("\"person\""), "{response}");
    assert!(server.stop());
    assert!(!path.exists());
}

#[test]
fn tcp_without_token_or_tls_is_rejected() {
    let start = |address: &str| {
        HttpServer::builder().shared_database("main", memory()).tcp(address).start().map(|_| ())
    };
    assert!(start("127.0.0.1:0").unwrap_err().message().contains("needs a token"));
    let open = HttpServer::builder().shared_database("main", memory()).token(TOKEN);
    assert!(open.tcp("0.0.0.0:0").start().is_err(), "other machines require TLS");
}

#[test]
fn garbage_and_slow_headers_are_disconnected() {
    let limits = settings(|settings| settings.header_timeout = Duration::from_millis(300));
    let server = TestServer::with(limits, memory());
    let address = server.http.addresses()[0];
    let mut slow = raw(address);
    slow.write_all(b"GET /tables HTTP/1.1\r\nhost: ").unwrap();
    let mut garbage = raw(address);
    garbage.write_all(b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n").unwrap();
    let response = rest(&mut garbage);
    assert!(response.starts_with("HTTP/1.1 400"), "{response}");
    let mut long = raw(address);
    let head = format!("GET / HTTP/1.1\r\nx: {}\r\n\r\n", "y".repeat(200_000));
    long.write_all(head.as_bytes()).unwrap();
    let response = rest(&mut long);
    assert!(response.starts_with("HTTP/1.1 431"), "{response}");
    server.get("/tables").ok(200);
    assert!(!rest(&mut slow).contains("200 OK"));
}

#[test]
fn long_and_slow_bodies_are_rejected() {
    let limits = settings(|settings| {
        settings.max_body = 1_000;
        settings.body_timeout = Duration::from_millis(300);
    });
    let server = TestServer::with(limits, sqlite());
    let long = format!(r#"{{"name":"{}"}}"#, "x".repeat(2_000));
    server.send("POST", "/tables/person/rows", &long).is(413, "OutOfRange");
    let lines = [("content-type", "application/x-ndjson")];
    server.ask("POST", "/tables/person/import", &lines, &long).is(413, "OutOfRange");
    let csv = [("content-type", "text/csv")];
    let quoted = format!("name\n\"{}", "x".repeat(100_000));
    server.ask("POST", "/tables/person/import", &csv, &quoted).is(413, "OutOfRange");
    for path in ["/tables/person/rows", "/tables/person/import?commit=0"] {
        let mut slow = raw(server.http.addresses()[0]);
        let media =
            if path.ends_with("rows") { "application/json" } else { "application/x-ndjson" };
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {TOKEN}\r\n\
             content-type: {media}\r\ncontent-length: 500\r\n\r\n{{\"name\":\"a\"}}\n"
        );
        slow.write_all(head.as_bytes()).unwrap();
        let response = rest(&mut slow);
        assert!(response.starts_with("HTTP/1.1 408"), "{path}: {response}");
    }
    // Aborted requests leave no rows and no locks.
    let rows = server.get("/tables/person/rows?total").json();
    assert_eq!(rows["total"], 0);
    server.send("POST", "/tables/person/rows", r#"{"name":"x"}"#).ok(201);
}

#[test]
fn client_that_does_not_read_is_disconnected() {
    let limits = settings(|settings| {
        settings.write_timeout = Duration::from_millis(300);
        settings.max_streams = 1;
    });
    // Unix sockets have small buffers. A TCP loopback connection may buffer the whole response.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let builder = HttpServer::builder().settings(limits).shared_database("main", memory());
    let server = TestServer::of(builder.unix(&path));
    let lines: String =
        (0..40_000).map(|at| format!("{{\"name\":\"n{at}\",\"email\":\"{at:0400}\"}}\n")).collect();
    let media = [("content-type", "application/x-ndjson")];
    server.ask("POST", "/tables/person/import", &media, &lines).ok(200);
    let mut lazy = UnixStream::connect(&path).unwrap();
    lazy.write_all(b"GET /tables/person/export HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
    let mut first = [0; 1];
    lazy.read_exact(&mut first).unwrap();
    server.get("/tables/person/export?limit=1").is(503, "Busy");
    server.get("/tables/person/rows/1").ok(200);
    let end = Instant::now() + Duration::from_secs(20);
    while server.get("/tables/person/export?limit=1").status == 503 {
        assert!(Instant::now() < end, "the stream's permit is not returned");
        std::thread::sleep(Duration::from_millis(50));
    }
    let got = rest(&mut lazy);
    assert!(!got.ends_with("0\r\n\r\n"), "an aborted response must not look complete");
}

#[test]
fn rate_limits_are_enforced() {
    let limits = settings(|settings| {
        settings.rate_limit = Some(3);
        settings.max_failed_logins = 2;
    });
    let mut server = TestServer::with(limits, memory());
    let replies: Vec<_> = (0..6).map(|_| server.get("/tables/person/rows")).collect();
    let limited = replies.iter().find(|reply| reply.status == 429).expect("too many");
    assert_eq!(limited.is(429, "Busy").header("retry-after"), "1");
    server.headers.clear();
    let wrong = [("authorization", "Bearer wrong")];
    let statuses: Vec<_> =
        (0..4).map(|_| server.ask("GET", "/tables", &wrong, "").status).collect();
    assert_eq!(statuses, [401, 401, 429, 429]);
    // A valid token still succeeds, and a request without credentials still gets 401.
    std::thread::sleep(Duration::from_secs(1));
    let right = [("authorization", format!("Bearer {TOKEN}"))];
    let right = right.each_ref().map(|(name, value)| (*name, value.as_str()));
    server.ask("GET", "/tables", &right, "").ok(200);
    server.get("/tables").is(401, "Denied");
}

#[test]
fn allowed_origins_get_cors_headers() {
    let limits =
        settings(|settings| settings.cors_origin = vec!["https://app.example.com".to_owned()]);
    let server = TestServer::with(limits, memory());
    let ask = |method: &str, origin: &str| {
        server.ask(method, "/tables/person/rows", &[("origin", origin)], "")
    };
    let known = ask("GET", "https://app.example.com");
    assert_eq!(known.header("access-control-allow-origin"), "https://app.example.com");
    assert_eq!(ask("GET", "https://evil.example.com").header("access-control-allow-origin"), "");
    let before = ask("OPTIONS", "https://app.example.com");
    assert!(before.ok(204).header("access-control-allow-methods").contains("POST"));
    let headers = before.header("access-control-allow-headers");
    for name in ["last-event-id", "mcp-protocol-version", "mcp-session-id"] {
        assert!(headers.split(", ").any(|allowed| allowed == name), "{headers}");
    }
    let unknown = |method: &str| {
        server.ask(method, "/tables/person/nothing", &[("origin", "https://app.example.com")], "")
    };
    assert!(unknown("OPTIONS").ok(204).header("access-control-allow-methods").contains("PATCH"));
    let response = unknown("GET");
    response.is(404, "NotFound");
    assert_eq!(response.header("access-control-allow-origin"), "https://app.example.com");
}

#[test]
fn metrics_count_requests() {
    let server = TestServer::open();
    server.get("/tables/person/rows").ok(200);
    server.get("/tables/missing/rows").is(404, "NotFound");
    let text = server.get("/metrics").ok(200).text.clone();
    for line in [
        "bobak_http_requests_total{route=\"/tables/{table}/rows\",method=\"GET\",status=\"2xx\"} 1",
        "bobak_http_requests_total{route=\"/tables/{table}/rows\",method=\"GET\",status=\"4xx\"} 1",
        "bobak_http_request_seconds_count{route=\"/tables/{table}/rows\"} 2",
        "bobak_http_connections 1",
    ] {
        assert!(text.lines().any(|other| other == line), "{line}: {text}");
    }
}

#[test]
fn stopping_server_finishes_requests() {
    let server = TestServer::with(Settings::default(), sqlite());
    let mut stream = raw(server.http.addresses()[0]);
    let head = format!(
        "POST /tables/person/import HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {TOKEN}\r\n\
         content-type: application/x-ndjson\r\ncontent-length: 26\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(b"{\"name\":\"a\"}\n").unwrap();
    let idle = raw(server.http.addresses()[0]);
    server.get("/health").ok(200);
    std::thread::sleep(Duration::from_millis(50));
    server.http.begin_stop();
    std::thread::sleep(Duration::from_millis(50));
    stream.write_all(b"{\"name\":\"b\"}\n").unwrap();
    let response = rest(&mut stream);
    assert!(response.contains("\"inserted\":2"), "{response}");
    assert!(server.http.stop());
    drop(idle);
}

/// The body arrives after the response. The next request still uses the same connection.
#[test]
fn rejected_request_keeps_connection_open() {
    let server = TestServer::open();
    let mut stream = raw(server.http.addresses()[0]);
    let token = format!("authorization: Bearer {TOKEN}");
    for (line, authorization, status) in [
        ("POST /tables/person/rows/1", token.as_str(), "405"),
        ("POST /tables/missing/rows", &token, "404"),
        ("POST /tables/person/rows?x=1", &token, "400"),
        ("POST /tables/person/import", &token, "415"),
        ("POST /tables/person/rows", "accept: */*", "401"),
        ("DELETE /tables/person/rows/1", &token, "404"),
        ("GET /health", &token, "200"),
    ] {
        let head = format!("{line} HTTP/1.1\r\nhost: x\r\n{authorization}\r\n");
        stream.write_all(format!("{head}content-length: 200000\r\n\r\n").as_bytes()).unwrap();
        let mut response = String::new();
        while !response.contains("\r\n\r\n") {
            let mut byte = [0];
            assert_eq!(stream.read(&mut byte).unwrap(), 1, "{line}: {response}");
            response.push(char::from(byte[0]));
        }
        assert!(response.starts_with(&format!("HTTP/1.1 {status}")), "{line}: {response}");
        let length = response.lines().find_map(|line| line.strip_prefix("content-length: "));
        let mut body = vec![0; length.unwrap_or("0").trim().parse().unwrap()];
        stream.read_exact(&mut body).unwrap();
        stream.write_all(&[b'x'; 200_000]).unwrap();
    }
}
