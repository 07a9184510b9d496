//! Schema changes while the server runs: the next request sees them, made by any program.

use crate::client::{TestServer, sqlite};
use crate::connections::settings;
use bobak_core::Engine;
use bobak_http::{HttpServer, SqlAccess};
use bobak_permissions::{Access, new_token};
use serde_json::json;
use std::sync::Arc;

/// A server, with the client authenticated as the operator or as a user with all permissions.
fn server(by_operator: bool) -> (Arc<dyn Engine>, TestServer) {
    let engine = sqlite();
    let settings = settings(|settings| settings.sql = SqlAccess::Write);
    let (token, hash) = new_token().unwrap();
    let access = format!("role all\n    all on *\ntoken ada {hash} roles all\n");
    let builder = HttpServer::builder().access(Access::from_text(&access).unwrap());
    let mut server =
        TestServer::of(builder.settings(settings).shared_database("main", Arc::clone(&engine)));
    if !by_operator {
        server.headers = vec![("authorization".to_owned(), format!("Bearer {token}"))];
    }
    (engine, server)
}

#[test]
fn schema_changes_of_other_programs_are_seen_at_once() {
    for by_operator in [true, false] {
        check_other_program(server(by_operator));
    }
}

fn check_other_program((engine, server): (Arc<dyn Engine>, TestServer)) {
    let run = |sql: &str| engine.session().unwrap().execute(sql, &[]).unwrap();
    server.send("POST", "/tables/seat/rows", r#"{"row":"a","number":1,"holder":"x"}"#).ok(201);
    run("ALTER TABLE seat ADD COLUMN extra TEXT");
    assert_eq!(server.get("/tables/seat/rows?filter=extra+is+null").ok(200).json()["more"], false);
    run("ALTER TABLE seat ADD COLUMN third TEXT");
    server.send("PATCH", "/tables/seat/rows/a,1", r#"{"third":"y"}"#).ok(200);
    run("ALTER TABLE seat ADD COLUMN fourth TEXT");
    server.send("POST", "/tables/seat/rows", r#"{"row":"b","number":1,"fourth":"z"}"#).ok(201);
    for column in ["third", "extra", "fourth"] {
        run(&format!("ALTER TABLE seat DROP COLUMN {column}"));
        let row = server.get("/tables/seat/rows/a,1").ok(200).json();
        assert!(row["holder"] == "x" && row[column].is_null(), "{row}");
    }
    server.send("PATCH", "/tables/seat/rows/a,1", r#"{"extra":"y"}"#).is(400, "Schema");
    for path in ["/rows", "/rows/a,1", "/export", "/aggregate"] {
        run(
            "CREATE TABLE IF NOT EXISTS late (row TEXT, number INTEGER, PRIMARY KEY (row, number))",
        );
        server.get("/tables/late/rows").ok(200);
        run("DROP TABLE late");
        server.get(&format!("/tables/late{path}")).is(404, "NotFound");
    }
}

#[test]
fn schema_changes_by_sql_are_seen_at_once() {
    let (_, server) = server(true);
    let sql = |sql: &str| {
        server.send("POST", "/sql", &json!({ "sql": sql }).to_string()).ok(200);
    };
    server.get("/tables/late/rows").is(404, "NotFound");
    sql("CREATE TABLE late (id INTEGER PRIMARY KEY, a TEXT)");
    server.send("POST", "/tables/late/rows", r#"{"a":"x"}"#).ok(201);
    sql("ALTER TABLE late RENAME COLUMN a TO b");
    assert_eq!(server.get("/tables/late/rows/1").ok(200).json(), json!({"id":1, "b":"x"}));
    sql("ALTER TABLE late ADD COLUMN c INTEGER");
    let row = server.get("/tables/late/rows/1").ok(200).json();
    assert_eq!(
        row,
        json!({"id":1, "b":"x", "c":null}),
        "the new column is visible without an error first"
    );
    sql("DROP TABLE late");
    server.get("/tables/late/rows").is(404, "NotFound");
}
