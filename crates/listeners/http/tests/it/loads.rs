//! What imports and batches promise: when they commit, and what they tell where they stop.

use crate::client::{Door, Reply, TOKEN, memory, sqlite};
use crate::doors::{raw, rest};
use bobak_http::Settings;
use serde_json::{Value, json};
use std::io::Write;

const NDJSON: [(&str, &str); 1] = [("content-type", "application/x-ndjson")];
const CSV: [(&str, &str); 1] = [("content-type", "text/csv")];

fn seats(count: usize) -> String {
    (0..count).map(|number| format!("{{\"row\":\"a\",\"number\":{number}}}\n")).collect()
}

fn count(door: &Door, table: &str) -> Value {
    door.get(&format!("/tables/{table}/aggregate")).ok(200).json()["rows"][0]["count"].clone()
}

fn told(reply: &Reply) -> (Value, Value) {
    (reply.json()["row"].clone(), reply.json()["committed"].clone())
}

#[test]
fn a_commit_is_after_as_many_rows_as_were_said() {
    for engine in [sqlite(), memory()] {
        let door = Door::with(Settings::default(), engine);
        // Rows, those of a commit, and those that are there then.
        for (rows, every, there) in
            [(2_999, 3_000, 0), (3_700, 1_700, 3_400), (10, 3, 9), (1_500, 1_500, 1_500), (5, 0, 0)]
        {
            let lines = format!("{}{}", seats(rows), "{\"nobody\":1}\n");
            let path = format!("/tables/seat/import?commit={every}");
            let reply = door.ask("POST", &path, &NDJSON, &lines);
            reply.is(400, "Schema");
            assert_eq!(told(&reply), (json!(rows), json!(there)), "{rows} by {every}");
            assert_eq!(count(&door, "seat"), there, "{rows} by {every}");
            let all = seats(there);
            let emptied = door.ask("POST", "/tables/seat/import?mode=delete", &NDJSON, &all);
            assert_eq!(emptied.ok(200).json()["changed"], there);
        }
        // A row that is left out is one of those that are counted.
        let lines = format!("{}{{}}\n{}{}", seats(1), seats(3), "{\"row\":\"b\"}\n");
        let path = "/tables/seat/import?commit=2&errors=skip";
        let report = door.ask("POST", path, &NDJSON, &lines).ok(200).json();
        let parts = ["rows", "inserted", "failed"].map(|name| report[name].clone());
        assert_eq!(parts, [json!(6), json!(3), json!(3)]);
        assert_eq!(count(&door, "seat"), 3);
    }
}

#[test]
fn whatever_stops_it_says_where_and_how_much_is_there() {
    let mut settings = Settings::default();
    settings.max_body = 1_000;
    let door = Door::with(settings, sqlite());
    let long = "x".repeat(20_000);
    let csv = format!("row,number\na,1\na,2\na,3\n{long},1\n");
    let reply = door.ask("POST", "/tables/seat/import?commit=2", &CSV, &csv);
    reply.is(413, "OutOfRange");
    assert_eq!(told(&reply), (json!(3), json!(2)));
    let lines = format!("{}{long}", seats(5).replace("\"a\"", "\"b\""));
    let reply = door.ask("POST", "/tables/seat/import?commit=2", &NDJSON, &lines);
    reply.is(413, "OutOfRange");
    assert_eq!(told(&reply), (json!(5), json!(4)));
    let write = r#"{"op":"upsert","table":"seat","row":{"row":"c","number":1}}"#;
    let lines = format!("{write}\n{write}\n{write}\n{long}\n");
    for (commit, there) in [("0", 0), ("2", 2)] {
        let reply = door.ask("POST", &format!("/batch?commit={commit}"), &NDJSON, &lines);
        reply.is(413, "OutOfRange");
        assert_eq!(told(&reply), (json!(3), json!(there)));
    }
    let body = seats(3).replace("\"a\"", "\"d\"");
    let size = body.len();
    let mut stream = raw(door.server.addresses()[0]);
    write!(
        stream,
        "POST /tables/seat/import?commit=2 HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {TOKEN}\r\n\
         transfer-encoding: chunked\r\ncontent-type: application/x-ndjson\r\n\r\n\
         {size:x}\r\n{body}\r\nzz\r\n"
    )
    .unwrap();
    let answer = rest(&mut stream);
    assert!(answer.contains("\"row\":3,\"committed\":2"), "{answer}");
}

#[test]
fn updates_and_deletes_name_the_key() {
    let door = Door::open();
    door.ask("POST", "/tables/person/import", &NDJSON, "{\"name\":\"Ada\"}").ok(200);
    for mode in ["delete", "update"] {
        let path = format!("/tables/person/import?mode={mode}");
        for body in ["{\"name\":\"Ada\"}", "{\"id\":null,\"name\":\"Ada\"}"] {
            let reply = door.ask("POST", &path, &NDJSON, body);
            reply.is(422, "Constraint");
            assert_eq!(reply.json()["column"], "id");
            assert_eq!(told(&reply), (json!(0), json!(0)));
        }
    }
    let wrong = r#"{"op":"delete","table":"seat","row":{"row":"a"}}"#;
    assert_eq!(
        door.ask("POST", "/batch", &NDJSON, wrong).is(422, "Constraint").json()["column"],
        "number"
    );
    assert_eq!(count(&door, "person"), 1);
}
