//! Single rows and lists.

use crate::client::{TOKEN, TestServer, memory, sqlite};
use crate::connections::settings;
use bobak_core::Engine;
use bobak_http::{Settings, SqlAccess};
use bobak_sqlite::Sqlite;
use serde_json::json;
use std::sync::Arc;

#[test]
fn row_is_inserted_read_replaced_patched_and_deleted() {
    for engine in [sqlite(), memory()] {
        let server = TestServer::with(Settings::default(), engine);
        let inserted =
            server.send("POST", "/tables/person/rows", r#"{"name":"Ada","born":"1815-12-10"}"#);
        inserted.ok(201);
        assert_eq!(inserted.header("location"), "/tables/person/rows/1");
        assert_eq!(inserted.json()["active"], true, "the default value");
        let read = server.get("/tables/person/rows/1");
        assert_eq!(
            (read.ok(200).text.as_str(), read.header("etag")),
            (inserted.text.as_str(), inserted.header("etag"))
        );
        let whole = r#"{"name":"Ada L.","active":false,"balance":12.34}"#;
        let replaced = server.send("PUT", "/tables/person/rows/1", whole);
        assert_eq!(replaced.ok(200).json()["born"], json!(null), "omitted columns become NULL");
        let patched = server.send("PATCH", "/tables/person/rows/1", r#"{"born":"1815-12-10"}"#);
        assert_eq!(patched.ok(200).json()["name"], "Ada L.");
        assert_eq!(patched.json()["balance"], json!(12.34));
        server.send("PUT", "/tables/person/rows/7", r#"{"name":"New"}"#).ok(201);
        server.ask("DELETE", "/tables/person/rows/1", &[], "").ok(204);
        server.ask("DELETE", "/tables/person/rows/1", &[], "").is(404, "NotFound");
        server.get("/tables/person/rows/1").is(404, "NotFound");
        server.send("PATCH", "/tables/person/rows/1", r#"{"name":"x"}"#).is(404, "NotFound");
    }
}

#[test]
fn concurrent_writes_get_their_own_responses() {
    for engine in [sqlite(), memory()] {
        let server = TestServer::with(Settings::default(), engine);
        let send = |client: u32| {
            for number in 0..20 {
                let key = 1 + client * 20 + number;
                let row = format!(r#"{{"id":{key},"name":"n{key}"}}"#);
                let inserted = server.send("POST", "/tables/person/rows", &row);
                assert_eq!(inserted.ok(201).json()["id"], key);
                assert_eq!(inserted.json()["name"], format!("n{key}"));
                let place = format!("/tables/person/rows/{key}");
                server.send("POST", "/tables/person/rows", &row).is(409, "Duplicate");
                server
                    .send("POST", "/tables/person/rows", r#"{"name":null}"#)
                    .is(422, "Constraint");
                server.send("PUT", &place, r#"{"name":"new"}"#).ok(200);
                if number % 2 == 0 {
                    server.ask("DELETE", &place, &[], "").ok(204);
                    server.ask("DELETE", &place, &[], "").is(404, "NotFound");
                }
            }
        };
        std::thread::scope(|scope| {
            let clients: Vec<_> = (0..12).map(|client| scope.spawn(move || send(client))).collect();
            clients.into_iter().for_each(|client| client.join().unwrap());
        });
        let left = server.get("/tables/person/rows?limit=1000&columns=name").json();
        let names: Vec<_> = left["rows"].as_array().unwrap().iter().collect();
        assert_eq!(names.len(), 120);
        assert!(names.iter().all(|row| row["name"] == "new"), "{left}");
    }
}

#[test]
fn values_round_trip_exactly() {
    let server = TestServer::open();
    let row = r#"{"id":9223372036854775807,"name":"a\u0000b","born":"0001-01-01","balance":-922337203685477.5808,"rate":0.30000000000000004,"active":true,"photo":"AAH/","tags":{"a":[12345678901234567890, 1.50]},"seen":"2024-02-29T23:59:59.123456Z","email":null}"#;
    let inserted = server.send("POST", "/tables/person/rows", row);
    inserted.ok(201);
    assert_eq!(inserted.text.trim_end(), row);
    let text =
        server.get("/tables/person/rows/9223372036854775807?numbers=text&columns=id,balance");
    let strings = r#"{"id":"9223372036854775807","balance":"-922337203685477.5808"}"#;
    assert_eq!(text.text.trim_end(), strings);
    let same = server.send("PATCH", "/tables/person/rows/9223372036854775807", strings);
    assert_eq!(same.ok(200).text, inserted.text, "strings are accepted for numbers");
    server
        .send("POST", "/tables/person/rows", r#"{"name":"x","id":9223372036854775808}"#)
        .is(422, "OutOfRange");
    server
        .send("POST", "/tables/person/rows", r#"{"name":"x","balance":0.00001}"#)
        .is(422, "Mismatch");
}

#[test]
fn composite_text_and_uuid_keys_work() {
    let server = TestServer::open();
    let inserted = server.send("POST", "/tables/seat/rows", r#"{"row":"a,/%ü","number":3}"#);
    assert_eq!(inserted.ok(201).header("location"), "/tables/seat/rows/a%2C%2F%25%C3%BC,3");
    server.get(inserted.header("location")).ok(200);
    server.get("/tables/seat/rows/a").is(400, "Syntax");
    server.get("/tables/seat/rows/a,x").is(400, "Mismatch");
    let thing = server.send("POST", "/tables/thing/rows", r#"{"name":"x"}"#);
    let place = thing.ok(201).header("location").to_owned();
    assert_eq!(place, format!("/tables/thing/rows/{}", thing.json()["id"].as_str().unwrap()));
    server.get(&place).ok(200);
}

#[test]
fn timestamps_and_versions_are_maintained() {
    let server = TestServer::open();
    let inserted = server.send("POST", "/tables/note/rows", r#"{"text":"one"}"#);
    assert!(inserted.ok(201).json()["created"].as_str().unwrap().ends_with('Z'));
    let patched = server.send("PATCH", "/tables/note/rows/1", r#"{"text":"two"}"#);
    let (before, after) = (inserted.json(), patched.ok(200).json());
    assert_eq!(after["created"], before["created"]);
    assert_eq!(after["version"].as_i64(), before["version"].as_i64().map(|version| version + 1));
    let old = format!(r#"{{"text":"three","version":{}}}"#, before["version"]);
    server.send("PATCH", "/tables/note/rows/1", &old).is(409, "Conflict");
    server.send("PUT", "/tables/note/rows/1", &old).is(409, "Conflict");
    let new = format!(r#"{{"text":"three","version":{}}}"#, after["version"]);
    server.send("PUT", "/tables/note/rows/1", &new).ok(200);
}

#[test]
fn etags_save_bytes_and_guard_writes() {
    let server = TestServer::open();
    let inserted = server.send("POST", "/tables/person/rows", r#"{"name":"Ada"}"#);
    let tag = inserted.ok(201).header("etag").to_owned();
    let same = server.ask("GET", "/tables/person/rows/1", &[("if-none-match", &tag)], "");
    assert_eq!((same.ok(304).text.as_str(), same.header("etag")), ("", tag.as_str()));
    let json = ("content-type", "application/json");
    let body = r#"{"name":"Bea"}"#;
    let patch =
        |tag: &str| server.ask("PATCH", "/tables/person/rows/1", &[json, ("if-match", tag)], body);
    patch(&tag).ok(200);
    patch(&tag).is(412, "Conflict");
    let delete =
        |tag: &str| server.ask("DELETE", "/tables/person/rows/1", &[("if-match", tag)], "");
    delete(&tag).is(412, "Conflict");
    let unless = |key: u8| {
        let path = format!("/tables/person/rows/{key}");
        server.ask("PUT", &path, &[json, ("if-none-match", "*")], body)
    };
    unless(1).is(412, "Conflict");
    unless(2).ok(201);
    server
        .ask("PUT", "/tables/person/rows/9", &[json, ("if-match", "*")], body)
        .is(412, "Conflict");
    delete(server.get("/tables/person/rows/1").header("etag")).ok(204);
    let list = server.get("/tables/person/rows");
    let again =
        server.ask("GET", "/tables/person/rows", &[("if-none-match", list.header("etag"))], "");
    again.ok(304);
}

#[test]
fn minimal_response_has_no_body() {
    let server = TestServer::open();
    let headers = [("content-type", "application/json"), ("prefer", "return=minimal")];
    let inserted = server.ask("POST", "/tables/person/rows", &headers, r#"{"name":"Ada"}"#);
    assert_eq!(
        (inserted.ok(204).text.as_str(), inserted.header("location")),
        ("", "/tables/person/rows/1")
    );
    server.ask("PATCH", "/tables/person/rows/1", &headers, r#"{"name":"Bea"}"#).ok(204);
}

#[test]
fn lists_are_filtered_ordered_limited_and_counted() {
    let server = TestServer::open();
    for (number, name) in (1..=25).zip("abcdefghijklmnopqrstuvwxy".chars()) {
        let row =
            format!(r#"{{"name":"{name}","balance":{}.50,"active":{}}}"#, number, number % 2 == 0);
        server.send("POST", "/tables/person/rows", &row).ok(201);
    }
    let names = |path: &str| {
        let list = server.get(path).ok(200).json();
        let names = list["rows"].as_array().unwrap().iter();
        names.map(|row| row["name"].as_str().unwrap().to_owned()).collect::<String>()
    };
    assert_eq!(names("/tables/person/rows?filter=balance%3E23.5"), "xy");
    assert_eq!(names("/tables/person/rows?filter=active=true+and+id%3C5&order=-name"), "db");
    assert_eq!(names("/tables/person/rows?order=-active,name&limit=3&offset=1"), "dfh");
    let page = server.get("/tables/person/rows?limit=10&columns=name&total").json();
    assert_eq!(
        (&page["more"], &page["next"], &page["total"]),
        (&json!(true), &json!("10"), &json!(25))
    );
    assert_eq!(page["rows"][0], json!({"name":"a"}));
    assert_eq!(names("/tables/person/rows?limit=10&after=20"), "uvwxy");
    assert_eq!(server.get("/tables/person/rows?limit=10&after=20").json()["more"], false);
    for (query, kind) in [
        ("filter=missing=1", "Schema"),
        ("filter=name+like", "Syntax"),
        ("filter=id='x'", "Mismatch"),
        ("order=missing", "Schema"),
        ("columns=", "Schema"),
        ("columns=name,%20NAME", "Syntax"),
        ("total=yes", "Syntax"),
        ("limit=-1", "Syntax"),
        ("limit=99999999", "Syntax"),
        ("after=x", "Mismatch"),
        ("after=1&order=name", "Syntax"),
        ("oder=name", "Syntax"),
        ("limit=1&limit=2", "Syntax"),
        ("filter=%ff", "Syntax"),
    ] {
        server.get(&format!("/tables/person/rows?{query}")).is(400, kind);
    }
    for (path, detail) in [
        ("rows?oder=name", "unknown parameter 'oder'; there are: "),
        ("rows?oder=name", "order, "),
        ("rows?filter=name=x", "there is no column 'x': a text is in single quotes"),
        ("rows?filter=lower(name)='x'", "GET /tables/person/query filters by expressions"),
    ] {
        let response = server.get(&format!("/tables/person/{path}"));
        let found = response.is(400, response.json()["kind"].as_str().unwrap()).json();
        assert!(found["detail"].as_str().unwrap().contains(detail), "{found}");
    }
    let found = server.get("/tables?x=1").is(400, "Syntax").json();
    assert_eq!(found["detail"], "unknown parameter 'x'; this resource takes none");
    let found = server.get("/tables/persn/rows").is(404, "NotFound").json();
    assert_eq!(found["detail"], "the table 'persn' does not exist, or the client may not see it");
}

#[test]
fn page_ends_at_maximum_length() {
    let settings = settings(|settings| {
        settings.max_response = 10_000;
        settings.sql = SqlAccess::Read;
    });
    let server = TestServer::with(settings, sqlite());
    let photo = "AAAA".repeat(500);
    for _ in 0..20 {
        let row = format!(r#"{{"name":"a","photo":"{photo}"}}"#);
        server.send("POST", "/tables/person/rows", &row).ok(201);
    }
    let (mut ids, mut after) = (Vec::new(), "0".to_owned());
    loop {
        let page = server.get(&format!("/tables/person/rows?after={after}")).ok(200).json();
        let rows = page["rows"].as_array().unwrap();
        assert!((1..=6).contains(&rows.len()), "{} rows", rows.len());
        ids.extend(rows.iter().map(|row| row["id"].as_i64().unwrap()));
        let Some(next) = page["next"].as_str() else { break };
        assert_eq!(page["more"], true);
        after = next.to_owned();
    }
    assert_eq!(ids, (1..=20).collect::<Vec<_>>());
    let sorted = server.get("/tables/person/rows?order=-id").json();
    let last = &sorted["rows"].as_array().unwrap().last().unwrap()["id"];
    assert_eq!((&sorted["more"], &sorted["next"]), (&json!(true), &json!(format!("[{last}]"))));
    let groups = server.get("/tables/person/aggregate?group=id&values=max(photo)").json();
    assert!(groups["more"] == true && groups["rows"].as_array().unwrap().len() < 7, "{groups}");
    let sql = r#"{"sql":"SELECT hex(zeroblob(1000)) FROM person"}"#;
    let rows = server.send("POST", "/sql", sql).ok(200).json();
    assert!(rows["more"] == true && rows["rows"].as_array().unwrap().len() < 7);
    let lines = "{\"name\":\"x\"}\n".repeat(5_000);
    let media = [("content-type", "application/x-ndjson")];
    let import =
        |query: &str| server.ask("POST", &format!("/tables/person/import{query}"), &media, &lines);
    let rejected = import("?outcomes&commit=0");
    assert_eq!(rejected.is(422, "OutOfRange").json()["committed"], 0);
    assert_eq!(server.get("/tables/person/rows?total&limit=1").json()["total"], 20);
    assert_eq!(import("").ok(200).json()["inserted"], 5_000);
}

#[test]
fn empty_pages_and_null_keys_work() {
    let engine = Sqlite::open_memory().unwrap();
    let sql = "CREATE TABLE t (k TEXT PRIMARY KEY, v)";
    engine.session().unwrap().execute(sql, &[]).unwrap();
    let sql = "INSERT INTO t VALUES (NULL, 1), (NULL, 2), ('', 3), ('a', 4)";
    engine.session().unwrap().execute(sql, &[]).unwrap();
    let server = TestServer::with(Settings::default(), Arc::new(engine));
    let none = server.get("/tables/t/rows?limit=0&total").ok(200).json();
    assert_eq!(none, json!({"rows":[], "more":true, "total":4}));
    let none = server.get("/tables/t/rows?limit=0&filter=v%3E4").ok(200).json();
    assert_eq!(none, json!({"rows":[], "more":false}));
    let none = server.get("/tables/t/aggregate?group=v&limit=0").ok(200).json();
    assert_eq!(none, json!({"rows":[], "more":true}));
    // A key with NULL cannot be the start of the next page.
    let first = server.get("/tables/t/rows?limit=1").ok(200).json();
    assert_eq!((&first["more"], &first["next"]), (&json!(true), &json!(null)));
    let third = server.get("/tables/t/rows?limit=3").ok(200).json();
    assert_eq!(third["next"], "");
    let rest = server.get("/tables/t/rows?limit=3&after=").ok(200).json();
    assert_eq!(rest["rows"], json!([{"k":"a", "v":4}]));
}

#[test]
fn empty_patch_changes_nothing() {
    for engine in [sqlite(), memory()] {
        let server = TestServer::with(Settings::default(), engine);
        let inserted = server.send("POST", "/tables/note/rows", r#"{"text":"one"}"#);
        let patched = server.send("PATCH", "/tables/note/rows/1", "{}");
        assert_eq!(patched.ok(200).text, inserted.text);
        server.send("PATCH", "/tables/note/rows/2", "{}").is(404, "NotFound");
    }
}

#[test]
fn accept_header_chooses_format() {
    let server = TestServer::open();
    let format = |accept: &str| {
        let reply = server.ask("GET", "/tables/person/export", &[("accept", accept)], "");
        reply.header("content-type").split(';').next().unwrap().to_owned()
    };
    for (accept, media) in [
        ("*/*", "application/x-ndjson"),
        ("text/*", "text/csv"),
        ("text/csv;q=0.1, application/json", "application/json"),
        ("application/json;q=0.5, text/csv;q=0.9", "text/csv"),
        ("application/x-ndjson;q=0, */*;q=0.1", "text/csv"),
        ("text/csv;q=0, text/*", "application/problem+json"),
        ("image/png", "application/problem+json"),
    ] {
        assert_eq!(format(accept), media, "{accept}");
    }
}

#[test]
fn invalid_rows_are_rejected_with_column() {
    let server = TestServer::open();
    server.send("POST", "/tables/person/rows", r#"{"name":"Ada","email":"a@x"}"#).ok(201);
    let deep = format!(r#"{{"tags":{}1{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
    for (body, status, kind, column) in [
        ("", 400, "Syntax", None),
        ("{", 400, "Syntax", None),
        ("[]", 400, "Syntax", None),
        (r#"{"name":"x"} {}"#, 400, "Syntax", None),
        (r#"{"name":"x","name":"y"}"#, 400, "Syntax", Some("name")),
        (r#"{"missing":1}"#, 400, "Schema", None),
        (r#"{}"#, 422, "Constraint", Some("name")),
        (r#"{"name":null}"#, 422, "Constraint", Some("name")),
        (r#"{"name":5}"#, 422, "Mismatch", Some("name")),
        (r#"{"name":["x"]}"#, 422, "Mismatch", Some("name")),
        (r#"{"name":"123456789012345678901"}"#, 422, "TooLong", Some("name")),
        (r#"{"name":"x","born":"1815-02-30"}"#, 422, "Mismatch", Some("born")),
        (r#"{"name":"x","active":1}"#, 422, "Mismatch", Some("active")),
        (r#"{"name":"x","photo":"?"}"#, 422, "Mismatch", Some("photo")),
        (r#"{"name":"x","id":1}"#, 409, "Duplicate", None),
        (r#"{"name":"x","email":"a@x"}"#, 409, "Duplicate", None),
        (&deep, 400, "Syntax", None),
    ] {
        let reply = server.send("POST", "/tables/person/rows", body);
        reply.is(status, kind);
        let problem = reply.json();
        assert_eq!(problem["table"], "person", "{problem}");
        assert!(column.is_none() || problem["column"] == json!(column), "{problem}");
    }
}

#[test]
fn unauthenticated_clients_learn_nothing() {
    let mut server = TestServer::open();
    server.headers.clear();
    for path in
        ["/tables/person/rows", "/tables/missing/rows", "/nowhere", "/openapi.json", "/metrics"]
    {
        let reply = server.get(path);
        reply.is(401, "Denied");
        // Browsers expect one scheme per header, and know only Basic.
        let schemes = reply.headers.get_all("www-authenticate").iter();
        let schemes: Vec<_> = schemes.filter_map(|line| line.to_str().ok()?.get(..6)).collect();
        assert_eq!(schemes, ["Basic ", "Bearer"]);
    }
    for shown in ["Bearer wrong", "Basic !!", "Basic YTpi", "Digest x", TOKEN] {
        server.ask("GET", "/tables", &[("authorization", shown)], "").is(401, "Denied");
    }
    assert_eq!(server.get("/health").ok(200).json(), json!({"status":"ok"}));
}

#[test]
fn unknown_and_malicious_table_names_are_not_found() {
    let server = TestServer::open();
    for (name, shown) in [
        ("missing", "missing"),
        ("..", ".."),
        ("%2e%2e", ".."),
        ("person%00", "person\0"),
        ("%2Fetc%2Fpasswd", "/etc/passwd"),
        ("sqlite_schema", "sqlite_schema"),
        ("main.person", "main.person"),
        ("person;drop", "person;drop"),
    ] {
        let reply = server.get(&format!("/tables/{name}/rows")).is(404, "NotFound").json();
        let detail = format!("the table '{shown}' does not exist, or the client may not see it");
        assert_eq!(reply["detail"], detail, "{name}");
    }
    server.get("/databases/other/tables/person/rows").is(404, "NotFound");
    server.get("/databases/main/tables/PERSON/rows").ok(200);
    let wrong = server.send("POST", "/tables/person/rows/1", "{}");
    wrong.is(405, "Unsupported");
    assert!(wrong.header("allow").contains("PATCH"));
    server
        .ask("POST", "/tables/person/rows", &[("content-type", "text/plain")], "x")
        .is(415, "Unsupported");
    let gzip = [("content-type", "application/json"), ("content-encoding", "gzip")];
    server.ask("POST", "/tables/person/rows", &gzip, "x").is(415, "Unsupported");
}

/// A table of another program, with defaults that SQLite computes.
#[test]
fn expression_defaults_apply() {
    let engine = sqlite();
    let sql = "CREATE TABLE visit (id INTEGER PRIMARY KEY, at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP, \
               token TEXT NOT NULL DEFAULT (lower(hex(randomblob(8)))), note TEXT)";
    engine.session().unwrap().execute(sql, &[]).unwrap();
    let server = TestServer::with(Settings::default(), engine);
    let inserted = server.send("POST", "/tables/visit/rows", r#"{"note":"first"}"#);
    let token = inserted.ok(201).json()["token"].as_str().unwrap().to_owned();
    assert_eq!((token.len(), inserted.json()["at"].as_str().unwrap().len()), (16, 19));
    let given = server.send("POST", "/tables/visit/rows", r#"{"at":"then","token":"mine"}"#);
    assert_eq!(
        (&given.ok(201).json()["at"], &given.json()["token"]),
        (&json!("then"), &json!("mine"))
    );
    server.send("POST", "/tables/visit/rows", r#"{"at":null}"#).is(422, "Constraint");
    let lines = "{\"note\":\"a\"}\n{\"note\":\"b\",\"at\":\"now\"}\n";
    let kind = [("content-type", "application/x-ndjson")];
    server.ask("POST", "/tables/visit/import", &kind, lines).ok(200);
    let rows = server.get("/tables/visit/rows?columns=token,at").ok(200).json();
    let tokens: Vec<_> = rows["rows"].as_array().unwrap().iter().map(|row| &row["token"]).collect();
    assert_eq!(tokens.len(), 4);
    assert_ne!(tokens[2], tokens[3], "each row gets its own value");
}

/// In a nullable column, a given NULL is a value; an omitted column gets the default.
#[test]
fn expression_defaults_of_nullable_columns_apply() {
    let engine = sqlite();
    let sql = "CREATE TABLE memo (id INTEGER PRIMARY KEY, created TEXT DEFAULT CURRENT_TIMESTAMP, \
               token TEXT DEFAULT (lower(hex(randomblob(8)))), text TEXT)";
    engine.session().unwrap().execute(sql, &[]).unwrap();
    let server = TestServer::with(Settings::default(), engine);
    let lengths = |row: &serde_json::Value| {
        ["created", "token"].map(|name| row[name].as_str().map_or(0, str::len))
    };
    let post = |row: &str| lengths(&server.send("POST", "/tables/memo/rows", row).ok(201).json());
    assert_eq!(post(r#"{"text":"a"}"#), [19, 16]);
    assert_eq!(post(r#"{"created":null}"#), [0, 16]);
    assert_eq!(post(r#"{"created":null,"token":null}"#), [0, 0]);
    assert_eq!(post(r#"{"created":"then","token":"mine"}"#), [4, 4]);
    let put = |path: &str, status: u16, row: &str| {
        lengths(&server.send("PUT", path, row).ok(status).json())
    };
    assert_eq!(put("/tables/memo/rows/9", 201, r#"{"token":null}"#), [19, 0]);
    assert_eq!(put("/tables/memo/rows/9", 200, r#"{"created":null}"#), [0, 16]);
    let lines = "{\"id\":21}\n{\"id\":22,\"created\":null}\n{\"id\":23}\n";
    let kind = [("content-type", "application/x-ndjson")];
    server.ask("POST", "/tables/memo/import", &kind, lines).ok(200);
    let csv = [("content-type", "text/csv")];
    server.ask("POST", "/tables/memo/import", &csv, "id,token\n24,\n25,x\n").ok(200);
    let line = r#"{"op":"insert","table":"memo","row":{"id":26}}"#;
    server.ask("POST", "/batch", &kind, line).ok(200);
    let rows = server.get("/tables/memo/rows?filter=id+%3E+20").ok(200).json();
    let found: Vec<_> = rows["rows"].as_array().unwrap().iter().map(lengths).collect();
    assert_eq!(found, [[19, 16], [0, 16], [19, 16], [19, 0], [19, 1], [19, 16]]);
}

#[test]
fn quoted_column_names_work_in_lists() {
    let engine = Sqlite::open_memory().unwrap();
    let session = engine.session().unwrap();
    let sql = r#"CREATE TABLE t (id INTEGER PRIMARY KEY, "a,b" INT, "-c" INT, "say ""x""" INT)"#;
    session.execute(sql, &[]).unwrap();
    session.execute("INSERT INTO t VALUES (1, 1, 2, 3), (2, 2, 1, 3)", &[]).unwrap();
    drop(session);
    let server = TestServer::with(Settings::default(), Arc::new(engine));
    let ids = |query: &str| {
        let reply = server.get(&format!("/tables/t/rows?columns=id&order={query}"));
        let rows = reply.ok(200).json()["rows"].as_array().unwrap().clone();
        rows.iter().map(|row| row["id"].as_i64().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(ids("-%22a,b%22,id"), [2, 1]);
    assert_eq!(ids("%22-c%22"), [2, 1]);
    assert_eq!(ids("-%22-c%22"), [1, 2]);
    let all =
        server.get("/tables/t/rows?columns=%22a,b%22,-c,%22say+%22%22x%22%22%22&limit=1").json();
    assert_eq!(all["rows"], json!([{"a,b":1, "-c":2, "say \"x\"":3}]));
    let path = "/tables/t/aggregate?values=sum(%22a,b%22),max(-c)&group=%22say+%22%22x%22%22%22";
    let sums = server.get(path).ok(200).json();
    assert_eq!(sums["rows"][0]["sum_a,b"], 3, "{sums}");
    server.get("/tables/t/rows?columns=%22a,b").is(400, "Syntax");
    server.get("/tables/t/rows?order=%22a%22b%22").is(400, "Syntax");
}
