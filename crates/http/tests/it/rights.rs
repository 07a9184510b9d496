//! What somebody may not see is, over HTTP too, as if it were not there.

use crate::client::{Door, sqlite};
use crate::events::{Events, track};
use bobak_http::HttpServer;
use bobak_server::{Access, new_token};
use serde_json::json;

const ROLES: &str = "
role clerk
    read, insert, update on person where name = :user
    read on seat
";

/// A door, and the token of the clerk `ada`.
fn door() -> (Door, String) {
    let (token, hash) = new_token().unwrap();
    let access = Access::from_text(&format!("{ROLES}\ntoken ada {hash} roles clerk\n")).unwrap();
    let engine = sqlite();
    track(&*engine);
    let other = sqlite();
    let builder = HttpServer::builder().access(access).shared_database("main", engine);
    (Door::of(builder.shared_database("other", other)), token)
}

#[test]
fn a_clerk_sees_its_own_rows_and_nothing_else() {
    let (mut door, token) = door();
    for name in ["ada", "bea"] {
        door.send("POST", "/tables/person/rows", &format!(r#"{{"name":"{name}"}}"#)).ok(201);
    }
    door.headers = vec![("authorization".to_owned(), format!("Bearer {token}"))];
    let tables = door.get("/tables").ok(200).json();
    let names: Vec<_> = tables["tables"].as_array().unwrap().iter().map(|t| &t["name"]).collect();
    assert_eq!(names, [&json!("person"), &json!("seat")]);
    let list = door.get("/tables/person/rows?total&columns=name").ok(200).json();
    assert_eq!((&list["rows"], &list["total"]), (&json!([{"name":"ada"}]), &json!(1)));
    assert_eq!(door.get("/tables/person/aggregate").json()["rows"], json!([{"count":1}]));
    assert_eq!(door.get("/tables/person/export").ok(200).text.lines().count(), 1);
    let nothing = door.get("/tables/nobody/rows").is(404, "NotFound").text.clone();
    assert_eq!(door.get("/tables/note/rows").is(404, "NotFound").text, nothing);
    assert_eq!(door.get("/tables/note/changes").is(404, "NotFound").text, nothing);
    assert_eq!(door.get("/databases/other/tables").ok(200).json(), tables);
    assert_eq!(door.get("/tables/person/rows/2").is(404, "NotFound").text, nothing);
    door.send("PATCH", "/tables/person/rows/2", r#"{"rate":1}"#).is(404, "NotFound");
    door.send("PATCH", "/tables/person/rows/1", r#"{"rate":1}"#).ok(200);
    door.send("PATCH", "/tables/person/rows/1", r#"{"name":"bea"}"#).is(403, "Denied");
    door.send("POST", "/tables/person/rows", r#"{"name":"eve"}"#).is(403, "Denied");
    door.ask("DELETE", "/tables/person/rows/1", &[], "").is(403, "Denied");
    door.send("POST", "/tables/seat/rows", r#"{"row":"a","number":1}"#).is(403, "Denied");
    let line = r#"{"op":"insert","table":"note","row":{"text":"x"}}"#;
    let lines = [("content-type", "application/x-ndjson")];
    door.ask("POST", "/batch", &lines, line).is(404, "NotFound");
    let document = door.get("/openapi.json").ok(200).text.clone();
    assert!(document.contains("/tables/seat/rows") && !document.contains("/tables/note/rows"));
}

#[test]
fn a_clerk_hears_of_its_own_rows_only() {
    let (mut door, token) = door();
    let everything = door.headers.clone();
    door.headers = vec![("authorization".to_owned(), format!("Bearer {token}"))];
    let mut events =
        Events::listen(&door, "?since=0", &format!("authorization: Bearer {token}\r\n"));
    door.headers = everything;
    for name in ["bea", "ada"] {
        door.send("POST", "/tables/person/rows", &format!(r#"{{"name":"{name}"}}"#)).ok(201);
    }
    door.send("PATCH", "/tables/person/rows/2", r#"{"name":"bea"}"#).ok(200);
    let (_, kind, data) = events.next();
    assert_eq!((kind.as_str(), &data["row"]["name"]), ("insert", &json!("ada")));
    let (_, kind, data) = events.next();
    assert_eq!(
        (kind.as_str(), &data["key"], &data["row"]),
        ("delete", &json!({"id":2}), &json!(null))
    );
}
