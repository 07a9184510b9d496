//! One caller who keeps as many workers as he may have: others are answered meanwhile.

use crate::client::{Door, TOKEN};
use crate::doors::{raw, rest, settings};
use crate::interrupts::FOR_EVER;
use bobak_core::Engine;
use bobak_http::{HttpServer, Settings, SqlAccess};
use bobak_permissions::{Access, new_token};
use bobak_sqlite::Sqlite;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;

/// A door to a file, also on a socket, and the token of somebody beside the holder of [`TOKEN`].
fn door(change: impl FnOnce(&mut Settings)) -> (TempDir, Door, String) {
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
    let door = Door::of(builder.unix(folder.path().join("socket")));
    (folder, door, token)
}

/// Sends SQL, and does not wait for its answer.
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
fn who_fills_his_share_keeps_no_worker_from_others() {
    // Of four one caller may have two, and one address three.
    let (folder, door, greedy) = door(|settings| settings.workers = 4);
    let quick = serde_json::json!({ "sql": "SELECT 7" }).to_string();
    let connect = || raw(door.server.addresses()[0]);
    let crowd: Vec<_> = (0..8).map(|_| connect()).collect();
    crowd.iter().for_each(|stream| send(stream, Some(&greedy), FOR_EVER));
    // Some of these run, others wait: neither harms who has his own.
    std::thread::sleep(Duration::from_millis(200));
    for _ in 0..3 {
        door.send("POST", "/sql", &quick).ok(200);
    }
    let others: Vec<_> = (0..4).map(|_| connect()).collect();
    others.iter().for_each(|stream| send(stream, Some(TOKEN), FOR_EVER));
    std::thread::sleep(Duration::from_millis(200));
    // The address has its share by now: the operator gets in all the same.
    for _ in 0..3 {
        let mut operator = UnixStream::connect(folder.path().join("socket")).unwrap();
        send(&operator, None, "SELECT 7");
        let answer = rest(&mut operator);
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
    // Whoever has left, running or in line, leaves his worker to those who wait.
    drop((crowd, others));
    let shown = format!("Bearer {greedy}");
    let headers = [("content-type", "application/json"), ("authorization", shown.as_str())];
    let theirs = Door { headers: Vec::new(), ..door };
    theirs.ask("POST", "/sql", &headers, &quick).ok(200);
}

#[test]
fn the_operator_gets_into_a_door_that_is_full() {
    let (folder, door, _) = door(|settings| settings.connections = 1);
    let mut first = raw(door.server.addresses()[0]);
    first.write_all(b"GET /health HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
    first.read_exact(&mut [0]).unwrap();
    assert_eq!(rest(&mut raw(door.server.addresses()[0])), "");
    let mut operator = UnixStream::connect(folder.path().join("socket")).unwrap();
    send(&operator, None, "SELECT 7");
    let answer = rest(&mut operator);
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

#[test]
fn a_stream_takes_no_worker() {
    let (_folder, door, greedy) = door(|settings| (settings.workers, settings.streams) = (1, 2));
    let mut stream = raw(door.server.addresses()[0]);
    let head = format!(
        "POST /tables/t/import HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {greedy}\r\n\
         content-type: application/x-ndjson\r\ncontent-length: 16\r\n\r\n"
    );
    stream.write_all((head + "{\"a\":1}\n").as_bytes()).unwrap();
    let taken = || door.get("/metrics").text.contains("bobak_http_streams 1\n");
    while !taken() {
        std::thread::yield_now();
    }
    door.get("/tables/t/rows").ok(200);
    stream.write_all(b"{\"a\":2}\n").unwrap();
    let mut first = [0; 15];
    stream.read_exact(&mut first).unwrap();
    assert_eq!(&first, b"HTTP/1.1 200 OK");
}

#[test]
fn bodies_and_answers_of_one_caller_do_not_fill_the_memory() {
    // Eight pieces of 64 KiB: four of one caller, six of an address.
    let (_folder, door, greedy) = door(|settings| settings.body_memory = 512 << 10);
    let address = door.server.addresses()[0];
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
    // Of two that come at once either may be refused: so until one holds it, and the other is.
    // What has room is told that it is no JSON.
    let is_full = |answer: &str| !answer.starts_with("HTTP/1.1 400");
    let (held, refused) = (0..100)
        .find_map(|_| {
            let held = long(&greedy, 300_000, 299_999);
            let [_, second] = [more(), more()];
            is_full(&second).then_some((held, second))
        })
        .unwrap();
    assert!(refused.starts_with("HTTP/1.1 503") && refused.contains("limit of bytes"), "{refused}");
    let other = rest(&mut long(TOKEN, 190_000, 190_000));
    assert!(other.starts_with("HTTP/1.1 400"), "{other}");
    drop(held);
    assert!((0..1_000).any(|_| !is_full(&more())), "it is given back");
    let sql = |length: usize| {
        let sql = format!("SELECT printf('%.*c', {length}, 'x')");
        door.send("POST", "/sql", &serde_json::json!({ "sql": sql }).to_string())
    };
    assert!(sql(250_000).ok(200).text.len() > 250_000);
    sql(400_000).is(503, "Busy");
}
