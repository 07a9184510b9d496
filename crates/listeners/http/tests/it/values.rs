//! Single values: as bytes, in ranges, with tags, within permissions.

use crate::client::{TOKEN, TestServer, memory, sqlite};
use bobak_core::{ColumnRole, ColumnSchema, Engine, SchemaChange, TableSchema};
use bobak_http::{HttpServer, Settings};
use bobak_permissions::{Access, new_token};
use serde_json::json;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

const BYTES: (&str, &str) = ("content-type", "application/octet-stream");
const PHOTO: &str = "/tables/person/rows/1/columns/photo";

fn with_version(engine: &dyn Engine) {
    let table = TableSchema::builder("recording")
        .column(ColumnSchema::of::<i64>("id"))
        .column(ColumnSchema::of::<Option<Vec<u8>>>("sound"))
        .column(ColumnSchema::of::<i64>("version").role(ColumnRole::Version))
        .key(["id"]);
    engine.alter(&[SchemaChange::CreateTable(Arc::new(table.build().unwrap()))]).unwrap();
}

fn each(test: impl Fn(&TestServer)) {
    for engine in [sqlite(), memory()] {
        with_version(&*engine);
        let server = TestServer::with(Settings::default(), engine);
        server.send("POST", "/tables/person/rows", r#"{"name":"Ada"}"#).ok(201);
        server.send("POST", "/tables/recording/rows", "{}").ok(201);
        test(&server);
    }
}

/// Bytes that are also a text: no two short parts of them are equal.
fn text(length: usize) -> String {
    let mut text = String::with_capacity(length + 8);
    let mut number = 0_u32;
    while text.len() < length {
        text.push_str(&format!("{number:x}."));
        number += 1;
    }
    text.truncate(length);
    text
}

#[test]
fn a_value_is_written_and_read_whole_and_in_ranges() {
    each(|server| {
        server.get(PHOTO).ok(204);
        let long = text(3_000_000);
        for value in ["twelve bytes", &long] {
            server.ask("PUT", PHOTO, &[BYTES], value).ok(204);
            let whole = server.get(PHOTO);
            assert!(whole.ok(200).text == value);
            assert_eq!(whole.header("content-type"), "application/octet-stream");
            assert_eq!(whole.header("accept-ranges"), "bytes");
            assert_eq!(whole.header("content-length"), value.len().to_string());
            let head = server.ask("HEAD", PHOTO, &[], "");
            assert_eq!(head.ok(200).header("content-length"), value.len().to_string());
            let last = value.len() - 1;
            for (range, start, end) in [
                ("bytes=0-4".to_owned(), 0, 5),
                ("bytes=7-".to_owned(), 7, value.len()),
                ("bytes=-3".to_owned(), value.len() - 3, value.len()),
                (format!("bytes={last}-{}", last + 10), last, value.len()),
            ] {
                let part = server.ask("GET", PHOTO, &[("range", &range)], "");
                assert!(part.ok(206).text == value[start..end], "{range}");
                let place = format!("bytes {start}-{}/{}", end - 1, value.len());
                assert_eq!(part.header("content-range"), place);
            }
            let after = format!("bytes={}-", value.len());
            let none = server.ask("GET", PHOTO, &[("range", &after)], "");
            assert_eq!(
                none.is(416, "OutOfRange").header("content-range"),
                format!("bytes */{}", value.len())
            );
            let several = server.ask("GET", PHOTO, &[("range", "bytes=0-1,3-4")], "");
            assert!(several.ok(200).text == value);
        }
        // Compression would change what the ranges mean.
        let coding = server.ask("GET", PHOTO, &[("accept-encoding", "gzip")], "");
        assert_eq!(
            (coding.ok(200).header("content-encoding"), coding.text.len()),
            ("", long.len())
        );
        let row = server.get("/tables/person/rows/1?columns=name").ok(200).json();
        assert_eq!(row, json!({"name": "Ada"}));
    });
}

#[test]
fn tags_guard_reads_and_writes() {
    each(|server| {
        let sound = "/tables/recording/rows/1/columns/sound";
        for (path, value) in [(PHOTO, text(1_000)), (sound, text(1_000_000))] {
            server.ask("PUT", path, &[BYTES], &value).ok(204);
            let tag = server.get(path).ok(200).header("etag").to_owned();
            assert!(tag.len() > 10, "{path}: {tag}");
            server.ask("GET", path, &[("if-none-match", &tag)], "").ok(304);
            let range = [("range", "bytes=0-0"), ("if-range", &tag)];
            server.ask("GET", path, &range, "").ok(206);
            let range = [("range", "bytes=0-0"), ("if-range", "\"other\"")];
            server.ask("GET", path, &range, "").ok(200);
            server.ask("PUT", path, &[BYTES, ("if-match", "\"other\"")], "x").is(412, "Conflict");
            let written = server.ask("PUT", path, &[BYTES, ("if-match", &tag)], "new");
            let new = written.ok(204).header("etag").to_owned();
            assert_ne!(new, tag);
            let part = [BYTES, ("content-range", "bytes 0-1/3")];
            server.ask("PUT", path, &part, "xy").is(400, "Syntax");
            server.ask("PUT", path, &[BYTES, ("if-match", &tag)], "x").is(412, "Conflict");
            assert_eq!(server.get(path).header("etag"), new);
        }
        let row = server.get("/tables/recording/rows/1?columns=version").ok(200).json();
        assert_eq!(row, json!({"version": 2}));
        // Only reading all of it would tell whether it has changed.
        server.ask("PUT", PHOTO, &[BYTES], &text(300_000)).ok(204);
        assert_eq!(server.get(PHOTO).header("etag"), "");
    });
}

#[test]
fn what_is_no_value_is_rejected() {
    let mut settings = Settings::default();
    settings.max_value = 2_000;
    let server = TestServer::with(settings, sqlite());
    server.send("POST", "/tables/person/rows", r#"{"name":"Ada"}"#).ok(201);
    for (path, status, kind) in [
        ("/tables/person/rows/7/columns/photo", 404, "NotFound"),
        ("/tables/person/rows/1/columns/nothing", 404, "NotFound"),
        ("/tables/nothing/rows/1/columns/photo", 404, "NotFound"),
        ("/tables/person/rows/1/columns/name", 501, "Unsupported"),
        ("/tables/person/rows/x/columns/photo", 400, "Mismatch"),
    ] {
        server.get(path).is(status, kind);
        server.ask("PUT", path, &[BYTES], "abc").is(status, kind);
    }
    server.get(&format!("{PHOTO}?columns=name")).is(400, "Syntax");
    server.ask("PUT", PHOTO, &[BYTES], &text(2_001)).is(413, "OutOfRange");
    server.send("PUT", PHOTO, "{}").is(415, "Unsupported");
    server.ask("DELETE", PHOTO, &[], "").is(405, "Unsupported");
    server.ask("PUT", PHOTO, &[BYTES], &text(2_000)).ok(204);
}

/// Sends the head of a request and a part of its body; returns what the server says, if it does.
fn send_raw(server: &TestServer, head: &str, body: &str) -> String {
    let address = server.base_url.trim_start_matches("http://");
    let mut stream = TcpStream::connect(address).unwrap();
    let head = format!(
        "PUT {PHOTO} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {TOKEN}\r\ncontent-type: application/octet-stream\r\nconnection: close\r\n{head}\r\n\r\n{body}"
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let mut said = String::new();
    let _ = stream.read_to_string(&mut said);
    said
}

#[test]
fn an_incomplete_value_changes_nothing() {
    each(|server| {
        server.ask("PUT", PHOTO, &[BYTES], "before").ok(204);
        let said = send_raw(server, "transfer-encoding: chunked", "3\r\nabc\r\n0\r\n\r\n");
        assert!(said.contains(" 411 "), "{said}");
        let said = send_raw(server, "content-length: 500000", &text(400_000));
        assert!(!said.contains(" 204 "), "{said}");
        assert_eq!(server.get(PHOTO).ok(200).text, "before");
    });
}

#[test]
fn values_need_the_permissions_of_their_rows() {
    let (token, hash) = new_token().unwrap();
    let role = "role clerk\n    read, update on person where name = :user\n    insert on seat";
    let access = format!("{role}\ntoken ada {hash} roles clerk\n");
    let builder = HttpServer::builder().access(Access::from_text(&access).unwrap());
    let mut server = TestServer::of(builder.shared_database("main", sqlite()));
    for name in ["ada", "bob"] {
        server.send("POST", "/tables/person/rows", &json!({"name": name}).to_string()).ok(201);
    }
    let other = "/tables/person/rows/2/columns/photo";
    for path in [PHOTO, other] {
        server.ask("PUT", path, &[BYTES], &text(700_000)).ok(204);
    }
    server.headers = vec![("authorization".to_owned(), format!("Bearer {token}"))];
    assert!(server.get(PHOTO).ok(200).text == text(700_000));
    server.ask("PUT", PHOTO, &[BYTES], "own").ok(204);
    let missing =
        server.get("/tables/person/rows/9/columns/photo").is(404, "NotFound").text.clone();
    assert_eq!(server.get(other).is(404, "NotFound").text, missing);
    assert_eq!(server.ask("PUT", other, &[BYTES], "x").is(404, "NotFound").text, missing);
    let in_table = |name: &str| {
        let path = format!("/tables/{name}/rows/1/columns/text");
        server.get(&path).is(404, "NotFound").text.clone()
    };
    assert_eq!(in_table("note"), in_table("missing").replace("missing", "note"));
    server.get("/tables/person/plan?filter=rate=1").is(403, "Denied");
}

#[test]
fn lists_are_explained() {
    each(|server| {
        let plan = server.get("/tables/person/plan?filter=rate=1").ok(200).json();
        assert_eq!(plan["advice"][0]["columns"], json!(["rate"]), "{plan}");
        assert_eq!(
            (&plan["steps"][0]["table"], &plan["steps"][0]["access"]),
            (&json!("person"), &json!("scan"))
        );
        let plan = server.get("/tables/person/plan?filter=email='a'").ok(200).json();
        assert_eq!(
            (&plan["advice"], &plan["steps"][0]["access"]),
            (&json!([]), &json!("search")),
            "{plan}"
        );
        server.get("/tables/person/plan?filter=nothing=1").is(400, "Schema");
        server.get("/tables/nothing/plan").is(404, "NotFound");
        server.ask("POST", "/tables/person/plan", &[], "x").is(405, "Unsupported");
    });
}
