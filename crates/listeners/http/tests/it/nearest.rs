//! Vectors in rows, and lists of the nearest rows.

use crate::client::TestServer;
use crate::openapi_client::{Checker, operations};
use bobak_core::{ColumnSchema, Engine, SchemaChange, TableSchema, Vector};
use bobak_http::Settings;
use bobak_memory::Memory;
use bobak_sqlite::Sqlite;
use serde_json::{Value, json};
use std::sync::Arc;

fn server(engine: Arc<dyn Engine>) -> TestServer {
    let table = TableSchema::builder("document")
        .column(ColumnSchema::of::<i64>("id"))
        .column(ColumnSchema::of::<String>("language"))
        .column(ColumnSchema::of::<Option<Vector<2>>>("embedding"))
        .key(["id"]);
    engine.alter(&[SchemaChange::CreateTable(Arc::new(table.build().unwrap()))]).unwrap();
    let server = TestServer::with(Settings::default(), engine);
    for (id, language, embedding) in [
        (1, "en", json!([1, 0])),
        (2, "fr", json!([0.1, 2.5])),
        (3, "en", json!([-1.0, 1e-3])),
        (4, "en", Value::Null),
    ] {
        let row = json!({"id": id, "language": language, "embedding": embedding});
        server.send("POST", "/tables/document/rows", &row.to_string()).ok(201);
    }
    server
}

fn each(test: impl Fn(&TestServer)) {
    test(&server(Arc::new(Memory::new())));
    test(&server(Arc::new(Sqlite::open_memory().unwrap())));
}

#[test]
fn vectors_are_arrays_of_numbers() {
    each(|server| {
        let row = server.get("/tables/document/rows/2").ok(200).text.clone();
        assert!(row.contains(r#""embedding":[0.1,2.5]"#), "{row}");
        let document = server.get("/tables/document").ok(200).json();
        let column = &document["columns"].as_array().unwrap()[2];
        assert_eq!(column["type"], "vector(2)", "{document}");
        for (embedding, kind) in [
            (json!([1]), "Mismatch"),
            (json!([1, 2, 3]), "Mismatch"),
            (json!([1, 1e39]), "OutOfRange"),
            (json!("[1]"), "Mismatch"),
            (json!(1), "Mismatch"),
            (json!({}), "Mismatch"),
        ] {
            let row = json!({"id": 9, "language": "en", "embedding": embedding});
            server.send("POST", "/tables/document/rows", &row.to_string()).is(422, kind);
        }
    });
}

#[test]
fn the_nearest_rows_come_with_their_distances() {
    each(|server| {
        let list = |query: &str| {
            server.get(&format!("/tables/document/rows?columns=id&{query}")).ok(200).json()
        };
        let found = list("nearest=embedding&to=[2,0]&metric=euclidean");
        assert_eq!(found["rows"], json!([{"id": 1}, {"id": 3}, {"id": 2}]));
        assert_eq!(found["distances"][0], json!(1));
        assert_eq!(found["distances"].as_array().unwrap().len(), 3);
        let found = list("nearest=embedding&to=[2,0]&limit=1&offset=1&total&filter=language='en'");
        assert_eq!(found["rows"], json!([{"id": 3}]));
        assert_eq!((&found["more"], &found["total"]), (&json!(false), &json!(3)));
        let found = list("nearest=embedding&to=[0,1]&metric=dot&limit=2");
        assert_eq!((&found["more"], found.get("next")), (&json!(true), None));
        assert_eq!(found["distances"], json!([-2.5, -0.0010000000474974513]));
        let export = server.get("/tables/document/export?nearest=embedding&to=[0,1]&columns=id");
        assert_eq!(export.ok(200).text, "{\"id\":2}\n{\"id\":3}\n{\"id\":1}\n");
    });
}

#[test]
fn wrong_vectors_are_rejected() {
    each(|server| {
        for (query, status, kind) in [
            ("nearest=embedding", 400, "Syntax"),
            ("to=[1,2]", 400, "Syntax"),
            ("metric=dot", 400, "Syntax"),
            ("nearest=embedding&to=[1,2]&metric=cos", 400, "Syntax"),
            ("nearest=embedding&to=[1,2", 400, "Syntax"),
            ("nearest=embedding&to=[1,NaN]", 400, "Syntax"),
            ("nearest=embedding&to=[1]", 400, "Mismatch"),
            ("nearest=embedding&to=[0,0]", 400, "OutOfRange"),
            ("nearest=id&to=[1,2]", 400, "Mismatch"),
            ("nearest=embedding&to=[1,2]&after=1", 400, "Syntax"),
            ("nearest=embedding&to=[1,2]&order=id", 501, "Unsupported"),
        ] {
            server.get(&format!("/tables/document/rows?{query}")).is(status, kind);
        }
    });
}

#[test]
fn descriptions_have_the_parameters_and_the_distances() {
    each(|server| {
        let document = server.get("/openapi.json").ok(200).json();
        let parameters = &document["paths"]["/tables/document/rows"]["get"]["parameters"];
        let names: Vec<&str> =
            parameters.as_array().unwrap().iter().filter_map(|one| one["name"].as_str()).collect();
        assert!(["nearest", "to", "metric"].iter().all(|name| names.contains(name)), "{names:?}");
        let schemas = &document["components"]["schemas"];
        assert!(schemas["document.list"]["properties"]["distances"].is_object());
        assert!(document.to_string().contains(r#""minItems":2"#), "{document}");
        let checker = Checker::new(&document);
        assert!(operations(&document).map(|one| checker.check_examples(&one)).sum::<usize>() > 10);
    });
}

#[test]
fn a_language_model_finds_the_nearest_rows() {
    each(|server| {
        let call = |arguments: Value| {
            let params = json!({"name": "query_rows", "arguments": arguments});
            let message =
                json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
            let result = server.send("POST", "/mcp", &message.to_string()).ok(200).json();
            let result = &result["result"];
            let text = result["content"][0]["text"].as_str().unwrap_or_default();
            let text: Value = serde_json::from_str(text).unwrap_or_default();
            (text, result["isError"].clone())
        };
        let columns = json!(["id"]);
        let (found, is_error) = call(json!({
            "table": "document", "nearest": "embedding", "to": [2, 0], "metric": "euclidean",
            "filter": "language = 'en'", "columns": columns, "limit": 2,
        }));
        assert_eq!((is_error, &found["rows"]), (json!(false), &json!([{"id": 1}, {"id": 3}])));
        assert_eq!(found["distances"][0], json!(1));
        let to = json!({"table": "document", "nearest": "embedding", "to": [0.0, 1e0], "columns": columns});
        assert_eq!(call(to).0["rows"], json!([{"id": 2}, {"id": 3}, {"id": 1}]));
        for (to, kind) in [(json!([1]), "Mismatch"), (json!([0, 0]), "OutOfRange")] {
            let wrong = json!({"table": "document", "nearest": "embedding", "to": to});
            let (error, is_error) = call(wrong);
            assert_eq!((is_error, &error["kind"]), (json!(true), &json!(kind)), "{error}");
        }
        let alone = json!({"table": "document", "nearest": "embedding"});
        assert_eq!(call(alone).1, json!(true));
    });
}
