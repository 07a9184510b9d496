//! Rows, one by one and as lists.

use crate::client::{Door, TOKEN, memory, sqlite};
use crate::doors::settings;
use bobak_core::Engine;
use bobak_http::{Settings, SqlAccess};
use bobak_sqlite::Sqlite;
use serde_json::json;
use std::sync::Arc;

#[test]
fn a_row_is_made_read_replaced_patched_and_deleted() {
    for engine in [sqlite(), memory()] {
        let door = Door::with(Settings::default(), engine);
        let made =
            door.send("POST", "/tables/person/rows", r#"{"name":"Ada","born":"1815-12-10"}"#);
        made.ok(201);
        assert_eq!(made.header("location"), "/tables/person/rows/1");
        assert_eq!(made.json()["active"], true, "the default");
        let read = door.get("/tables/person/rows/1");
        assert_eq!(
            (read.ok(200).text.as_str(), read.header("etag")),
            (made.text.as_str(), made.header("etag"))
        );
        let whole = r#"{"name":"Ada L.","active":false,"balance":12.34}"#;
        let replaced = door.send("PUT", "/tables/person/rows/1", whole);
        assert_eq!(replaced.ok(200).json()["born"], json!(null), "what is not named goes");
        let patched = door.send("PATCH", "/tables/person/rows/1", r#"{"born":"1815-12-10"}"#);
        assert_eq!(patched.ok(200).json()["name"], "Ada L.");
        assert_eq!(patched.json()["balance"], json!(12.34));
        door.send("PUT", "/tables/person/rows/7", r#"{"name":"New"}"#).ok(201);
        door.ask("DELETE", "/tables/person/rows/1", &[], "").ok(204);
        door.ask("DELETE", "/tables/person/rows/1", &[], "").is(404, "NotFound");
        door.get("/tables/person/rows/1").is(404, "NotFound");
        door.send("PATCH", "/tables/person/rows/1", r#"{"name":"x"}"#).is(404, "NotFound");
    }
}

#[test]
fn writes_that_come_together_have_each_their_own_answer() {
    for engine in [sqlite(), memory()] {
        let door = Door::with(Settings::default(), engine);
        let send = |client: u32| {
            for number in 0..20 {
                let key = 1 + client * 20 + number;
                let row = format!(r#"{{"id":{key},"name":"n{key}"}}"#);
                let made = door.send("POST", "/tables/person/rows", &row);
                assert_eq!(made.ok(201).json()["id"], key);
                assert_eq!(made.json()["name"], format!("n{key}"));
                let place = format!("/tables/person/rows/{key}");
                door.send("POST", "/tables/person/rows", &row).is(409, "Duplicate");
                door.send("POST", "/tables/person/rows", r#"{"name":null}"#).is(422, "Constraint");
                door.send("PUT", &place, r#"{"name":"new"}"#).ok(200);
                if number % 2 == 0 {
                    door.ask("DELETE", &place, &[], "").ok(204);
                    door.ask("DELETE", &place, &[], "").is(404, "NotFound");
                }
            }
        };
        std::thread::scope(|scope| {
            let clients: Vec<_> = (0..12).map(|client| scope.spawn(move || send(client))).collect();
            clients.into_iter().for_each(|client| client.join().unwrap());
        });
        let left = door.get("/tables/person/rows?limit=1000&columns=name").json();
        let names: Vec<_> = left["rows"].as_array().unwrap().iter().collect();
        assert_eq!(names.len(), 120);
        assert!(names.iter().all(|row| row["name"] == "new"), "{left}");
    }
}

#[test]
fn values_are_exact() {
    let door = Door::open();
    let row = r#"{"id":9223372036854775807,"name":"a\u0000b","born":"0001-01-01","balance":-922337203685477.5808,"rate":0.30000000000000004,"active":true,"photo":"AAH/","tags":{"a":[12345678901234567890, 1.50]},"seen":"2024-02-29T23:59:59.123456Z","email":null}"#;
    let made = door.send("POST", "/tables/person/rows", row);
    made.ok(201);
    assert_eq!(made.text.trim_end(), row);
    let text = door.get("/tables/person/rows/9223372036854775807?numbers=text&columns=id,balance");
    let strings = r#"{"id":"9223372036854775807","balance":"-922337203685477.5808"}"#;
    assert_eq!(text.text.trim_end(), strings);
    let same = door.send("PATCH", "/tables/person/rows/9223372036854775807", strings);
    assert_eq!(same.ok(200).text, made.text, "strings are taken as numbers");
    door.send("POST", "/tables/person/rows", r#"{"name":"x","id":9223372036854775808}"#)
        .is(422, "OutOfRange");
    door.send("POST", "/tables/person/rows", r#"{"name":"x","balance":0.00001}"#)
        .is(422, "Mismatch");
}

#[test]
fn keys_of_several_columns_of_text_and_of_uuids() {
    let door = Door::open();
    let made = door.send("POST", "/tables/seat/rows", r#"{"row":"a,/%ü","number":3}"#);
    assert_eq!(made.ok(201).header("location"), "/tables/seat/rows/a%2C%2F%25%C3%BC,3");
    door.get(made.header("location")).ok(200);
    door.get("/tables/seat/rows/a").is(400, "Syntax");
    door.get("/tables/seat/rows/a,x").is(400, "Mismatch");
    let thing = door.send("POST", "/tables/thing/rows", r#"{"name":"x"}"#);
    let place = thing.ok(201).header("location").to_owned();
    assert_eq!(place, format!("/tables/thing/rows/{}", thing.json()["id"].as_str().unwrap()));
    door.get(&place).ok(200);
}

#[test]
fn stamps_and_versions_are_kept() {
    let door = Door::open();
    let made = door.send("POST", "/tables/note/rows", r#"{"text":"one"}"#);
    assert!(made.ok(201).json()["created"].as_str().unwrap().ends_with('Z'));
    let patched = door.send("PATCH", "/tables/note/rows/1", r#"{"text":"two"}"#);
    let (before, after) = (made.json(), patched.ok(200).json());
    assert_eq!(after["created"], before["created"]);
    assert_eq!(after["version"].as_i64(), before["version"].as_i64().map(|version| version + 1));
    let old = format!(r#"{{"text":"three","version":{}}}"#, before["version"]);
    door.send("PATCH", "/tables/note/rows/1", &old).is(409, "Conflict");
    door.send("PUT", "/tables/note/rows/1", &old).is(409, "Conflict");
    let new = format!(r#"{{"text":"three","version":{}}}"#, after["version"]);
    door.send("PUT", "/tables/note/rows/1", &new).ok(200);
}

#[test]
fn tags_spare_bytes_and_guard_writes() {
    let door = Door::open();
    let made = door.send("POST", "/tables/person/rows", r#"{"name":"Ada"}"#);
    let tag = made.ok(201).header("etag").to_owned();
    let same = door.ask("GET", "/tables/person/rows/1", &[("if-none-match", &tag)], "");
    assert_eq!((same.ok(304).text.as_str(), same.header("etag")), ("", tag.as_str()));
    let json = ("content-type", "application/json");
    let body = r#"{"name":"Bea"}"#;
    let patch =
        |tag: &str| door.ask("PATCH", "/tables/person/rows/1", &[json, ("if-match", tag)], body);
    patch(&tag).ok(200);
    patch(&tag).is(412, "Conflict");
    let delete = |tag: &str| door.ask("DELETE", "/tables/person/rows/1", &[("if-match", tag)], "");
    delete(&tag).is(412, "Conflict");
    let unless = |key: u8| {
        let path = format!("/tables/person/rows/{key}");
        door.ask("PUT", &path, &[json, ("if-none-match", "*")], body)
    };
    unless(1).is(412, "Conflict");
    unless(2).ok(201);
    door.ask("PUT", "/tables/person/rows/9", &[json, ("if-match", "*")], body).is(412, "Conflict");
    delete(door.get("/tables/person/rows/1").header("etag")).ok(204);
    let list = door.get("/tables/person/rows");
    let again =
        door.ask("GET", "/tables/person/rows", &[("if-none-match", list.header("etag"))], "");
    again.ok(304);
}

#[test]
fn a_minimal_answer_has_no_body() {
    let door = Door::open();
    let headers = [("content-type", "application/json"), ("prefer", "return=minimal")];
    let made = door.ask("POST", "/tables/person/rows", &headers, r#"{"name":"Ada"}"#);
    assert_eq!(
        (made.ok(201).text.as_str(), made.header("location")),
        ("", "/tables/person/rows/1")
    );
    door.ask("PATCH", "/tables/person/rows/1", &headers, r#"{"name":"Bea"}"#).ok(204);
}

#[test]
fn lists_are_filtered_sorted_cut_and_counted() {
    let door = Door::open();
    for (number, name) in (1..=25).zip("abcdefghijklmnopqrstuvwxy".chars()) {
        let row =
            format!(r#"{{"name":"{name}","balance":{}.50,"active":{}}}"#, number, number % 2 == 0);
        door.send("POST", "/tables/person/rows", &row).ok(201);
    }
    let names = |path: &str| {
        let list = door.get(path).ok(200).json();
        let names = list["rows"].as_array().unwrap().iter();
        names.map(|row| row["name"].as_str().unwrap().to_owned()).collect::<String>()
    };
    assert_eq!(names("/tables/person/rows?filter=balance%3E23.5"), "xy");
    assert_eq!(names("/tables/person/rows?filter=active=true+and+id%3C5&order=-name"), "db");
    assert_eq!(names("/tables/person/rows?order=-active,name&limit=3&offset=1"), "dfh");
    let page = door.get("/tables/person/rows?limit=10&columns=name&total").json();
    assert_eq!(
        (&page["more"], &page["next"], &page["total"]),
        (&json!(true), &json!("10"), &json!(25))
    );
    assert_eq!(page["rows"][0], json!({"name":"a"}));
    assert_eq!(names("/tables/person/rows?limit=10&after=20"), "uvwxy");
    assert_eq!(door.get("/tables/person/rows?limit=10&after=20").json()["more"], false);
    for (query, kind) in [
        ("filter=nobody=1", "Schema"),
        ("filter=name+like", "Syntax"),
        ("filter=id='x'", "Mismatch"),
        ("order=nobody", "Schema"),
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
        door.get(&format!("/tables/person/rows?{query}")).is(400, kind);
    }
}

#[test]
fn a_page_ends_where_it_has_so_many_bytes() {
    let settings = settings(|settings| {
        settings.max_response = 10_000;
        settings.sql = SqlAccess::Read;
    });
    let door = Door::with(settings, sqlite());
    let photo = "AAAA".repeat(500);
    for _ in 0..20 {
        let row = format!(r#"{{"name":"a","photo":"{photo}"}}"#);
        door.send("POST", "/tables/person/rows", &row).ok(201);
    }
    let (mut ids, mut after) = (Vec::new(), "0".to_owned());
    loop {
        let page = door.get(&format!("/tables/person/rows?after={after}")).ok(200).json();
        let rows = page["rows"].as_array().unwrap();
        assert!((1..=6).contains(&rows.len()), "{} rows", rows.len());
        ids.extend(rows.iter().map(|row| row["id"].as_i64().unwrap()));
        let Some(next) = page["next"].as_str() else { break };
        assert_eq!(page["more"], true);
        after = next.to_owned();
    }
    assert_eq!(ids, (1..=20).collect::<Vec<_>>());
    let sorted = door.get("/tables/person/rows?order=-id").json();
    assert_eq!((&sorted["more"], &sorted["next"]), (&json!(true), &json!(null)));
    let groups = door.get("/tables/person/aggregate?group=id&values=max(photo)").json();
    assert!(groups["more"] == true && groups["rows"].as_array().unwrap().len() < 7, "{groups}");
    let sql = r#"{"sql":"SELECT hex(zeroblob(1000)) FROM person"}"#;
    let rows = door.send("POST", "/sql", sql).ok(200).json();
    assert!(rows["more"] == true && rows["rows"].as_array().unwrap().len() < 7);
    let lines = "{\"name\":\"x\"}\n".repeat(5_000);
    let media = [("content-type", "application/x-ndjson")];
    let import =
        |query: &str| door.ask("POST", &format!("/tables/person/import{query}"), &media, &lines);
    let refused = import("?outcomes&commit=0");
    assert_eq!(refused.is(422, "OutOfRange").json()["committed"], 0);
    assert_eq!(door.get("/tables/person/rows?total&limit=1").json()["total"], 20);
    assert_eq!(import("").ok(200).json()["inserted"], 5_000);
}

#[test]
fn pages_without_rows_and_keys_without_values() {
    let engine = Sqlite::open_memory().unwrap();
    let sql = "CREATE TABLE t (k TEXT PRIMARY KEY, v)";
    engine.session().unwrap().execute(sql, &[]).unwrap();
    let sql = "INSERT INTO t VALUES (NULL, 1), (NULL, 2), ('', 3), ('a', 4)";
    engine.session().unwrap().execute(sql, &[]).unwrap();
    let door = Door::with(Settings::default(), Arc::new(engine));
    let none = door.get("/tables/t/rows?limit=0&total").ok(200).json();
    assert_eq!(none, json!({"rows":[], "more":true, "total":4}));
    let none = door.get("/tables/t/rows?limit=0&filter=v%3E4").ok(200).json();
    assert_eq!(none, json!({"rows":[], "more":false}));
    let none = door.get("/tables/t/aggregate?group=v&limit=0").ok(200).json();
    assert_eq!(none, json!({"rows":[], "more":true}));
    // Where a NULL is, nobody can be told to go on behind it.
    let first = door.get("/tables/t/rows?limit=1").ok(200).json();
    assert_eq!((&first["more"], &first["next"]), (&json!(true), &json!(null)));
    let third = door.get("/tables/t/rows?limit=3").ok(200).json();
    assert_eq!(third["next"], "");
    let rest = door.get("/tables/t/rows?limit=3&after=").ok(200).json();
    assert_eq!(rest["rows"], json!([{"k":"a", "v":4}]));
}

#[test]
fn a_patch_that_says_nothing_changes_nothing() {
    for engine in [sqlite(), memory()] {
        let door = Door::with(Settings::default(), engine);
        let made = door.send("POST", "/tables/note/rows", r#"{"text":"one"}"#);
        let patched = door.send("PATCH", "/tables/note/rows/1", "{}");
        assert_eq!(patched.ok(200).text, made.text);
        door.send("PATCH", "/tables/note/rows/2", "{}").is(404, "NotFound");
    }
}

#[test]
fn what_a_client_wants_most_it_gets() {
    let door = Door::open();
    let form = |accept: &str| {
        let reply = door.ask("GET", "/tables/person/export", &[("accept", accept)], "");
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
        assert_eq!(form(accept), media, "{accept}");
    }
}

#[test]
fn wrong_rows_are_refused_with_the_column() {
    let door = Door::open();
    door.send("POST", "/tables/person/rows", r#"{"name":"Ada","email":"a@x"}"#).ok(201);
    let deep = format!(r#"{{"tags":{}1{}}}"#, "[".repeat(100_000), "]".repeat(100_000));
    for (body, status, kind, column) in [
        ("", 400, "Syntax", None),
        ("{", 400, "Syntax", None),
        ("[]", 400, "Syntax", None),
        (r#"{"name":"x"} {}"#, 400, "Syntax", None),
        (r#"{"name":"x","name":"y"}"#, 400, "Syntax", Some("name")),
        (r#"{"nobody":1}"#, 400, "Schema", None),
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
        let reply = door.send("POST", "/tables/person/rows", body);
        reply.is(status, kind);
        let problem = reply.json();
        assert_eq!(problem["table"], "person", "{problem}");
        assert!(column.is_none() || problem["column"] == json!(column), "{problem}");
    }
}

#[test]
fn strangers_learn_nothing() {
    let mut door = Door::open();
    door.headers.clear();
    for path in
        ["/tables/person/rows", "/tables/nobody/rows", "/nowhere", "/openapi.json", "/metrics"]
    {
        let reply = door.get(path);
        reply.is(401, "Denied");
        // Browsers take a line for one scheme, and know Basic only.
        let schemes = reply.headers.get_all("www-authenticate").iter();
        let schemes: Vec<_> = schemes.filter_map(|line| line.to_str().ok()?.get(..6)).collect();
        assert_eq!(schemes, ["Basic ", "Bearer"]);
    }
    for shown in ["Bearer wrong", "Basic !!", "Basic YTpi", "Digest x", TOKEN] {
        door.ask("GET", "/tables", &[("authorization", shown)], "").is(401, "Denied");
    }
    assert_eq!(door.get("/health").ok(200).json(), json!({"status":"ok"}));
}

#[test]
fn unknown_tables_and_names_with_tricks_are_not_there() {
    let door = Door::open();
    let unknown = door.get("/tables/nobody/rows").is(404, "NotFound").text.clone();
    for name in [
        "..",
        "%2e%2e",
        "person%00",
        "%2Fetc%2Fpasswd",
        "sqlite_schema",
        "main.person",
        "person;drop",
    ] {
        assert_eq!(door.get(&format!("/tables/{name}/rows")).is(404, "NotFound").text, unknown);
    }
    door.get("/databases/other/tables/person/rows").is(404, "NotFound");
    door.get("/databases/main/tables/PERSON/rows").ok(200);
    let wrong = door.send("POST", "/tables/person/rows/1", "{}");
    wrong.is(405, "Unsupported");
    assert!(wrong.header("allow").contains("PATCH"));
    door.ask("POST", "/tables/person/rows", &[("content-type", "text/plain")], "x")
        .is(415, "Unsupported");
    let gzip = [("content-type", "application/json"), ("content-encoding", "gzip")];
    door.ask("POST", "/tables/person/rows", &gzip, "x").is(415, "Unsupported");
}

#[test]
fn a_browser_is_shown_the_tables() {
    let door = Door::open();
    let page = door.get("/").ok(200).text.clone();
    assert!(page.contains("<a href=\"/databases/main/tables/person/rows\">"), "{page}");
    for link in page.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()) {
        door.get(link).ok(200);
    }
    door.get("/databases/nobody/").is(404, "NotFound");
    door.ask("GET", "/", &[("accept", "application/json")], "").is(406, "Unsupported");
}

/// A table that another program made, with defaults that SQLite computes.
#[test]
fn defaults_that_are_expressions() {
    let engine = sqlite();
    let sql = "CREATE TABLE visit (id INTEGER PRIMARY KEY, at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP, \
               token TEXT NOT NULL DEFAULT (lower(hex(randomblob(8)))), note TEXT)";
    engine.session().unwrap().execute(sql, &[]).unwrap();
    let door = Door::with(Settings::default(), engine);
    let made = door.send("POST", "/tables/visit/rows", r#"{"note":"first"}"#);
    let token = made.ok(201).json()["token"].as_str().unwrap().to_owned();
    assert_eq!((token.len(), made.json()["at"].as_str().unwrap().len()), (16, 19));
    let given = door.send("POST", "/tables/visit/rows", r#"{"at":"then","token":"mine"}"#);
    assert_eq!(
        (&given.ok(201).json()["at"], &given.json()["token"]),
        (&json!("then"), &json!("mine"))
    );
    door.send("POST", "/tables/visit/rows", r#"{"at":null}"#).is(422, "Constraint");
    let lines = "{\"note\":\"a\"}\n{\"note\":\"b\",\"at\":\"now\"}\n";
    let kind = [("content-type", "application/x-ndjson")];
    door.ask("POST", "/tables/visit/import", &kind, lines).ok(200);
    let rows = door.get("/tables/visit/rows?columns=token,at").ok(200).json();
    let tokens: Vec<_> = rows["rows"].as_array().unwrap().iter().map(|row| &row["token"]).collect();
    assert_eq!(tokens.len(), 4);
    assert_ne!(tokens[2], tokens[3], "each row has its own");
}

/// The same where the column may be NULL: NULL that is given is a value, what is left out is not.
#[test]
fn defaults_that_are_expressions_of_columns_that_may_be_null() {
    let engine = sqlite();
    let sql = "CREATE TABLE memo (id INTEGER PRIMARY KEY, created TEXT DEFAULT CURRENT_TIMESTAMP, \
               token TEXT DEFAULT (lower(hex(randomblob(8)))), text TEXT)";
    engine.session().unwrap().execute(sql, &[]).unwrap();
    let door = Door::with(Settings::default(), engine);
    let lengths = |row: &serde_json::Value| {
        ["created", "token"].map(|name| row[name].as_str().map_or(0, str::len))
    };
    let post = |row: &str| lengths(&door.send("POST", "/tables/memo/rows", row).ok(201).json());
    assert_eq!(post(r#"{"text":"a"}"#), [19, 16]);
    assert_eq!(post(r#"{"created":null}"#), [0, 16]);
    assert_eq!(post(r#"{"created":null,"token":null}"#), [0, 0]);
    assert_eq!(post(r#"{"created":"then","token":"mine"}"#), [4, 4]);
    let put = |path: &str, status: u16, row: &str| {
        lengths(&door.send("PUT", path, row).ok(status).json())
    };
    assert_eq!(put("/tables/memo/rows/9", 201, r#"{"token":null}"#), [19, 0]);
    assert_eq!(put("/tables/memo/rows/9", 200, r#"{"created":null}"#), [0, 16]);
    let lines = "{\"id\":21}\n{\"id\":22,\"created\":null}\n{\"id\":23}\n";
    let kind = [("content-type", "application/x-ndjson")];
    door.ask("POST", "/tables/memo/import", &kind, lines).ok(200);
    let csv = [("content-type", "text/csv")];
    door.ask("POST", "/tables/memo/import", &csv, "id,token\n24,\n25,x\n").ok(200);
    let line = r#"{"op":"insert","table":"memo","row":{"id":26}}"#;
    door.ask("POST", "/batch", &kind, line).ok(200);
    let rows = door.get("/tables/memo/rows?filter=id+%3E+20").ok(200).json();
    let found: Vec<_> = rows["rows"].as_array().unwrap().iter().map(lengths).collect();
    assert_eq!(found, [[19, 16], [0, 16], [19, 16], [19, 0], [19, 1], [19, 16]]);
}

#[test]
fn columns_with_any_names_can_be_named_in_lists() {
    let engine = Sqlite::open_memory().unwrap();
    let session = engine.session().unwrap();
    let sql = r#"CREATE TABLE t (id INTEGER PRIMARY KEY, "a,b" INT, "-c" INT, "say ""x""" INT)"#;
    session.execute(sql, &[]).unwrap();
    session.execute("INSERT INTO t VALUES (1, 1, 2, 3), (2, 2, 1, 3)", &[]).unwrap();
    drop(session);
    let door = Door::with(Settings::default(), Arc::new(engine));
    let ids = |query: &str| {
        let reply = door.get(&format!("/tables/t/rows?columns=id&order={query}"));
        let rows = reply.ok(200).json()["rows"].as_array().unwrap().clone();
        rows.iter().map(|row| row["id"].as_i64().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(ids("-%22a,b%22,id"), [2, 1]);
    assert_eq!(ids("%22-c%22"), [2, 1]);
    assert_eq!(ids("-%22-c%22"), [1, 2]);
    let all =
        door.get("/tables/t/rows?columns=%22a,b%22,-c,%22say+%22%22x%22%22%22&limit=1").json();
    assert_eq!(all["rows"], json!([{"a,b":1, "-c":2, "say \"x\"":3}]));
    let path = "/tables/t/aggregate?values=sum(%22a,b%22),max(-c)&group=%22say+%22%22x%22%22%22";
    let sums = door.get(path).ok(200).json();
    assert_eq!(sums["rows"][0]["sum_a,b"], 3, "{sums}");
    door.get("/tables/t/rows?columns=%22a,b").is(400, "Syntax");
    door.get("/tables/t/rows?order=%22a%22b%22").is(400, "Syntax");
}
