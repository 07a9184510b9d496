//! Imports, exports, batches and aggregates.

use crate::client::{TestServer, memory, sqlite};
use bobak_http::{Settings, SqlAccess};
use serde_json::{Value, json};
use std::fmt::Write;

const NDJSON: [(&str, &str); 1] = [("content-type", "application/x-ndjson")];
const CSV: [(&str, &str); 1] = [("content-type", "text/csv")];

fn people(count: usize) -> String {
    let mut lines = String::new();
    for number in 0..count {
        writeln!(lines, r#"{{"name":"n{number}","balance":{number}.25,"tags":[{number}]}}"#)
            .unwrap();
    }
    lines
}

/// A server for a table that another program has created.
fn server_with(sql: &str) -> TestServer {
    let engine = sqlite();
    engine.session().unwrap().execute(sql, &[]).unwrap();
    let mut settings = Settings::default();
    settings.sql = SqlAccess::Read;
    TestServer::with(settings, engine)
}

#[test]
fn import_and_export_round_trip() {
    for engine in [sqlite(), memory()] {
        let server = TestServer::with(Settings::default(), engine);
        let report =
            server.ask("POST", "/tables/person/import", &NDJSON, &people(11_000)).ok(200).json();
        assert_eq!((&report["rows"], &report["inserted"]), (&json!(11_000), &json!(11_000)));
        let all = server.get("/tables/person/export").ok(200).text.clone();
        assert_eq!(all.lines().count(), 11_000);
        let csv = server.get("/tables/person/export?format=csv&null=NULL&order=-id");
        assert_eq!(csv.header("content-type"), "text/csv; charset=utf-8; header=present");
        let emptied = server.ask("POST", "/tables/person/import?mode=delete", &NDJSON, &all);
        assert_eq!(emptied.ok(200).json()["changed"], 11_000);
        server.ask("POST", "/tables/person/import?null=NULL&commit=0", &CSV, &csv.text).ok(200);
        assert_eq!(server.get("/tables/person/export").text, all);
        let array = server.ask(
            "GET",
            "/tables/person/export?limit=2",
            &[("accept", "application/json")],
            "",
        );
        assert_eq!(array.json().as_array().unwrap().len(), 2);
    }
}

#[test]
fn invalid_row_stops_import_or_is_skipped() {
    let server = TestServer::open();
    let lines =
        "{\"name\":\"a\"}\n{\"name\":5}\n{oops\n{\"name\":\"b\",\"id\":1}\n{\"name\":\"c\"}";
    let stopped = server.ask("POST", "/tables/person/import", &NDJSON, lines);
    stopped.is(422, "Mismatch");
    assert_eq!((&stopped.json()["row"], &stopped.json()["committed"]), (&json!(1), &json!(0)));
    assert_eq!(server.get("/tables/person/export").text, "");
    let skipped = server.ask("POST", "/tables/person/import?errors=skip&outcomes", &NDJSON, lines);
    let report = skipped.ok(200).json();
    assert_eq!((&report["inserted"], &report["failed"]), (&json!(2), &json!(3)));
    let rows: Vec<_> =
        report["errors"].as_array().unwrap().iter().map(|e| e["row"].clone()).collect();
    assert_eq!(rows, [1, 2, 3]);
    assert_eq!(report["outcomes"][0], json!({"inserted":true,"key":1}));
    assert_eq!(report["outcomes"][3]["error"]["kind"], "Duplicate");
    let early = format!("{}{}", people(2_500), "{\"missing\":1}\n");
    let partly = server.ask("POST", "/tables/person/import?commit=1000", &NDJSON, &early);
    assert_eq!(partly.is(400, "Schema").json()["committed"], 2_000);
}

#[test]
fn csv_header_names_columns() {
    let server = TestServer::open();
    let text = "\u{feff}name,balance,born\r\n\"a \"\"b\"\",\nc\",1.5,\r\nd,,2000-01-01\r\n";
    server.ask("POST", "/tables/person/import", &CSV, text).ok(200);
    let rows = server.get("/tables/person/rows?columns=name,balance,born").json();
    assert_eq!(rows["rows"][0], json!({"name":"a \"b\",\nc","balance":1.5,"born":null}));
    assert_eq!(rows["rows"][1], json!({"name":"d","balance":null,"born":"2000-01-01"}));
    for (text, kind) in [
        ("missing\n1\n", "Schema"),
        ("name,name\na,b\n", "Syntax"),
        ("name,balance\na\n", "Syntax"),
        ("name,balance\na,x\n", "Mismatch"),
        ("name,balance\n\"a,1\n", "Syntax"),
        ("\"name\n", "Syntax"),
    ] {
        let reply = server.ask("POST", "/tables/person/import", &CSV, text);
        assert_eq!(reply.json()["kind"], kind, "{text}: {reply:?}");
        assert_eq!(reply.text.contains("unclosed quote"), text.contains('"'), "{reply:?}");
    }
    for (text, rows) in [("", 0), ("name", 0), ("name\n\"a\n\"", 1), ("name\na\nb\n", 2)] {
        let reply = server.ask("POST", "/tables/person/import", &CSV, text);
        assert_eq!(reply.ok(200).json()["inserted"], rows, "{text}");
    }
}

/// CSV readers skip empty lines, so a single empty field must be quoted.
#[test]
fn empty_single_fields_round_trip_in_csv() {
    let server = server_with("CREATE TABLE word (text TEXT PRIMARY KEY NOT NULL)");
    for text in ["a", "", "b"] {
        server.send("POST", "/tables/word/rows", &format!(r#"{{"text":"{text}"}}"#)).ok(201);
    }
    let csv = server.get("/tables/word/export?format=csv&order=text").ok(200).text.clone();
    assert_eq!(csv, "text\r\n\"\"\r\na\r\nb\r\n");
    let other = server_with("CREATE TABLE word (text TEXT PRIMARY KEY NOT NULL)");
    let kind = [("content-type", "text/csv")];
    let reply = other.ask("POST", "/tables/word/import", &kind, &csv);
    assert_eq!(reply.ok(200).json()["inserted"], 3);
    let nulls = server_with("CREATE TABLE word (id INTEGER PRIMARY KEY, text TEXT)");
    nulls.send("POST", "/tables/word/rows", r#"{"text":null}"#).ok(201);
    let csv = nulls.get("/tables/word/export?format=csv&columns=text").ok(200).text.clone();
    let reply = nulls.ask("POST", "/tables/word/import", &kind, &csv);
    assert_eq!(reply.ok(200).json()["inserted"], 1);
}

/// `""` is the empty text, and nothing is NULL, as `bobak import` and `bobak export` have it.
#[test]
fn empty_texts_and_null_round_trip_in_csv() {
    let table = "CREATE TABLE remark (id INTEGER PRIMARY KEY, a TEXT, b BLOB, n INTEGER)";
    let (server, other) = (server_with(table), server_with(table));
    let rows = ["{\"a\":\"\",\"b\":\"\"}", "{\"a\":null,\"n\":7}", "{\"a\":\"\\\"\",\"b\":null}"];
    server.ask("POST", "/tables/remark/import", &NDJSON, &rows.join("\n")).ok(200);
    let lines = "id,a,b,n\r\n1,\"\",\"\",\r\n2,,,7\r\n3,\"\"\"\",,\r\n";
    assert_eq!(server.get("/tables/remark/export?format=csv").ok(200).text, lines);
    let headers = [("content-type", "application/json"), ("accept", "text/csv")];
    let sql = r#"{"sql":"SELECT * FROM remark"}"#;
    assert_eq!(server.ask("POST", "/sql", &headers, sql).ok(200).text, lines);
    other.ask("POST", "/tables/remark/import", &CSV, lines).ok(200);
    let all = server.get("/tables/remark/export").ok(200).text.clone();
    assert_eq!(other.get("/tables/remark/export").text, all);
    // Columns of numbers have no empty value.
    other.ask("POST", "/tables/remark/import", &CSV, "id,n\n4,\"\"\n").ok(200);
    assert_eq!(other.get("/tables/remark/rows/4").json()["n"], Value::Null);
    // One column alone cannot tell them apart.
    server.get("/tables/remark/export?format=csv&columns=a").is(422, "Mismatch");
}

/// `null` is a JSON document in a column that is NOT NULL, and NULL in a nullable one.
#[test]
fn null_documents_round_trip_or_are_not_exported() {
    let table = |rule: &str| {
        server_with(&format!("CREATE TABLE doc (id INTEGER PRIMARY KEY, doc JSON_TEXT {rule})"))
    };
    let (server, other) = (table("NOT NULL"), table("NOT NULL"));
    let inserted = server.send("POST", "/tables/doc/rows", r#"{"doc":null}"#);
    assert_eq!(inserted.ok(201).json()["doc"], Value::Null);
    server.send("PUT", "/tables/doc/rows/1", &server.get("/tables/doc/rows/1").text).ok(200);
    server.send("PATCH", "/tables/doc/rows/1", r#"{"doc":null}"#).ok(200);
    server.send("POST", "/tables/doc/rows", r#"{"id":2}"#).is(422, "Constraint");
    for (format, kind) in [("ndjson", NDJSON), ("csv", CSV)] {
        let rows = server.get(&format!("/tables/doc/export?format={format}")).ok(200).text.clone();
        let reply = other.ask("POST", "/tables/doc/import?mode=replace", &kind, &rows);
        assert_eq!(reply.ok(200).json()["inserted"], 1, "{rows}");
        assert_eq!(other.get("/tables/doc/export?format=csv").text, "id,doc\r\n1,null\r\n");
    }
    let both = table("");
    both.ask("POST", "/tables/doc/import", &CSV, "id,doc\n1,null\n2,\n").ok(200);
    let rows = both.get("/tables/doc/export?format=csv").ok(200).text.clone();
    assert_eq!(rows, "id,doc\r\n1,null\r\n2,\r\n");
    both.get("/tables/doc/export?filter=id+%3D+2").ok(200);
    both.get("/tables/doc/export").is(422, "Mismatch");
    both.get("/tables/doc/export?lossy").ok(200);
}

#[test]
fn batch_writes_all_tables_or_none() {
    let server = TestServer::open();
    let lines = r#"{"op":"insert","table":"person","row":{"name":"Ada"}}
{"op":"insert","table":"thing","row":{"name":"spade"}}
{"op":"upsert","table":"seat","row":{"row":"a","number":1,"holder":"Ada"}}
{"op":"upsert","table":"seat","row":{"row":"a","number":1,"holder":"Bea"}}
{"op":"update","table":"person","row":{"id":1,"rate":0.5}}
{"op":"ignore","table":"person","row":{"id":1,"name":"x"}}
{"op":"delete","table":"seat","row":{"row":"b","number":1}}
"#;
    let report = server.ask("POST", "/batch?outcomes=true", &NDJSON, lines).ok(200).json();
    let outcomes: Vec<Value> = report["outcomes"].as_array().unwrap().clone();
    assert_eq!(outcomes[0], json!({"inserted":true,"key":1}));
    let thing = server.get("/tables/thing/rows").json();
    assert_eq!(outcomes[1]["key"], thing["rows"][0]["id"]);
    assert_eq!(
        outcomes[3..],
        [json!({"changed":1}), json!({"changed":1}), json!({"ignored":true}), json!({"changed":0})]
    );
    assert_eq!(server.get("/tables/seat/rows/a,1").json()["holder"], "Bea");
    assert_eq!(server.get("/tables/person/rows/1").json()["name"], "Ada");
    for wrong in [
        r#"{"op":"insert","table":"person","row":{"name":null}}"#,
        r#"{"op":"insert","table":"missing","row":{}}"#,
        r#"{"op":"insert","table":"person"}"#,
        r#"{"op":"burn","table":"person","row":{}}"#,
        r#"{"op":"update","table":"note","row":{"id":1,"text":"x"}}"#,
    ] {
        let lines =
            format!("{}\n{wrong}\n", r#"{"op":"insert","table":"person","row":{"name":"gone"}}"#);
        let reply = server.ask("POST", "/batch", &NDJSON, &lines);
        assert!(reply.status >= 400 && reply.json()["row"] == 1, "{reply:?}");
    }
    assert_eq!(server.get("/tables/person/rows").json()["rows"].as_array().unwrap().len(), 1);
}

#[test]
fn aggregates_of_groups() {
    let server = TestServer::open();
    let lines = r#"{"name":"a","balance":0.10,"active":true,"rate":1}
{"name":"b","balance":0.20,"active":true}
{"name":"c","balance":-5,"active":false,"rate":2.5}
"#;
    server.ask("POST", "/tables/person/import", &NDJSON, lines).ok(200);
    let all = server.get("/tables/person/aggregate").ok(200).json();
    assert_eq!(all["rows"], json!([{"count":3}]));
    let values = "values=count,sum(balance),avg(rate),count(rate),max(name)";
    let groups =
        server.get(&format!("/tables/person/aggregate?{values}&group=active&order=-active"));
    assert!(groups.text.contains(r#""sum_balance":0.30"#), "{groups:?}");
    assert_eq!(
        groups.json()["rows"][1],
        json!({"active":false,"count":1,"sum_balance":-5.0,"avg_rate":2.5,"count_rate":1,"max_name":"c"})
    );
    for wrong in [
        "values=sum(name)",
        "values=sum",
        "values=burn(id)",
        "values=sum(missing)",
        "group=missing",
        "group=id,id",
        "values=sum(id),sum(ID)",
        "order=name",
    ] {
        let reply = server.get(&format!("/tables/person/aggregate?{wrong}"));
        assert!(matches!(reply.status, 400 | 501), "{reply:?}");
    }
}

#[test]
fn responses_are_compressed_if_accepted() {
    let server = TestServer::open();
    server.ask("POST", "/tables/person/import", &NDJSON, &people(1_000)).ok(200);
    let plain = server.get("/tables/person/rows?limit=500");
    assert_eq!(plain.header("vary"), "accept-encoding");
    for coding in ["gzip", "zstd"] {
        let headers = [("accept-encoding", coding)];
        for path in ["/tables/person/rows?limit=500", "/tables/person/export"] {
            let reply = server.ask("GET", path, &headers, "");
            assert_eq!(reply.ok(200).header("content-encoding"), coding);
            assert!(reply.text.len() < 40_000, "{path}: {}", reply.text.len());
        }
        let list = server.ask("GET", "/tables/person/rows?limit=500", &headers, "");
        let tag = list.header("etag");
        assert_ne!(tag, plain.header("etag"));
        let again = [("accept-encoding", coding), ("if-none-match", tag)];
        let same = server.ask("GET", "/tables/person/rows?limit=500", &again, "");
        assert_eq!((same.ok(304).header("etag"), same.header("vary")), (tag, "accept-encoding"));
        let same = server.ask("GET", "/tables/person/rows?limit=500", &again[1..], "");
        assert_eq!(same.ok(304).header("etag"), plain.header("etag"));
    }
}
