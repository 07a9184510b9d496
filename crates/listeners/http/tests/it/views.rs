//! Views: listed, read, and not written.

use crate::client::{TestServer, sqlite};
use bobak_http::Settings;
use serde_json::json;

#[test]
fn views_are_read_and_not_written() {
    let engine = sqlite();
    let session = engine.session().unwrap();
    session.execute("CREATE VIEW named AS SELECT name, balance FROM person", &[]).unwrap();
    drop(session);
    let mut server = TestServer::with(Settings::default(), engine);
    for name in ["Ada", "Bob"] {
        let row = json!({"name": name, "balance": 12.5}).to_string();
        server.send("POST", "/tables/person/rows", &row).ok(201);
    }
    let described = server.get("/tables/named").ok(200).json();
    assert_eq!((&described["view"], &described["key"]), (&json!(true), &json!([])));
    let listed = server.get("/tables/named/rows?order=-name&limit=1").ok(200).json();
    assert_eq!(listed, json!({"rows": [{"name": "Bob", "balance": 12.5}], "more": true}));
    // Without a key there is no next page but by an offset.
    assert_eq!(server.get("/tables/named/rows?limit=1").ok(200).json().get("next"), None);
    let filtered =
        server.get("/tables/named/rows?filter=name%20=%20'Ada'&total=true").ok(200).json();
    assert_eq!(filtered["total"], 1);
    let exported = server.get("/tables/named/export?format=csv&order=name");
    assert_eq!(exported.ok(200).text, "name,balance\r\nAda,12.50\r\nBob,12.50\r\n");
    server.get("/tables/named/rows/1").ok(400);
    let written = server.send("POST", "/tables/named/rows", r#"{"name":"Eve"}"#);
    assert_eq!(written.json()["kind"], "Unsupported", "{written:?}");
    for method in ["POST", "PATCH", "DELETE"] {
        let rejected = server.ask(method, "/tables/named/rows?limit=1", &[], "");
        assert_eq!(rejected.ok(405).header("allow"), "GET, HEAD, OPTIONS");
    }
    let document = server.get("/openapi.json").ok(200).json();
    let paths = document["paths"].as_object().unwrap();
    assert!(paths["/tables/named/rows"].get("get").is_some());
    assert!(paths["/tables/named/rows"].get("post").is_none());
    assert!(!paths.contains_key("/tables/named/rows/{key}"));
    let methods = |server: &TestServer, table: &str| {
        let reply = server.ask("OPTIONS", &format!("/tables/{table}/rows"), &[], "");
        reply.ok(204).header("allow").to_owned()
    };
    assert_eq!(methods(&server, "named"), "GET, HEAD, OPTIONS");
    assert!(methods(&server, "person").contains("PATCH"));
    // A browser asks without a token, and does not learn what is a view.
    server.headers.clear();
    assert_eq!(methods(&server, "named"), methods(&server, "person"));
}
