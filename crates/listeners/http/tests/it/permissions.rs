//! Rows and tables that a client may not see look as if they did not exist.

use crate::changes::{Events, track};
use crate::client::{TOKEN, TestServer, memory, sqlite};
use bobak::changes::Changes;
use bobak_http::{HttpServer, Settings, SqlAccess};
use bobak_permissions::{Access, new_token};
use serde_json::json;
use std::sync::Arc;

const ROLES: &str = "
role clerk
    read, insert, update on person where name = :user
    read on seat
";

/// A server, and the token of the user `ada` with the role `clerk`.
fn server() -> (TestServer, String) {
    let (token, hash) = new_token().unwrap();
    let access = Access::from_text(&format!("{ROLES}\ntoken ada {hash} roles clerk\n")).unwrap();
    let engine = sqlite();
    track(&*engine);
    let other = sqlite();
    let builder = HttpServer::builder().access(access).shared_database("main", engine);
    (TestServer::of(builder.shared_database("other", other)), token)
}

#[test]
fn restricted_client_sees_only_permitted_rows() {
    let (mut server, token) = server();
    for name in ["ada", "bea"] {
        server.send("POST", "/tables/person/rows", &format!(r#"{{"name":"{name}"}}"#)).ok(201);
    }
    server.headers = vec![("authorization".to_owned(), format!("Bearer {token}"))];
    let tables = server.get("/tables").ok(200).json();
    let names: Vec<_> = tables["tables"].as_array().unwrap().iter().map(|t| &t["name"]).collect();
    assert_eq!(names, [&json!("person"), &json!("seat")]);
    let list = server.get("/tables/person/rows?total&columns=name").ok(200).json();
    assert_eq!((&list["rows"], &list["total"]), (&json!([{"name":"ada"}]), &json!(1)));
    assert_eq!(server.get("/tables/person/aggregate").json()["rows"], json!([{"count":1}]));
    assert_eq!(server.get("/tables/person/export").ok(200).text.lines().count(), 1);
    let nothing = server.get("/tables/missing/rows").is(404, "NotFound").text.clone();
    // The message has the client's own name.
    let hidden = nothing.replace("missing", "note");
    assert_eq!(server.get("/tables/note/rows").is(404, "NotFound").text, hidden);
    assert_eq!(server.get("/tables/note/changes").is(404, "NotFound").text, hidden);
    assert_eq!(server.get("/databases/other/tables").ok(200).json(), tables);
    let nobody = server.get("/tables/person/rows/99").is(404, "NotFound").text.clone();
    assert_eq!(server.get("/tables/person/rows/2").is(404, "NotFound").text, nobody);
    server.send("PATCH", "/tables/person/rows/2", r#"{"rate":1}"#).is(404, "NotFound");
    server.send("PATCH", "/tables/person/rows/1", r#"{"rate":1}"#).ok(200);
    server.send("PATCH", "/tables/person/rows/1", r#"{"name":"bea"}"#).is(403, "Denied");
    server.send("POST", "/tables/person/rows", r#"{"name":"eve"}"#).is(403, "Denied");
    server.ask("DELETE", "/tables/person/rows/1", &[], "").is(403, "Denied");
    server.send("POST", "/tables/seat/rows", r#"{"row":"a","number":1}"#).is(403, "Denied");
    let line = r#"{"op":"insert","table":"note","row":{"text":"x"}}"#;
    let lines = [("content-type", "application/x-ndjson")];
    server.ask("POST", "/batch", &lines, line).is(404, "NotFound");
    let document = server.get("/openapi.json").ok(200).text.clone();
    assert!(document.contains("/tables/seat/rows") && !document.contains("/tables/note/rows"));
}

#[test]
fn change_feed_contains_only_permitted_rows() {
    let [(ada, ada_hash), (bea, bea_hash)] = [new_token().unwrap(), new_token().unwrap()];
    let accounts = format!("token ada {ada_hash} roles clerk\ntoken bea {bea_hash} roles clerk\n");
    for engine in [sqlite(), memory()] {
        track(&*engine);
        let access = Access::from_text(&format!("{ROLES}\n{accounts}")).unwrap();
        let builder = HttpServer::builder().access(access).shared_database("main", engine);
        let server = TestServer::of(builder);
        let subscribe = |query: &str, token: &str| {
            Events::subscribe(&server, query, &format!("authorization: Bearer {token}\r\n"))
        };
        let (mut ada, mut bea, mut all) =
            (subscribe("", &ada), subscribe("?since=0", &bea), subscribe("", TOKEN));
        let send = |method: &str, path: &str, json: &str| {
            let path = format!("/tables/person/rows{path}");
            let status = if method == "POST" { 201 } else { 200 };
            server.send(method, &path, json).ok(status);
        };
        // A row of neither user; a row of each; one that changes its owner twice and is then deleted.
        send("POST", "", r#"{"name":"eve"}"#);
        send("POST", "", r#"{"name":"ada"}"#);
        send("PATCH", "/2", r#"{"rate":1}"#);
        send("PATCH", "/2", r#"{"name":"bea"}"#);
        send("PATCH", "/1", r#"{"rate":1}"#);
        send("PATCH", "/2", r#"{"rate":2}"#);
        send("PATCH", "/2", r#"{"name":"ada"}"#);
        server.ask("DELETE", "/tables/person/rows/2", &[], "").ok(204);
        server.ask("DELETE", "/tables/person/rows/1", &[], "").ok(204);
        // Marks the end: no user gets further events.
        for name in ["ada", "bea"] {
            send("POST", "", &format!(r#"{{"name":"{name}","rate":9}}"#));
        }
        let seen = |events: &mut Events, count: usize| -> Vec<_> {
            (0..count)
                .map(|_| {
                    let (_, kind, data) = events.next();
                    assert_eq!(data["row"].is_null(), kind == "delete", "{data}");
                    format!("{kind} {} {}", data["key"]["id"], data["row"]["rate"])
                })
                .collect()
        };
        let of_ada = seen(&mut ada, 6).join(", ");
        let of_bea = seen(&mut bea, 4).join(", ");
        let wanted =
            "insert 2 null, update 2 1, delete 2 null, insert 2 2, delete 2 null, insert 1 9";
        assert_eq!(of_ada, wanted);
        assert_eq!(of_bea, "insert 2 1, update 2 2, delete 2 null, insert 2 9");
        let kinds: String = (0..11).map(|_| all.next().1.remove(0)).collect();
        assert_eq!(kinds, "iiuuuuuddii");
    }
}

#[test]
fn history_contains_only_permitted_rows() {
    let (mut server, token) = server();
    // A row of the operator, then of ada, then of bea.
    server.send("POST", "/tables/person/rows", r#"{"name":"eve"}"#).ok(201);
    for change in [r#"{"name":"ada"}"#, r#"{"rate":1}"#, r#"{"name":"bea"}"#, r#"{"rate":2}"#] {
        server.send("PATCH", "/tables/person/rows/1", change).ok(200);
    }
    server.send("POST", "/tables/person/rows", r#"{"name":"bea"}"#).ok(201);
    server.headers = vec![("authorization".to_owned(), format!("Bearer {token}"))];
    let history = server.get("/tables/person/rows/1/history").ok(200).json();
    let seen = |at: usize| {
        let change = &history["changes"][at];
        let name = |side: &str| change[side]["name"].as_str().unwrap_or("-").to_owned();
        format!("{} {} {}", change["kind"].as_str().unwrap(), name("before"), name("after"))
    };
    assert_eq!([seen(0), seen(1), seen(2)], ["insert - ada", "update ada ada", "delete ada -"]);
    assert_eq!(history["changes"].as_array().unwrap().len(), 3);
    let nothing = server.get("/tables/person/rows/9/history").is(404, "NotFound").text.clone();
    let text =
        |row: &str| server.get(&format!("/tables/{row}/history")).is(404, "NotFound").text.clone();
    assert_eq!(text("person/rows/2"), nothing);
    assert_eq!(text("note/rows/1"), text("missing/rows/1").replace("missing", "note"));
}

#[test]
fn revoked_permission_ends_change_feed() {
    let (token, hash) = new_token().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("access");
    let grant = |grants: &str| {
        std::fs::write(&file, format!("role a\n{grants}\ntoken ada {hash} roles a\n")).unwrap();
    };
    grant("read on *");
    let access = Access::from_file(&file).unwrap();
    let engine = sqlite();
    track(&*engine);
    let builder = HttpServer::builder().access(access.clone());
    let server = TestServer::of(builder.shared_database("main", engine));
    let headers = format!("authorization: Bearer {token}\r\nconnection: close\r\n");
    let mut events = Events::subscribe(&server, "", &headers);
    server.send("POST", "/tables/person/rows", r#"{"name":"a"}"#).ok(201);
    assert_eq!(events.next().1, "insert");
    grant("insert on *");
    access.reload().unwrap();
    server.send("POST", "/tables/person/rows", r#"{"name":"b"}"#).ok(201);
    let rest = events.rest();
    assert!(!rest.contains("event:") && rest.ends_with("0\r\n\r\n"), "{rest}");
}

#[test]
fn changes_record_their_actor() {
    let (token, hash) = new_token().unwrap();
    let text = format!("role a\nall on *\ntoken ada {hash} roles a\n");
    let access = Access::from_text(&text).unwrap();
    for engine in [sqlite(), memory()] {
        track(&*engine);
        let has_sql = engine.capabilities().sql;
        let builder = HttpServer::builder().access(access.clone());
        let mut settings = Settings::default();
        settings.sql = SqlAccess::Write;
        let builder = builder.settings(settings).shared_database("main", Arc::clone(&engine));
        let mut server = TestServer::of(builder);
        server.send("POST", "/tables/person/rows", r#"{"name":"operator"}"#).ok(201);
        server.headers = vec![("authorization".to_owned(), format!("Bearer {token}"))];
        let row = "/tables/person/rows/1";
        let lines = [("content-type", "application/x-ndjson")];
        let known = |server: &TestServer| [("if-match", server.get(row).header("etag").to_owned())];
        server.send("POST", "/tables/person/rows", r#"{"name":"a"}"#).ok(201);
        server.send("PATCH", row, r#"{"name":"b"}"#).ok(200);
        server.send("PUT", row, r#"{"name":"c"}"#).ok(200);
        let [(name, tag)] = known(&server);
        let headers = [(name, tag.as_str()), ("content-type", "application/json")];
        server.ask("PATCH", row, &headers, r#"{"name":"d"}"#).ok(200);
        server.ask("DELETE", row, &[], "").ok(204);
        server.send("PUT", row, r#"{"name":"e"}"#).ok(201);
        let [(name, tag)] = known(&server);
        server.ask("DELETE", row, &[(name, &tag)], "").ok(204);
        let json = r#"{"name":"f"}"#;
        server.ask("POST", "/tables/person/import", &lines, json).ok(200);
        server.ask("POST", "/tables/person/import?commit=0", &lines, json).ok(200);
        let line = format!(r#"{{"op":"insert","table":"person","row":{json}}}"#);
        server.ask("POST", "/batch", &lines, &line).ok(200);
        server.ask("POST", "/batch?commit=10", &lines, &line).ok(200);
        if has_sql {
            server.send("POST", "/sql", r#"{"sql":"DELETE FROM person WHERE id = 2"}"#).ok(200);
        }
        let changes = Changes::of(engine).limit(100).page().unwrap().changes;
        let actors: Vec<_> = changes.iter().map(|change| change.actor.as_deref()).collect();
        let expected = 11 + usize::from(has_sql);
        assert_eq!(actors[0], Some("operator"));
        assert_eq!(actors[1..], vec![Some("ada"); expected]);
        let history = server.get("/tables/person/rows/1/history?limit=3").ok(200).json();
        let of_row: Vec<_> = (0..3).map(|at| history["changes"][at]["who"].clone()).collect();
        assert_eq!(of_row, [json!("operator"), json!("ada"), json!("ada")]);
        let headers = format!("authorization: Bearer {token}\r\n");
        let mut events = Events::subscribe(&server, "?since=1", &headers);
        assert_eq!(events.next().2["who"], json!("ada"));
    }
}

/// As with values, expressions are not set in rows that an update rule leaves out.
#[test]
fn expressions_are_set_in_rows_of_the_update_rule() {
    for engine in [sqlite(), memory()] {
        let (token, hash) = new_token().unwrap();
        let access = format!(
            "role clerk\nread on person\nupdate on person where active\ntoken ada {hash} roles clerk\n"
        );
        let builder = HttpServer::builder().access(Access::from_text(&access).unwrap());
        let mut server = TestServer::of(builder.shared_database("main", engine));
        for active in [true, false] {
            let row = json!({"name": "x", "rate": 1, "active": active});
            server.send("POST", "/tables/person/rows", &row.to_string()).ok(201);
        }
        server.headers = vec![("authorization".to_owned(), format!("Bearer {token}"))];
        let changed = |filter: &str, set: &str, body: &str| {
            let path = format!("/tables/person/rows?filter={filter}{set}");
            server.send("PATCH", &path, body).ok(200).json()["changed"].clone()
        };
        for (filter, expected) in [("id=1", 1), ("id=2", 0), ("id%3E0", 1)] {
            assert_eq!(changed(filter, "", r#"{"rate":1}"#), expected, "{filter}");
            assert_eq!(changed(filter, "&set=rate=rate*2", ""), expected, "{filter}");
        }
        let rates = server.get("/tables/person/rows?columns=rate").ok(200).json();
        assert_eq!(rates["rows"], json!([{"rate": 2}, {"rate": 1}]));
    }
}
