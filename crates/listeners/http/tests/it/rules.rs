//! A program serves its database: clients write through the rules and hooks of its records.

use crate::client::TestServer;
use bobak::prelude::*;
use bobak_http::Settings;
use bobak_memory::Memory;
use bobak_sqlite::Sqlite;
use serde_json::json;

const NDJSON: [(&str, &str); 1] = [("content-type", "application/x-ndjson")];

#[derive(Record)]
#[record(table = "customer", validate = check)]
struct Customer {
    id: i64,
    #[record(trim, length = 1..=10)]
    name: String,
    #[record(trim, lowercase, email)]
    email: Option<String>,
    #[record(range = 0..=150, default = 0)]
    age: i64,
    greeting: Option<String>,
}

fn check(customer: &Customer, violations: &mut bobak::rules::Violations) {
    if customer.name == customer.email.as_deref().unwrap_or_default() {
        violations.add_to_record("has no name of its own");
    }
}

fn databases() -> [Db; 2] {
    let builder = || {
        Db::builder().record::<Customer>().before_insert(|_, customer: &mut Customer| {
            customer.greeting = Some(format!("Hello {}", customer.name));
            Ok(())
        })
    };
    [builder().open_engine(Memory::new()), builder().open_engine(Sqlite::open_memory().unwrap())]
        .map(|db| {
            let db = db.unwrap();
            db.create_missing_tables().unwrap();
            db
        })
}

#[test]
fn rows_are_normalized_validated_and_hooked() {
    for db in databases() {
        let server = TestServer::with(Settings::default(), db.engine().unwrap());
        let rejected =
            server.send("POST", "/tables/customer/rows", r#"{"name":" ","email":"ada","age":151}"#);
        rejected.is(422, "Invalid");
        assert_eq!(
            rejected.json()["violations"],
            json!([
                {"column": "name", "message": "must have 1 to 10 characters, not 0"},
                {"column": "email", "message": "must be an e-mail address"},
                {"column": "age", "message": "must be at least 0 and at most 150, not 151"},
            ])
        );
        assert_eq!(rejected.json()["table"], "customer");
        let inserted =
            server.send("POST", "/tables/customer/rows", r#"{"name":" Ada ","email":"A@B.ch"}"#);
        inserted.ok(201);
        let stored =
            json!({"id": 1, "name": "Ada", "email": "a@b.ch", "age": 0, "greeting": "Hello Ada"});
        assert_eq!(server.get("/tables/customer/rows/1").json(), stored);
        let patched = server.send("PATCH", "/tables/customer/rows/1", r#"{"email":"Ada"}"#);
        patched.is(422, "Invalid");
        let same = r#"{"name":"a@b.ch"}"#;
        let patched = server.send("PATCH", "/tables/customer/rows/1", same);
        let whole = json!([{"message": "has no name of its own"}]);
        assert_eq!(patched.is(422, "Invalid").json()["violations"], whole);
        assert_eq!(server.get("/tables/customer/rows/1").json(), stored);
    }
}

#[test]
fn imports_report_the_violations_of_each_row() {
    for db in databases() {
        let server = TestServer::with(Settings::default(), db.engine().unwrap());
        let lines = "{\"name\":\" Ada\"}\n{\"name\":\"\",\"age\":-1}\n{\"name\":\"Bob\"}\n";
        let report = server.ask("POST", "/tables/customer/import?errors=skip", &NDJSON, lines);
        let report = report.ok(200).json();
        assert_eq!((&report["inserted"], &report["failed"]), (&json!(2), &json!(1)));
        let error = &report["errors"][0];
        assert_eq!((&error["row"], &error["kind"]), (&json!(1), &json!("Invalid")));
        assert_eq!(error["violations"].as_array().unwrap().len(), 3, "{error}");
        let stopped = server.ask("POST", "/tables/customer/import", &NDJSON, lines);
        assert_eq!(stopped.is(422, "Invalid").json()["row"], 1);
    }
}
