//! Relations by foreign keys of several columns: in responses, nested, in both directions and through a link table.

use crate::client::TestServer;
use bobak_core::{ColumnSchema, Engine, ForeignKey, OnDelete, SchemaChange, TableSchema};
use bobak_http::Settings;
use bobak_memory::Memory;
use bobak_sqlite::Sqlite;
use serde_json::{Value, json};
use std::sync::Arc;

/// Shelves by shop and number, boxes on them, and labels of shelves through a link table.
fn tables() -> [TableSchema; 4] {
    let shop = || ColumnSchema::of::<String>("shop");
    let number = |name: &'static str| ColumnSchema::of::<i64>(name);
    let to_shelf = || ForeignKey::new("shelf", ["shop", "number"], OnDelete::Cascade);
    let shelf = TableSchema::builder("shelf")
        .column(shop())
        .column(number("number"))
        .column(ColumnSchema::of::<String>("room"))
        .key(["shop", "number"]);
    let crates = TableSchema::builder("crate")
        .column(number("id"))
        .column(ColumnSchema::of::<Option<String>>("shop"))
        .column(ColumnSchema::of::<Option<i64>>("shelf_number"))
        .foreign_key(["shop", "shelf_number"], to_shelf())
        .key(["id"]);
    let label = TableSchema::builder("label").column(number("id")).key(["id"]);
    let shelf_label = TableSchema::builder("shelf_label")
        .column(shop())
        .column(number("number"))
        .column(number("label_id").references("label", "id", OnDelete::Cascade))
        .foreign_key(["shop", "number"], to_shelf())
        .key(["shop", "number", "label_id"]);
    [shelf, crates, label, shelf_label].map(|table| table.build().unwrap())
}

fn server(engine: impl Engine + 'static) -> TestServer {
    let create = |table| SchemaChange::CreateTable(Arc::new(table));
    engine.alter(&tables().map(create)).unwrap();
    let server = TestServer::with(Settings::default(), Arc::new(engine) as Arc<dyn Engine>);
    let rows = [
        ("shelf", json!({"shop": "Bern", "number": 1, "room": "cellar"})),
        ("shelf", json!({"shop": "Bern", "number": 2, "room": "attic"})),
        ("shelf", json!({"shop": "Chur", "number": 1, "room": "office"})),
        ("crate", json!({"id": 10, "shop": "Bern", "shelf_number": 1})),
        ("crate", json!({"id": 11, "shop": "Chur", "shelf_number": 1})),
        ("crate", json!({"id": 12, "shop": "Bern", "shelf_number": 2})),
        ("crate", json!({"id": 13, "shop": "Bern", "shelf_number": 1})),
        ("crate", json!({"id": 14, "shop": "Bern"})),
        ("label", json!({"id": 7})),
        ("label", json!({"id": 8})),
        ("shelf_label", json!({"shop": "Bern", "number": 1, "label_id": 8})),
        ("shelf_label", json!({"shop": "Chur", "number": 1, "label_id": 7})),
        ("shelf_label", json!({"shop": "Chur", "number": 1, "label_id": 8})),
    ];
    for (table, row) in rows {
        server.send("POST", &format!("/tables/{table}/rows"), &row.to_string()).ok(201);
    }
    server
}

fn servers() -> [TestServer; 2] {
    [server(Sqlite::open_memory().unwrap()), server(Memory::new())]
}

fn rows(server: &TestServer, path: &str) -> Value {
    server.get(&format!("/tables/{path}")).ok(200).json()["rows"].take()
}

#[test]
fn a_reference_of_two_columns_is_an_object() {
    for server in servers() {
        let list = rows(&server, "crate/rows?columns=id&expand=shelf&shelf.columns=room");
        let expected = json!([
            {"id": 10, "shelf": {"room": "cellar"}},
            {"id": 11, "shelf": {"room": "office"}},
            {"id": 12, "shelf": {"room": "attic"}},
            {"id": 13, "shelf": {"room": "cellar"}},
            {"id": 14, "shelf": null},
        ]);
        assert_eq!(list, expected);
        let long = rows(&server, "crate/rows?columns=id&limit=1&expand=shop_shelf_number_ref");
        assert_eq!(long[0]["shop_shelf_number_ref"]["room"], "cellar");
    }
}

#[test]
fn the_other_direction_and_link_tables_are_lists_nested_and_limited() {
    for server in servers() {
        let list = rows(
            &server,
            "shelf/rows?columns=room&expand=crate.shelf,label&crate.columns=id&crate.shelf.columns=room\
             &crate.order=-id&crate.limit=1&label.columns=id",
        );
        let expected = json!([
            {"room": "cellar", "crate": [{"id": 13, "shelf": {"room": "cellar"}}], "label": [{"id": 8}]},
            {"room": "attic", "crate": [{"id": 12, "shelf": {"room": "attic"}}], "label": []},
            {"room": "office", "crate": [{"id": 11, "shelf": {"room": "office"}}],
             "label": [{"id": 7}, {"id": 8}]},
        ]);
        assert_eq!(list, expected);
        let one = server.get("/tables/shelf/rows/Chur,1?expand=crate&crate.limit=5").ok(200).json();
        assert_eq!(one["crate"].as_array().unwrap().len(), 1);
        let label = rows(&server, "label/rows?expand=shelf&shelf.columns=shop");
        assert_eq!(label[1]["shelf"], json!([{"shop": "Bern"}, {"shop": "Chur"}]));
    }
}

#[test]
fn filters_through_them_are_rejected_with_what_to_do() {
    for server in servers() {
        for path in ["crate/rows?filter=shelf.room='attic'", "shelf/rows?filter=crate.id=10"] {
            let problem = server.get(&format!("/tables/{path}")).ok(400).json();
            let detail = problem["detail"].as_str().unwrap();
            assert!(detail.contains("foreign keys of one column"), "{detail}");
        }
        let unknown = server.get("/tables/crate/rows?filter=shelves.room='attic'").ok(400).json();
        assert!(!unknown["detail"].as_str().unwrap().contains("one column"), "{unknown}");
    }
}

#[test]
fn tables_say_what_a_delete_does_to_rows_that_refer() {
    for server in servers() {
        let link = server.get("/tables/shelf_label").ok(200).json();
        let shelf =
            json!({"table": "shelf", "columns": ["shop", "number"], "on_delete": "cascade"});
        assert_eq!(link["foreign_keys"][0]["references"], shelf);
        let label = json!({"table": "label", "column": "id", "on_delete": "cascade"});
        assert_eq!(link["columns"][2]["references"], label);
    }
}

#[test]
fn the_document_names_them() {
    let server = server(Memory::new());
    let document = server.get("/openapi.json").ok(200).json().to_string();
    assert!(document.contains("shop_shelf_number_ref"), "{document}");
    crate::openapi_client::call_all(&server);
}
