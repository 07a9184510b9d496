//! Bodies that are bombs, clients that drip, and what somebody without rights could tell from answers.

use crate::client::{Door, Reply, TOKEN, memory, sqlite};
use crate::doors::settings;
use bobak_http::{HttpServer, SqlAccess};
use bobak_permissions::{Access, new_token};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// A connection for each request: one whose body was refused unread is closed, and the client might use it again just then.
fn alone() -> (String, String) {
    ("connection".to_owned(), "close".to_owned())
}

/// As wrong, and in few words.
#[track_caller]
fn refused(reply: &Reply) {
    assert!(matches!(reply.status, 400 | 422), "{} {:.200}", reply.status, reply.text);
    assert!(reply.text.len() < 10_000, "the answer is as long as the question");
}

#[test]
fn json_bombs_are_refused() {
    let settings = settings(|settings| settings.sql = SqlAccess::Write);
    let mut door = Door::with(settings, sqlite());
    door.headers.push(alone());
    let deep = |count: usize| format!("{}{}", "[".repeat(count), "]".repeat(count));
    let lines = [("content-type", "application/x-ndjson")];
    for count in [200, 100_000] {
        let nested = deep(count);
        let tags = format!(r#"{{"name":"a","tags":{nested}}}"#);
        let name = format!(r#"{{"name":{nested}}}"#);
        for body in [&nested, &tags, &name] {
            refused(&door.send("POST", "/tables/person/rows", body));
            refused(&door.ask("POST", "/tables/person/import", &lines, body));
        }
        let line = format!(r#"{{"op":"insert","table":"person","row":{tags}}}"#);
        refused(&door.ask("POST", "/batch", &lines, &line));
        let sql = format!(r#"{{"sql":"SELECT ?","parameters":{nested}}}"#);
        refused(&door.send("POST", "/sql", &sql));
    }
    // Numbers of a megabyte, and one column ten thousand times.
    let digits = "9".repeat(1 << 20);
    for number in [format!("1e{digits}"), format!("0.{digits}"), digits] {
        let body = format!(r#"{{"name":"a","rate":{number},"rate":1}}"#);
        refused(&door.send("POST", "/tables/person/rows", &body));
    }
    let twice = format!("{{{}}}", vec![r#""name":"a""#; 10_000].join(","));
    refused(&door.send("POST", "/tables/person/rows", &twice));
    assert_eq!(door.get("/tables/person/rows?total").json()["total"], 0);
}

#[test]
fn a_head_that_drips_is_cut_off() {
    let settings = settings(|settings| settings.header_timeout = Duration::from_millis(500));
    let door = Door::with(settings, memory());
    let mut stream = TcpStream::connect(door.server.addresses()[0]).unwrap();
    stream.set_nonblocking(true).unwrap();
    let mut head = format!("GET /tables HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {TOKEN}\r\n");
    head += &"x: y\r\n".repeat(10_000);
    let mut answer = Vec::new();
    // One byte at a time: it would take an hour.
    let ended = head.bytes().any(|byte| {
        std::thread::sleep(Duration::from_millis(50));
        let written = stream.write_all(&[byte]);
        let mut room = [0; 512];
        match stream.read(&mut room) {
            Ok(0) => true,
            Ok(count) => {
                answer.extend_from_slice(&room[..count]);
                false
            }
            Err(error) => written.is_err() || error.kind() != std::io::ErrorKind::WouldBlock,
        }
    });
    assert!(ended && !String::from_utf8_lossy(&answer).contains("200 OK"));
    door.get("/tables").ok(200);
}

/// What a reply says, but for when.
fn told(reply: &Reply) -> String {
    let headers = reply.headers.iter().filter(|(name, _)| *name != "date");
    format!("{} {:?} {}", reply.status, headers.collect::<Vec<_>>(), reply.text)
}

#[test]
fn a_table_without_rights_is_in_every_answer_as_one_that_is_not_there() {
    let (token, hash) = new_token().unwrap();
    let access = format!("role clerk\n    read, sql on seat\ntoken ada {hash} roles clerk\n");
    let access = Access::from_text(&access).unwrap();
    let settings = settings(|settings| settings.sql = SqlAccess::Write);
    let engine = sqlite();
    engine.session().unwrap().execute("CREATE VIEW seen AS SELECT * FROM person", &[]).unwrap();
    let builder = HttpServer::builder().access(access).settings(settings);
    let mut door = Door::of(builder.shared_database("main", engine));
    door.send("POST", "/tables/person/rows", r#"{"name":"a"}"#).ok(201);
    let everything = door.headers.clone();
    door.headers = vec![("authorization".to_owned(), format!("Bearer {token}")), alone()];
    let headers = [("if-none-match", "*"), ("content-type", "application/json")];
    for path in ["", "/rows", "/rows/1", "/rows/x", "/import", "/export", "/aggregate", "/changes"]
    {
        for method in ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] {
            let body =
                if matches!(method, "POST" | "PUT" | "PATCH") { "{\"name\":\"b\"}" } else { "" };
            let ask = |table: &str| {
                told(&door.ask(method, &format!("/tables/{table}{path}"), &headers, body))
            };
            assert_eq!(ask("person"), ask("nobody"), "{method} {path}");
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
            let reply = door.send("POST", "/sql", &serde_json::json!({ "sql": sql }).to_string());
            assert!(reply.status >= 400, "{sql}: {reply:?}");
            told(&reply).replace(table, "TABLE")
        };
        assert_eq!(ask("person"), ask("nobody"), "{text}");
    }
    // What is counted names paths by their pattern only.
    door.headers = everything;
    let counted = door.get("/metrics").ok(200).text.clone();
    assert!(!counted.contains("person") && !counted.contains("nobody"), "{counted}");
    assert_eq!(door.get("/tables/person/rows?total").json()["total"], 1);
}
