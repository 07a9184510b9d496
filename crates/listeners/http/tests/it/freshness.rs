//! Tables that change while they are used: whoever changes them, the next request sees them as they
//! are.

use crate::client::{Door, sqlite};
use crate::doors::settings;
use bobak_core::Engine;
use bobak_http::{HttpServer, SqlAccess};
use bobak_permissions::{Access, new_token};
use serde_json::json;
use std::sync::Arc;

/// A door, asked by the operator or by somebody else who may do everything.
fn door(by_operator: bool) -> (Arc<dyn Engine>, Door) {
    let engine = sqlite();
    let settings = settings(|settings| settings.sql = SqlAccess::Write);
    let (token, hash) = new_token().unwrap();
    let access = format!("role all\n    all on *\ntoken ada {hash} roles all\n");
    let builder = HttpServer::builder().access(Access::from_text(&access).unwrap());
    let mut door =
        Door::of(builder.settings(settings).shared_database("main", Arc::clone(&engine)));
    if !by_operator {
        door.headers = vec![("authorization".to_owned(), format!("Bearer {token}"))];
    }
    (engine, door)
}

#[test]
fn what_another_program_changes_is_seen_at_once() {
    for by_operator in [true, false] {
        another_program_changes(door(by_operator));
    }
}

fn another_program_changes((engine, door): (Arc<dyn Engine>, Door)) {
    let run = |sql: &str| engine.session().unwrap().execute(sql, &[]).unwrap();
    door.send("POST", "/tables/seat/rows", r#"{"row":"a","number":1,"guest":"x"}"#).ok(201);
    run("ALTER TABLE seat ADD COLUMN extra TEXT");
    assert_eq!(door.get("/tables/seat/rows?filter=extra+is+null").ok(200).json()["more"], false);
    run("ALTER TABLE seat ADD COLUMN third TEXT");
    door.send("PATCH", "/tables/seat/rows/a,1", r#"{"third":"y"}"#).ok(200);
    run("ALTER TABLE seat ADD COLUMN fourth TEXT");
    door.send("POST", "/tables/seat/rows", r#"{"row":"b","number":1,"fourth":"z"}"#).ok(201);
    for column in ["third", "extra", "fourth"] {
        run(&format!("ALTER TABLE seat DROP COLUMN {column}"));
        let row = door.get("/tables/seat/rows/a,1").ok(200).json();
        assert!(row["guest"] == "x" && row[column].is_null(), "{row}");
    }
    door.send("PATCH", "/tables/seat/rows/a,1", r#"{"extra":"y"}"#).is(400, "Schema");
    for path in ["/rows", "/rows/a,1", "/export", "/aggregate"] {
        run(
            "CREATE TABLE IF NOT EXISTS late (row TEXT, number INTEGER, PRIMARY KEY (row, number))",
        );
        door.get("/tables/late/rows").ok(200);
        run("DROP TABLE late");
        door.get(&format!("/tables/late{path}")).is(404, "NotFound");
    }
}

#[test]
fn what_is_changed_by_sql_is_seen_at_once() {
    let (_, door) = door(true);
    let sql = |sql: &str| {
        door.send("POST", "/sql", &json!({ "sql": sql }).to_string()).ok(200);
    };
    door.get("/tables/late/rows").is(404, "NotFound");
    sql("CREATE TABLE late (id INTEGER PRIMARY KEY, a TEXT)");
    door.send("POST", "/tables/late/rows", r#"{"a":"x"}"#).ok(201);
    sql("ALTER TABLE late RENAME COLUMN a TO b");
    assert_eq!(door.get("/tables/late/rows/1").ok(200).json(), json!({"id":1, "b":"x"}));
    sql("ALTER TABLE late ADD COLUMN c INTEGER");
    let row = door.get("/tables/late/rows/1").ok(200).json();
    assert_eq!(row, json!({"id":1, "b":"x", "c":null}), "no error has told that it is there");
    sql("DROP TABLE late");
    door.get("/tables/late/rows").is(404, "NotFound");
}
