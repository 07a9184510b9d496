//! Invalid headers, and bytes after a request.

use crate::client::{TOKEN, TestServer, memory, sqlite};
use crate::connections::{raw, rest};
use bobak_http::Settings;
use std::io::Write;

/// All responses to these bytes.
fn exchange(server: &TestServer, bytes: &str) -> String {
    let mut stream = raw(server.http.addresses()[0]);
    stream.write_all(bytes.as_bytes()).unwrap();
    rest(&mut stream)
}

#[test]
fn invalid_headers_are_rejected() {
    let server = TestServer::with(Settings::default(), memory());
    let many = "x: y\r\n".repeat(150);
    let authorized = format!("host: x\r\nauthorization: Bearer {TOKEN}\r\n");
    for (head, status) in [
        ("GET / HTTP/9.9\r\nhost: x\r\n\r\n".to_owned(), 400),
        ("G\u{e4}T / HTTP/1.1\r\nhost: x\r\n\r\n".to_owned(), 400),
        ("GET / HTTP/1.1\r\nhost x\r\n\r\n".to_owned(), 400),
        ("GET /\u{1} HTTP/1.1\r\nhost: x\r\n\r\n".to_owned(), 400),
        ("POST / HTTP/1.1\r\nhost: x\r\ncontent-length: ten\r\n\r\n".to_owned(), 400),
        (
            format!(
                "GET / HTTP/1.1\r\n{authorized}authorization: Bearer x\r\nconnection: close\r\n\r\n"
            ),
            400,
        ),
        (format!("GET / HTTP/1.1\r\nhost: x\r\n{many}\r\n"), 431),
        (format!("GET /{} HTTP/1.1\r\nhost: x\r\n\r\n", "y".repeat(70_000)), 414),
        (format!("GET / HTTP/1.1\r\nx: {}\r\n\r\n", "y".repeat(300_000)), 431),
        (
            format!(
                "POST /tables/person/rows HTTP/1.1\r\n{authorized}transfer-encoding: chunked\r\n\
                 content-type: application/json\r\n\r\nzz\r\n{{}}\r\n0\r\n\r\n"
            ),
            400,
        ),
    ] {
        let response = exchange(&server, &head);
        let wanted = format!("HTTP/1.1 {status}");
        assert!(response.starts_with(&wanted), "{status} for {head:.90}: {response}");
    }
    server.get("/tables").ok(200);
}

#[test]
fn long_headers_get_problem_document() {
    let server = TestServer::with(Settings::default(), memory());
    let get = |path: usize, field: usize| {
        exchange(
            &server,
            &format!(
                "GET /health?{} HTTP/1.1\r\nhost: x\r\nx: {}\r\nconnection: close\r\n\r\n",
                "y".repeat(path),
                "z".repeat(field)
            ),
        )
    };
    for (path, field, status) in [
        (32_000, 24_000, 200),
        (33_000, 0, 414),
        (60_000, 0, 414),
        (0, 25_000, 431),
        (10, 60_000, 431),
        (30_000, 30_000, 431),
    ] {
        let response = get(path, field);
        assert!(response.starts_with(&format!("HTTP/1.1 {status}")), "{path} {field}: {response}");
        let document = format!("\"status\":{status},\"kind\":\"OutOfRange\"");
        assert_eq!(response.contains(&document), status != 200, "{response}");
        assert_eq!(response.contains("application/problem+json"), status != 200, "{response}");
    }
    // The connection stays usable after such a request.
    let long = format!("GET /health?{} HTTP/1.1\r\nhost: x\r\n\r\n", "y".repeat(40_000));
    let all = exchange(
        &server,
        &format!("{long}GET /health HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"),
    );
    assert!(all.starts_with("HTTP/1.1 414") && all.contains("HTTP/1.1 200"), "{all}");
}

#[test]
fn ambiguous_headers_are_rejected() {
    let server = TestServer::with(Settings::default(), memory());
    for (head, status) in [
        ("GET /health HTTP/1.1\r\nconnection: close\r\n\r\n", 400),
        ("GET /health HTTP/1.1\r\nhost: a\r\nhost: b\r\nconnection: close\r\n\r\n", 400),
        ("GET /health HTTP/1.0\r\n\r\n", 200),
        (
            "POST /batch HTTP/1.1\r\nhost: a\r\ntransfer-encoding: gzip, chunked\r\n\
             connection: close\r\n\r\n0\r\n\r\n",
            501,
        ),
    ] {
        let response = exchange(&server, head);
        let version = if status == 200 { "0" } else { "1" };
        assert!(response.starts_with(&format!("HTTP/1.{version} {status}")), "{head}: {response}");
        assert_eq!(response.contains("application/problem+json"), status != 200, "{response}");
    }
}

#[test]
fn pipelined_bytes_do_not_delay_response() {
    let server = TestServer::with(Settings::default(), sqlite());
    let health = "GET /health HTTP/1.1\r\nhost: x\r\n";
    let post = format!(
        "POST /tables/person/rows HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {TOKEN}\r\n\
         content-type: application/json\r\ncontent-length: 12\r\n"
    );
    for (bytes, status, replies) in [
        (format!("{health}connection: close\r\n\r\n\r\n"), 200, 1),
        (format!("{health}connection: close\r\n\r\n{health}\r\n"), 200, 1),
        (format!("{post}connection: close\r\n\r\n{{\"name\":\"a\"}}\r\n"), 201, 1),
        (format!("{post}connection: close\r\n\r\n{{\"name\":\"b\"}}{health}\r\n"), 201, 1),
        (format!("{health}\r\n\r\n{health}\r\n{health}connection: close\r\n\r\n"), 200, 3),
    ] {
        let all = exchange(&server, &bytes);
        assert_eq!(all.matches(&format!("HTTP/1.1 {status}")).count(), replies, "{bytes}: {all}");
    }
    let rows = server.get("/tables/person/rows?total").json();
    assert_eq!(rows["total"], 2);
}
