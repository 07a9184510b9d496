//! Keys: made where none is given, and kept where one is, 0 and the nil UUID too.

use crate::client::{Door, memory, sqlite};
use bobak_http::Settings;
use serde_json::json;

const NDJSON: [(&str, &str); 1] = [("content-type", "application/x-ndjson")];
const NIL: &str = "00000000-0000-0000-0000-000000000000";

#[test]
fn row_0_is_a_row_like_others() {
    for engine in [sqlite(), memory()] {
        let door = Door::with(Settings::default(), engine);
        let path = "/tables/person/rows/0";
        let made = door.send("PUT", path, r#"{"name":"zero"}"#);
        assert_eq!(made.ok(201).header("location"), path);
        let replaced = door.send("PUT", path, r#"{"name":"nought"}"#);
        assert_eq!(replaced.ok(200).json()["name"], "nought");
        let json = ("content-type", "application/json");
        let stale = door.ask("PUT", path, &[json, ("if-match", "\"x\"")], r#"{"name":"x"}"#);
        stale.is(412, "Conflict");
        let tag = replaced.header("etag");
        let known = door.ask("PUT", path, &[json, ("if-match", tag)], r#"{"name":"nil"}"#);
        assert_eq!(known.ok(200).json()["id"], 0);
        door.send("POST", "/tables/person/rows", r#"{"id":0,"name":"x"}"#).is(409, "Duplicate");
        for body in [r#"{"name":"one"}"#, r#"{"id":null,"name":"two"}"#] {
            assert_ne!(door.send("POST", "/tables/person/rows", body).ok(201).json()["id"], 0);
        }
        let all = door.get("/tables/person/export").ok(200).text.clone();
        for mode in ["replace", "upsert", "update"] {
            let path = format!("/tables/person/import?mode={mode}");
            door.ask("POST", &path, &NDJSON, &all).ok(200);
            assert_eq!(door.get("/tables/person/export").text, all, "{mode}");
        }
        let upsert = r#"{"op":"upsert","table":"person","row":{"id":0,"name":"null"}}"#;
        door.ask("POST", "/batch", &NDJSON, upsert).ok(200);
        assert_eq!(door.get(path).json()["name"], "null");
        assert_eq!(door.get("/tables/person/aggregate").json()["rows"], json!([{"count":3}]));
    }
}

#[test]
fn the_nil_uuid_is_kept_where_it_is_given() {
    let door = Door::open();
    let path = format!("/tables/thing/rows/{NIL}");
    door.send("PUT", &path, r#"{"name":"a"}"#).ok(201);
    door.send("PUT", &path, r#"{"name":"b"}"#).ok(200);
    let made = door.send("POST", "/tables/thing/rows", r#"{"id":null,"name":"c"}"#);
    assert_ne!(made.ok(201).json()["id"], NIL);
    assert_eq!(door.get("/tables/thing/aggregate").json()["rows"], json!([{"count":2}]));
}
