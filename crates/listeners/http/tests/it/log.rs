//! The log has a line for each rejected or disconnected client, with name and address.

use crate::client::{TOKEN, TestServer, sqlite};
use crate::connections::{raw, rest};
use bobak_http::{HttpServer, Settings, SqlAccess};
use bobak_permissions::{Access, new_token};
use bobak_serving::ServerBuilder;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// The lines of a server's log.
#[derive(Clone, Default)]
pub struct LogLines(Arc<Mutex<Vec<String>>>);

impl LogLines {
    /// Makes a server log here.
    pub fn of(&self, builder: ServerBuilder<HttpServer>) -> ServerBuilder<HttpServer> {
        let lines = Arc::clone(&self.0);
        builder.log(move |line| lines.lock().unwrap().push(line.to_owned()))
    }

    /// Waits for a line with this start and this text in it, and clears the log.
    #[track_caller]
    pub fn has(&self, client: &str, event: &str) {
        let end = Instant::now() + Duration::from_secs(20);
        loop {
            let mut lines = self.0.lock().unwrap();
            if lines.iter().any(|line| line.starts_with(client) && line.contains(event)) {
                return lines.clear();
            }
            assert!(Instant::now() < end, "no line is like '{client} … {event}': {lines:?}");
            drop(lines);
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Asserts that there are lines, and that each is one.
    #[track_caller]
    pub fn has_no_line_break(&self) {
        let lines = self.0.lock().unwrap();
        assert!(!lines.is_empty(), "something is logged");
        let is_broken = |line: &&String| line.chars().any(char::is_control);
        assert_eq!(lines.iter().find(is_broken), None);
    }

    /// Whether a line has this start.
    #[cfg(feature = "tls")]
    pub fn any(&self, start: &str) -> bool {
        self.0.lock().unwrap().iter().any(|line| line.starts_with(start))
    }

    /// Asserts that no line contains this, and that there are lines.
    #[track_caller]
    fn have_not(&self, secret: &str) {
        let lines = self.0.lock().unwrap();
        assert!(!lines.is_empty(), "something is logged");
        assert!(!lines.iter().any(|line| line.contains(secret)), "{lines:?}");
    }

    fn count(&self) -> usize {
        self.0.lock().unwrap().len()
    }
}

fn server(change: impl FnOnce(&mut Settings)) -> (TestServer, LogLines) {
    let (mut settings, lines) = (Settings::default(), LogLines::default());
    change(&mut settings);
    let builder = HttpServer::builder().settings(settings).shared_database("main", sqlite());
    (TestServer::of(lines.of(builder)), lines)
}

fn post(path: &str, length: usize) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {TOKEN}\r\n\
         content-type: application/x-ndjson\r\ncontent-length: {length}\r\n\r\n"
    )
}

#[test]
fn invalid_and_slow_requests_are_logged() {
    let (server, lines) = server(|settings| {
        settings.header_timeout = Duration::from_millis(300);
        settings.body_timeout = Duration::from_millis(300);
    });
    let say = |text: &str| {
        let mut stream = raw(server.http.addresses()[0]);
        stream.write_all(text.as_bytes()).unwrap();
        stream
    };
    rest(&mut say("\u{16}\u{3}\u{1}\r\n\r\n"));
    lines.has("127.0.0.1 ", "not HTTP");
    rest(&mut say(&format!("GET / HTTP/1.1\r\n{}\r\n", "x: y\r\n".repeat(150))));
    lines.has("127.0.0.1 ", "not HTTP");
    rest(&mut say("GET / HTTP/1.1\r\nhost:"));
    lines.has("127.0.0.1 ", "headers timed out");
    rest(&mut say(&post("/tables/person/import", 500)));
    lines.has("operator at 127.0.0.1 ", "408");
    drop(say(&post("/batch", 500)));
    lines.has("operator at 127.0.0.1 ", "");
    // Idle connections are not worth a line.
    rest(&mut say("GET /health HTTP/1.1\r\nhost: x\r\n\r\n"));
    assert_eq!(lines.count(), 0);
}

#[test]
fn write_timeouts_are_logged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let (mut settings, lines) = (Settings::default(), LogLines::default());
    settings.write_timeout = Duration::from_millis(300);
    let builder = HttpServer::builder().settings(settings).shared_database("main", sqlite());
    let server = TestServer::of(lines.of(builder.unix(&path)));
    let photo = "A".repeat(1 << 20);
    for _ in 0..2 {
        let row = format!(r#"{{"name":"a","photo":"{photo}"}}"#);
        server.send("POST", "/tables/person/rows", &row).ok(201);
    }
    let mut lazy = UnixStream::connect(&path).unwrap();
    lazy.write_all(b"GET /tables/person/rows HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
    lazy.read_exact(&mut [0]).unwrap();
    lines.has("operator at this machine ", "does not read");
}

#[test]
fn exceeded_limits_are_logged() {
    let (mut server, lines) = server(|settings| {
        settings.max_body = 1_000;
        settings.rate_limit = Some(20);
        settings.request_timeout = Duration::from_millis(500);
        settings.sql = SqlAccess::Write;
    });
    let long = format!(r#"{{"name":"{}"}}"#, "x".repeat(2_000));
    server.send("POST", "/tables/person/rows", &long).ok(413);
    lines.has("operator at 127.0.0.1 ", "413");
    let bomb = format!(r#"{{"tags":{}"#, "[".repeat(500));
    server.send("POST", "/tables/person/rows", &bomb).ok(400);
    lines.has("operator at 127.0.0.1 ", "400");
    let sql =
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n";
    server.send("POST", "/sql", &serde_json::json!({ "sql": sql }).to_string()).ok(504);
    lines.has("operator at 127.0.0.1 ", "504");
    while server.get("/tables/person/rows").status != 429 {}
    lines.has("operator at 127.0.0.1 ", "429");
    server.headers.clear();
    server.ask("GET", "/tables", &[("authorization", "Bearer wrong")], "").ok(401);
    lines.has("127.0.0.1 ", "401");
    // However many requests it sends.
    (0..100).for_each(|_| drop(server.get("/tables")));
    assert!(lines.count() < 25, "{} lines", lines.count());
}

#[test]
fn denied_requests_are_logged() {
    let (token, hash) = new_token().unwrap();
    let grants = "read, sql on seat\n    read on note where owner = :user";
    let access = format!("role clerk\n    {grants}\ntoken ada {hash} roles clerk\n");
    let (mut settings, lines) = (Settings::default(), LogLines::default());
    settings.sql = SqlAccess::Read;
    let builder = HttpServer::builder().settings(settings).shared_database("main", sqlite());
    let builder = builder.access(Access::from_text(&access).unwrap());
    let mut server = TestServer::of(lines.of(builder));
    server.headers = vec![("authorization".to_owned(), format!("Bearer {token}"))];
    let ada = "ada at 127.0.0.1 ";
    server.send("POST", "/tables/seat/rows", r#"{"row":"a","number":1}"#).is(403, "Denied");
    lines.has(ada, "403");
    server.get("/tables/person/rows").is(404, "NotFound");
    lines.has(ada, "'person'");
    server.get("/tables/no%0Abody/rows").is(404, "NotFound");
    lines.has(ada, "no\\nbody");
    server.send("POST", "/sql", r#"{"sql":"DELETE FROM seat"}"#).is(403, "Denied");
    lines.has(ada, "403");
    let hidden = server.send("POST", "/sql", r#"{"sql":"SELECT * FROM person"}"#);
    assert!(hidden.status >= 400);
    lines.has(ada, "got status");
    // A rule that does not fit its table is explained in the log alone.
    let denied = server.get("/tables/note/rows");
    assert_eq!(
        denied.is(403, "Denied").json()["detail"],
        "a row rule cannot be applied to this table"
    );
    lines.has(ada, "`owner = :user` of the role clerk: there is no column 'owner'");
    // A missing row is not worth a line.
    server.get("/tables/seat/rows/a,1").is(404, "NotFound");
    assert_eq!(lines.count(), 0);
}

#[test]
fn rejected_connections_are_logged() {
    let (server, lines) = server(|settings| settings.max_connections = 1);
    let mut first = raw(server.http.addresses()[0]);
    first.write_all(b"GET /health HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
    first.read_exact(&mut [0]).unwrap();
    rest(&mut raw(server.http.addresses()[0]));
    lines.has("127.0.0.1 ", "limit of 1 connections");
    drop(first);
}

#[test]
fn the_log_has_no_secrets() {
    let (mut server, lines) = server(|_| ());
    server.headers.clear();
    let secret = "a-secret-that-nobody-may-read";
    let token = format!("Bearer {secret}");
    server.ask("GET", "/tables", &[("authorization", &token)], "").ok(401);
    for body in [
        format!(r#"{{"user":"ada","password":"{secret}"}}"#),
        format!(r#"{{"token":"{secret}"}}"#),
        format!(r#"{{"code":"{secret}"}}"#),
    ] {
        assert!(server.send("POST", "/session", &body).status >= 400, "{body}");
    }
    lines.have_not(secret);
}
