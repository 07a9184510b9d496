//! What the log hears of clients: each that was refused or cut off, with its address and its name.

use crate::client::{Door, TOKEN, sqlite};
use crate::doors::{raw, rest};
use bobak_http::{HttpServer, Settings, SqlAccess};
use bobak_permissions::{Access, new_token};
use bobak_serving::ServerBuilder;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// The lines of a log.
#[derive(Clone, Default)]
pub struct Lines(Arc<Mutex<Vec<String>>>);

impl Lines {
    /// Has a server write here.
    pub fn of(&self, builder: ServerBuilder<HttpServer>) -> ServerBuilder<HttpServer> {
        let lines = Arc::clone(&self.0);
        builder.log(move |line| lines.lock().unwrap().push(line.to_owned()))
    }

    /// Waits for a line that begins so and has this in it, and forgets all.
    #[track_caller]
    pub fn has(&self, who: &str, what: &str) {
        let end = Instant::now() + Duration::from_secs(20);
        loop {
            let mut lines = self.0.lock().unwrap();
            if lines.iter().any(|line| line.starts_with(who) && line.contains(what)) {
                return lines.clear();
            }
            assert!(Instant::now() < end, "nothing says '{who} … {what}': {lines:?}");
            drop(lines);
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn count(&self) -> usize {
        self.0.lock().unwrap().len()
    }
}

fn door(change: impl FnOnce(&mut Settings)) -> (Door, Lines) {
    let (mut settings, lines) = (Settings::default(), Lines::default());
    change(&mut settings);
    let builder = HttpServer::builder().settings(settings).shared_database("main", sqlite());
    (Door::of(lines.of(builder)), lines)
}

fn post(path: &str, length: usize) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {TOKEN}\r\n\
         content-type: application/x-ndjson\r\ncontent-length: {length}\r\n\r\n"
    )
}

#[test]
fn who_speaks_no_http_or_too_slowly_is_told_of() {
    let (door, lines) = door(|settings| {
        settings.header_timeout = Duration::from_millis(300);
        settings.body_timeout = Duration::from_millis(300);
    });
    let say = |text: &str| {
        let mut stream = raw(door.server.addresses()[0]);
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
    // Who only rests is not worth a line.
    rest(&mut say("GET /health HTTP/1.1\r\nhost: x\r\n\r\n"));
    assert_eq!(lines.count(), 0);
}

#[test]
fn who_does_not_read_is_told_of() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let (mut settings, lines) = (Settings::default(), Lines::default());
    settings.write_timeout = Duration::from_millis(300);
    let builder = HttpServer::builder().settings(settings).shared_database("main", sqlite());
    let door = Door::of(lines.of(builder.unix(&path)));
    let photo = "A".repeat(1 << 20);
    for _ in 0..2 {
        let row = format!(r#"{{"name":"a","photo":"{photo}"}}"#);
        door.send("POST", "/tables/person/rows", &row).ok(201);
    }
    let mut lazy = UnixStream::connect(&path).unwrap();
    lazy.write_all(b"GET /tables/person/rows HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
    lazy.read_exact(&mut [0]).unwrap();
    lines.has("operator at this machine ", "does not read");
}

#[test]
fn who_asks_for_too_much_is_told_of() {
    let (mut door, lines) = door(|settings| {
        settings.max_body = 1_000;
        settings.rate_limit = Some(20);
        settings.request_timeout = Duration::from_millis(500);
        settings.sql = SqlAccess::Write;
    });
    let long = format!(r#"{{"name":"{}"}}"#, "x".repeat(2_000));
    door.send("POST", "/tables/person/rows", &long).ok(413);
    lines.has("operator at 127.0.0.1 ", "413");
    let bomb = format!(r#"{{"tags":{}"#, "[".repeat(500));
    door.send("POST", "/tables/person/rows", &bomb).ok(400);
    lines.has("operator at 127.0.0.1 ", "400");
    let sql =
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n";
    door.send("POST", "/sql", &serde_json::json!({ "sql": sql }).to_string()).ok(504);
    lines.has("operator at 127.0.0.1 ", "504");
    while door.get("/tables/person/rows").status != 429 {}
    lines.has("operator at 127.0.0.1 ", "429");
    door.headers.clear();
    door.ask("GET", "/tables", &[("authorization", "Bearer wrong")], "").ok(401);
    lines.has("127.0.0.1 ", "401");
    // However much it asks.
    (0..100).for_each(|_| drop(door.get("/tables")));
    assert!(lines.count() < 25, "{} lines", lines.count());
}

#[test]
fn who_may_not_is_told_of() {
    let (token, hash) = new_token().unwrap();
    let access = format!("role clerk\n    read, sql on seat\ntoken ada {hash} roles clerk\n");
    let (mut settings, lines) = (Settings::default(), Lines::default());
    settings.sql = SqlAccess::Read;
    let builder = HttpServer::builder().settings(settings).shared_database("main", sqlite());
    let builder = builder.access(Access::from_text(&access).unwrap());
    let mut door = Door::of(lines.of(builder));
    door.headers = vec![("authorization".to_owned(), format!("Bearer {token}"))];
    let ada = "ada at 127.0.0.1 ";
    door.send("POST", "/tables/seat/rows", r#"{"row":"a","number":1}"#).is(403, "Denied");
    lines.has(ada, "403");
    door.get("/tables/person/rows").is(404, "NotFound");
    lines.has(ada, "'person'");
    door.get("/tables/no%0Abody/rows").is(404, "NotFound");
    lines.has(ada, "no\\nbody");
    door.send("POST", "/sql", r#"{"sql":"DELETE FROM seat"}"#).is(403, "Denied");
    lines.has(ada, "403");
    let hidden = door.send("POST", "/sql", r#"{"sql":"SELECT * FROM person"}"#);
    assert!(hidden.status >= 400);
    lines.has(ada, "got status");
    // A row that is not there is nothing to tell of.
    door.get("/tables/seat/rows/a,1").is(404, "NotFound");
    assert_eq!(lines.count(), 0);
}

#[test]
fn connections_beyond_the_most_are_told_of() {
    let (door, lines) = door(|settings| settings.connections = 1);
    let mut first = raw(door.server.addresses()[0]);
    first.write_all(b"GET /health HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
    first.read_exact(&mut [0]).unwrap();
    rest(&mut raw(door.server.addresses()[0]));
    lines.has("127.0.0.1 ", "limit of 1 connections");
    drop(first);
}
