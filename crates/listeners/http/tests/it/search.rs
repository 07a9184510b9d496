//! Full-text search of lists, exports and aggregates.

use crate::client::TestServer;
use crate::openapi_client::{Checker, operations};
use bobak_core::search::SearchLanguage;
use bobak_core::{ColumnSchema, Engine, OnDelete, SchemaChange, TableSchema};
use bobak_http::Settings;
use bobak_memory::Memory;
use bobak_sqlite::Sqlite;
use serde_json::{Value, json};
use std::sync::Arc;

fn tables() -> [TableSchema; 2] {
    let author = TableSchema::builder("author")
        .column(ColumnSchema::of::<i64>("id"))
        .column(ColumnSchema::of::<String>("name"))
        .key(["id"]);
    let article = TableSchema::builder("article")
        .column(ColumnSchema::of::<i64>("id"))
        .column(ColumnSchema::of::<String>("rank"))
        .column(ColumnSchema::of::<String>("title"))
        .column(ColumnSchema::of::<Option<String>>("body"))
        .column(ColumnSchema::of::<i64>("author_id").references("author", "id", OnDelete::Restrict))
        .key(["id"])
        .search(["title", "body"], SearchLanguage::English);
    [author.build().unwrap(), article.build().unwrap()]
}

fn server(engine: Arc<dyn Engine>) -> TestServer {
    let made = tables().map(|table| SchemaChange::CreateTable(Arc::new(table)));
    engine.alter(&made).unwrap();
    let server = TestServer::with(Settings::default(), engine);
    server.send("POST", "/tables/author/rows", r#"{"id":1,"name":"Ada"}"#).ok(201);
    for (id, title, body) in [
        (1, "Wolves", json!("They howl. A fox does not.")),
        (2, "Foxes", json!("The quick \"brown\" fox <b>jumps</b> over the lazy dog.")),
        (3, "Dogs", Value::Null),
        (4, "Lazy", json!("no animal")),
    ] {
        let row = json!({"id": id, "rank": "a", "title": title, "body": body, "author_id": 1});
        server.send("POST", "/tables/article/rows", &row.to_string()).ok(201);
    }
    server
}

fn each(test: impl Fn(&TestServer)) {
    test(&server(Arc::new(Memory::new())));
    test(&server(Arc::new(Sqlite::open_memory().unwrap())));
}

fn ids(list: &Value) -> Vec<i64> {
    list["rows"].as_array().unwrap().iter().map(|row| row["id"].as_i64().unwrap()).collect()
}

#[test]
fn lists_are_searched_ranked_filtered_and_paged() {
    each(|server| {
        let list =
            |query: &str| server.get(&format!("/tables/article/rows?{query}")).ok(200).json();
        assert_eq!(ids(&list("search=fox")), [2, 1]);
        assert_eq!(ids(&list("search=fox&order=id")), [1, 2]);
        assert_eq!(ids(&list("search=fox&filter=id%3E1")), [2]);
        assert_eq!(ids(&list("search=%22lazy+dog%22+OR+jump*")), [2]);
        assert_eq!(ids(&list("search=lazy+NOT+dog")), [4]);
        assert_eq!(ids(&list("search=fox&filter=author.name='Ada'&expand=author")), [2, 1]);
        let page = list("search=fox&limit=1&total");
        assert_eq!((ids(&page), &page["more"], &page["total"]), (vec![2], &json!(true), &json!(2)));
        assert_eq!(page.get("next"), None);
        assert_eq!(ids(&list("search=fox&limit=1&offset=1")), [1]);
    });
}

#[test]
fn snippets_have_ranks_and_parts_of_the_texts() {
    each(|server| {
        let path = "/tables/article/rows?search=quick+jump*+dog&snippets&columns=id,rank";
        for (more, row) in [
            ("", json!({"id": 2, "rank": "a"})),
            (
                "&expand=author&author.columns=name",
                json!({"id": 2, "rank": "a", "author": {"name": "Ada"}}),
            ),
        ] {
            let list = server.get(&format!("{path}{more}")).ok(200).json();
            assert_eq!(list["rows"], json!([row]));
            let found = &list["found"][0];
            assert!(found["rank"].as_f64().unwrap() > 0.0, "{list}");
            let snippet = json!([
                {"text": "The "}, {"text": "quick", "found": true}, {"text": " \"brown\" fox <b>"},
                {"text": "jumps", "found": true}, {"text": "</b> over the lazy "},
                {"text": "dog", "found": true}, {"text": "."},
            ]);
            assert_eq!(found["snippet"], snippet);
            assert_eq!(list["found"].as_array().unwrap().len(), 1);
        }
        let page = server.get("/tables/article/rows?search=fox&snippets&limit=1").json();
        assert_eq!(page["found"].as_array().unwrap().len(), 1);
        let none = server.get("/tables/article/rows?search=nothing&snippets").ok(200).json();
        assert_eq!(none, json!({"rows": [], "found": [], "more": false}));
    });
}

#[test]
fn aggregates_and_exports_are_searched() {
    each(|server| {
        let count = server.get("/tables/article/aggregate?search=lazy").ok(200).json();
        assert_eq!(count["rows"], json!([{"count": 2}]));
        let groups = "/tables/article/aggregate?search=lazy+dog&values=count,max(id)&group=rank";
        let groups = server.get(groups).ok(200).json();
        assert_eq!(groups["rows"], json!([{"rank": "a", "count": 1, "max_id": 2}]));
        let export = server.get("/tables/article/export?search=fox&columns=id");
        assert_eq!(export.ok(200).text, "{\"id\":2}\n{\"id\":1}\n");
    });
}

#[test]
fn wrong_searches_are_rejected() {
    each(|server| {
        for (query, kind) in [
            ("search=", "Syntax"),
            ("search=(fox", "Syntax"),
            ("search=NOT+fox", "Syntax"),
            ("search=(fox&snippets", "Syntax"),
            ("search=fox&after=1", "Syntax"),
            ("snippets", "Syntax"),
        ] {
            server.get(&format!("/tables/article/rows?{query}")).is(400, kind);
        }
        server.get("/tables/author/rows?search=ada").is(400, "Schema");
        server.get("/tables/author/aggregate?search=ada").is(400, "Schema");
        let error = server.get("/tables/article/rows?search=(fox").json();
        assert_eq!(error["detail"], "the search cannot be read: a parenthesis is not closed");
        let bulk = server.ask("DELETE", "/tables/article/rows?search=fox&filter=id%3E0", &[], "");
        assert_eq!(bulk.status, 400);
    });
}

#[test]
fn descriptions_say_what_is_searched() {
    each(|server| {
        let search = json!({"columns": ["title", "body"], "language": "english"});
        assert_eq!(server.get("/tables/article").ok(200).json()["search"], search);
        assert_eq!(server.get("/tables/author").ok(200).json().get("search"), None);
        let document = server.get("/openapi.json").ok(200).json();
        let has = |path: &str, name: &str| {
            let parameters = document["paths"][path]["get"]["parameters"].as_array().unwrap();
            parameters.iter().any(|one| one["name"] == name)
        };
        assert!(has("/tables/article/rows", "search") && has("/tables/article/rows", "snippets"));
        assert!(has("/tables/article/export", "search"));
        assert!(
            !has("/tables/article/export", "snippets") && !has("/tables/author/rows", "search")
        );
        let checker = Checker::new(&document);
        assert!(operations(&document).map(|one| checker.check_examples(&one)).sum::<usize>() > 20);
        let list = &document["components"]["schemas"]["article.list"]["properties"];
        assert!(list["found"].is_object());
    });
}

#[test]
fn tools_of_language_models_search() {
    each(|server| {
        let call = |tool: &str, mut arguments: Value| {
            arguments["table"] = "article".into();
            let params = json!({"name": tool, "arguments": arguments});
            let message =
                json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
            let result = server.send("POST", "/mcp", &message.to_string()).ok(200).json();
            let text = result["result"]["content"][0]["text"].as_str().unwrap().to_owned();
            serde_json::from_str::<Value>(&text).unwrap()
        };
        assert_eq!(ids(&call("query_rows", json!({"search": "fox"}))), [2, 1]);
        assert_eq!(ids(&call("query_rows", json!({"search": "fox", "filter": "id < 2"}))), [1]);
        assert_eq!(ids(&call("query_rows", json!({"search": "fox", "offset": 1}))), [1]);
        let count = call("aggregate_rows", json!({"search": "fox OR dog", "values": "count"}));
        assert_eq!(count["rows"][0]["count"], 3, "{count}");
        let unreadable = call("query_rows", json!({"search": "(fox"}));
        assert_eq!(unreadable["kind"], "Syntax", "{unreadable}");
    });
}
