//! Doors, limits, and clients that behave badly.

use crate::client::{Door, TOKEN, memory, sqlite};
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

/// All that comes until the other end closes.
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
fn who_holds_a_unix_socket_needs_no_token() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let builder = HttpServer::builder().shared_database("main", memory()).unix(&path);
    let server = builder.start().unwrap();
    let mut stream = UnixStream::connect(&path).unwrap();
    stream.write_all(b"GET /tables HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").unwrap();
    let answer = rest(&mut stream);
    assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("\"person\""), "{answer}");
    assert!(server.stop());
    assert!(!path.exists());
}

#[test]
fn a_door_without_a_lock_is_not_opened() {
    let start = |address: &str| {
        HttpServer::builder().shared_database("main", memory()).tcp(address).start().map(|_| ())
    };
    assert!(start("127.0.0.1:0").unwrap_err().message().contains("needs a token"));
    let open = HttpServer::builder().shared_database("main", memory()).token(TOKEN);
    assert!(open.tcp("0.0.0.0:0").start().is_err(), "other machines come with TLS only");
}

#[test]
fn garbage_and_slow_heads_are_cut_off_and_harm_nobody() {
    let limits = settings(|settings| settings.header_timeout = Duration::from_millis(300));
    let door = Door::with(limits, memory());
    let address = door.server.addresses()[0];
    let mut slow = raw(address);
    slow.write_all(b"GET /tables HTTP/1.1\r\nhost: ").unwrap();
    let mut garbage = raw(address);
    garbage.write_all(b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n").unwrap();
    let answer = rest(&mut garbage);
    assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
    let mut long = raw(address);
    let head = format!("GET / HTTP/1.1\r\nx: {}\r\n\r\n", "y".repeat(200_000));
    long.write_all(head.as_bytes()).unwrap();
    let answer = rest(&mut long);
    assert!(answer.starts_with("HTTP/1.1 431"), "{answer}");
    door.get("/tables").ok(200);
    assert!(!rest(&mut slow).contains("200 OK"));
}

#[test]
fn bodies_that_are_too_long_or_do_not_come_are_refused() {
    let limits = settings(|settings| {
        settings.max_body = 1_000;
        settings.body_timeout = Duration::from_millis(300);
    });
    let door = Door::with(limits, sqlite());
    let long = format!(r#"{{"name":"{}"}}"#, "x".repeat(2_000));
    door.send("POST", "/tables/person/rows", &long).is(413, "OutOfRange");
    let lines = [("content-type", "application/x-ndjson")];
    door.ask("POST", "/tables/person/import", &lines, &long).is(413, "OutOfRange");
    let csv = [("content-type", "text/csv")];
    let quoted = format!("name\n\"{}", "x".repeat(100_000));
    door.ask("POST", "/tables/person/import", &csv, &quoted).is(413, "OutOfRange");
    for path in ["/tables/person/rows", "/tables/person/import?commit=0"] {
        let mut slow = raw(door.server.addresses()[0]);
        let media =
            if path.ends_with("rows") { "application/json" } else { "application/x-ndjson" };
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {TOKEN}\r\n\
             content-type: {media}\r\ncontent-length: 500\r\n\r\n{{\"name\":\"a\"}}\n"
        );
        slow.write_all(head.as_bytes()).unwrap();
        let answer = rest(&mut slow);
        assert!(answer.starts_with("HTTP/1.1 408"), "{path}: {answer}");
    }
    // What vanished in the middle has left nothing, and locks nobody out.
    let rows = door.get("/tables/person/rows?total").json();
    assert_eq!(rows["total"], 0);
    door.send("POST", "/tables/person/rows", r#"{"name":"x"}"#).ok(201);
}

#[test]
fn a_client_that_does_not_read_is_cut_off() {
    let limits = settings(|settings| {
        settings.write_timeout = Duration::from_millis(300);
        settings.streams = 1;
    });
    // A Unix socket holds little: TCP on loopback may take in the whole answer before it is read.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let builder = HttpServer::builder().settings(limits).shared_database("main", memory());
    let door = Door::of(builder.unix(&path));
    let lines: String =
        (0..40_000).map(|at| format!("{{\"name\":\"n{at}\",\"email\":\"{at:0400}\"}}\n")).collect();
    let media = [("content-type", "application/x-ndjson")];
    door.ask("POST", "/tables/person/import", &media, &lines).ok(200);
    let mut lazy = UnixStream::connect(&path).unwrap();
    lazy.write_all(b"GET /tables/person/export HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
    let mut first = [0; 1];
    lazy.read_exact(&mut first).unwrap();
    door.get("/tables/person/export?limit=1").is(503, "Busy");
    door.get("/tables/person/rows/1").ok(200);
    let end = Instant::now() + Duration::from_secs(20);
    while door.get("/tables/person/export?limit=1").status == 503 {
        assert!(Instant::now() < end, "its stream is not given back");
        std::thread::sleep(Duration::from_millis(50));
    }
    let got = rest(&mut lazy);
    assert!(!got.ends_with("0\r\n\r\n"), "a broken answer does not look whole");
}

#[test]
fn rates_are_kept() {
    let limits = settings(|settings| {
        settings.rate_limit = Some(3);
        settings.refusals = 2;
    });
    let mut door = Door::with(limits, memory());
    let replies: Vec<_> = (0..6).map(|_| door.get("/tables/person/rows")).collect();
    let limited = replies.iter().find(|reply| reply.status == 429).expect("too many");
    assert_eq!(limited.is(429, "Busy").header("retry-after"), "1");
    door.headers.clear();
    let wrong = [("authorization", "Bearer wrong")];
    let statuses: Vec<_> = (0..4).map(|_| door.ask("GET", "/tables", &wrong, "").status).collect();
    assert_eq!(statuses, [401, 401, 429, 429]);
    // A right one is let in all the same; who shows nothing is told what is wanted.
    std::thread::sleep(Duration::from_secs(1));
    let right = [("authorization", format!("Bearer {TOKEN}"))];
    let right = right.each_ref().map(|(name, value)| (*name, value.as_str()));
    door.ask("GET", "/tables", &right, "").ok(200);
    door.get("/tables").is(401, "Denied");
}

#[test]
fn pages_of_known_origins_are_let_in() {
    let limits = settings(|settings| settings.origins = vec!["https://app.example.com".to_owned()]);
    let door = Door::with(limits, memory());
    let ask = |method: &str, origin: &str| {
        door.ask(method, "/tables/person/rows", &[("origin", origin)], "")
    };
    let known = ask("GET", "https://app.example.com");
    assert_eq!(known.header("access-control-allow-origin"), "https://app.example.com");
    assert_eq!(ask("GET", "https://evil.example.com").header("access-control-allow-origin"), "");
    let before = ask("OPTIONS", "https://app.example.com");
    assert!(before.ok(204).header("access-control-allow-methods").contains("POST"));
    let unknown = |method: &str| {
        door.ask(method, "/tables/person/nothing", &[("origin", "https://app.example.com")], "")
    };
    assert!(unknown("OPTIONS").ok(204).header("access-control-allow-methods").contains("PATCH"));
    let answer = unknown("GET");
    answer.is(404, "NotFound");
    assert_eq!(answer.header("access-control-allow-origin"), "https://app.example.com");
}

#[test]
fn counters_are_told() {
    let door = Door::open();
    door.get("/tables/person/rows").ok(200);
    door.get("/tables/nobody/rows").is(404, "NotFound");
    let text = door.get("/metrics").ok(200).text.clone();
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
fn requests_under_way_are_answered_when_the_server_stops() {
    let door = Door::with(Settings::default(), sqlite());
    let mut stream = raw(door.server.addresses()[0]);
    let head = format!(
        "POST /tables/person/import HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {TOKEN}\r\n\
         content-type: application/x-ndjson\r\ncontent-length: 26\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(b"{\"name\":\"a\"}\n").unwrap();
    let idle = raw(door.server.addresses()[0]);
    door.get("/health").ok(200);
    std::thread::sleep(Duration::from_millis(50));
    door.server.begin_stop();
    std::thread::sleep(Duration::from_millis(50));
    stream.write_all(b"{\"name\":\"b\"}\n").unwrap();
    let answer = rest(&mut stream);
    assert!(answer.contains("\"inserted\":2"), "{answer}");
    assert!(door.server.stop());
    drop(idle);
}

/// Its body comes after the answer is known: the next request still finds the connection open.
#[test]
fn a_refused_request_does_not_cost_the_connection() {
    let door = Door::open();
    let mut stream = raw(door.server.addresses()[0]);
    let token = format!("authorization: Bearer {TOKEN}");
    for (line, authorization, status) in [
        ("POST /tables/person/rows/1", token.as_str(), "405"),
        ("POST /tables/nobody/rows", &token, "404"),
        ("POST /tables/person/rows?x=1", &token, "400"),
        ("POST /tables/person/import", &token, "415"),
        ("POST /tables/person/rows", "accept: */*", "401"),
        ("DELETE /tables/person/rows/1", &token, "404"),
        ("GET /health", &token, "200"),
    ] {
        let head = format!("{line} HTTP/1.1\r\nhost: x\r\n{authorization}\r\n");
        stream.write_all(format!("{head}content-length: 200000\r\n\r\n").as_bytes()).unwrap();
        let mut answer = String::new();
        while !answer.contains("\r\n\r\n") {
            let mut byte = [0];
            assert_eq!(stream.read(&mut byte).unwrap(), 1, "{line}: {answer}");
            answer.push(char::from(byte[0]));
        }
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{line}: {answer}");
        let length = answer.lines().find_map(|line| line.strip_prefix("content-length: "));
        let mut body = vec![0; length.unwrap_or("0").trim().parse().unwrap()];
        stream.read_exact(&mut body).unwrap();
        stream.write_all(&[b'x'; 200_000]).unwrap();
    }
}
