//! A program serves its database: clients write through the rules and hooks of its records.

use crate::client::TestServer;
use bobak::prelude::*;
use bobak_http::Settings;
use bobak_memory::Memory;
use bobak_sqlite::Sqlite;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
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

#[derive(Record)]
#[record(table = "offer")]
struct Offer {
    id: i64,
    #[record(max = 8, length = 2.., validate = known)]
    code: String,
    #[record(range = Currency::ZERO..)]
    price: Currency,
    #[record(range = 0.5..1.0)]
    share: Option<f64>,
    #[record(normalize = padded, length = ..=3)]
    padded: Option<String>,
}

fn known(code: &str) -> Result<(), &'static str> {
    if code == "xx" { Err("is unknown") } else { Ok(()) }
}

fn padded(text: String) -> String {
    text.chars().take(3).collect()
}

#[test]
fn the_openapi_document_has_the_rules_of_written_rows() {
    let builder = || Db::builder().record::<Customer>().record::<Offer>();
    for db in [
        builder().open_engine(Memory::new()).unwrap(),
        builder().open_engine(Sqlite::open_memory().unwrap()).unwrap(),
    ] {
        db.create_missing_tables().unwrap();
        let server = TestServer::with(Settings::default(), db.engine().unwrap());
        let document = server.get("/openapi.json").ok(200).json();
        let of = |schema: &str, column: &str| {
            let mut column =
                document["components"]["schemas"][schema]["properties"][column].clone();
            let members = column.as_object_mut().unwrap();
            members.retain(|name, _| name != "type" && name != "default" && name != "format");
            column
        };
        for schema in ["customer.new", "customer.patch", "customer.changes"] {
            assert_eq!(of(schema, "name"), json!({"minLength": 1, "maxLength": 10}), "{schema}");
            let age = of(schema, "age");
            assert_eq!((&age["minimum"], &age["maximum"]), (&json!(0), &json!(150)), "{schema}");
        }
        assert_eq!(of("offer.new", "code"), json!({"minLength": 2, "maxLength": 8}));
        assert_eq!(of("offer.new", "price")["minimum"].as_f64(), Some(0.0));
        assert_eq!(of("offer.new", "share")["minimum"], json!(0.5));
        assert_eq!(of("offer.new", "share")["exclusiveMaximum"].as_f64(), Some(1.0));
        assert!(of("offer.new", "padded").get("maxLength").is_none());
        let email = &document["components"]["schemas"]["customer.new"]["properties"]["email"];
        assert_eq!(email["format"], json!("email"));
        // Other programs may have stored other rows.
        assert!(of("customer", "age").get("maximum").is_none());
        assert!(of("customer", "name").get("minLength").is_none());
    }
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

#[derive(Record)]
#[record(table = "memo")]
struct Memo {
    id: i64,
    #[record(references = Customer, index)]
    customer_id: i64,
    text: String,
    #[record(deleted_at)]
    deleted_at: Option<Timestamp>,
}

#[test]
fn deleted_rows_are_hidden_until_they_are_restored() {
    for engine in [
        Box::new(Memory::new()) as Box<dyn bobak::engine::Engine>,
        Box::new(Sqlite::open_memory().unwrap()),
    ] {
        let db = Db::builder().record::<Customer>().record::<Memo>().open_engine(Passed(engine));
        let db = db.unwrap();
        db.create_missing_tables().unwrap();
        let server = TestServer::with(Settings::default(), db.engine().unwrap());
        server.send("POST", "/tables/customer/rows", r#"{"name":"Ada"}"#).ok(201);
        for text in ["milk", "bread"] {
            let memo =
                json!({"customer_id": 1, "text": text, "deleted_at": "2020-01-01T00:00:00Z"});
            let stored = server.send("POST", "/tables/memo/rows", &memo.to_string());
            assert_eq!(stored.ok(201).json()["deleted_at"], json!(null));
        }
        server.send("DELETE", "/tables/memo/rows/1", "").ok(204);
        server.send("DELETE", "/tables/memo/rows/1", "").is(404, "NotFound");
        server.get("/tables/memo/rows/1").is(404, "NotFound");
        server.send("PATCH", "/tables/memo/rows/1", r#"{"text":"tea"}"#).is(404, "NotFound");
        let count = |path: &str| server.get(path).ok(200).json()["rows"].as_array().unwrap().len();
        assert_eq!(count("/tables/memo/rows"), 1);
        assert_eq!(count("/tables/memo/rows?filter=deleted_at%20is%20not%20null"), 1);
        let expanded = server.get("/tables/customer/rows/1?expand=memo").ok(200).json();
        assert_eq!(expanded["memo"].as_array().map(Vec::len), Some(1), "{expanded}");
        let deleted = r#"{"text":"tea","deleted_at":"2020-01-01T00:00:00Z"}"#;
        server.send("PATCH", "/tables/memo/rows/2", deleted).is(400, "Misuse");
        let restored = server.send("PATCH", "/tables/memo/rows/1", r#"{"deleted_at":null}"#);
        assert_eq!(restored.ok(200).json()["text"], "milk");
        assert_eq!(count("/tables/memo/rows"), 2);
        // All that match: deleted, restored, deleted again, and purged.
        let changed = |method: &str, filter: &str, body: &str| {
            let filter = utf8_percent_encode(filter, NON_ALPHANUMERIC);
            let path = format!("/tables/memo/rows?filter={filter}");
            server.send(method, &path, body).ok(200).json()["changed"].as_u64()
        };
        assert_eq!(changed("DELETE", "text in ('milk','bread')", ""), Some(2));
        assert_eq!(changed("PATCH", "deleted_at is not null", r#"{"deleted_at":null}"#), Some(2));
        assert_eq!(count("/tables/memo/rows"), 2);
        assert_eq!(changed("DELETE", "text = 'milk'", ""), Some(1));
        assert_eq!(changed("DELETE", "deleted_at < '2020-01-01T00:00:00Z'", ""), Some(0));
        assert_eq!(changed("DELETE", "deleted_at > '2020-01-01T00:00:00Z'", ""), Some(1));
        assert_eq!(count("/tables/memo/rows?filter=deleted_at%20is%20not%20null"), 0);
        assert_eq!(count("/tables/memo/rows"), 1);
    }
}

/// An engine in a box.
struct Passed(Box<dyn bobak::engine::Engine>);

impl bobak::engine::EngineLayer for Passed {
    fn inner(&self) -> &dyn bobak::engine::Engine {
        &*self.0
    }

    fn session(&self) -> bobak::Result<Box<dyn bobak::engine::Session + '_>> {
        self.0.session()
    }
}

#[derive(Record)]
#[record(table = "fragile")]
struct Fragile {
    id: i64,
    #[record(normalize = cut, validate = weighed)]
    text: String,
}

fn cut(text: String) -> String {
    assert!(text != "normalize", "secret of the program");
    text
}

fn weighed(text: &str) -> Result<(), &'static str> {
    assert!(text != "validate", "secret of the program");
    Ok(())
}

#[test]
fn a_panicking_rule_is_one_clear_error_and_the_server_goes_on() {
    for engine in [
        Box::new(Memory::new()) as Box<dyn bobak::engine::Engine>,
        Box::new(Sqlite::open_memory().unwrap()),
    ] {
        let db = Db::builder().record::<Fragile>().before_insert(|_, fragile: &mut Fragile| {
            assert!(fragile.text != "hook", "secret of the program");
            Ok(())
        });
        let db = db.open_engine(Passed(engine)).unwrap();
        db.create_missing_tables().unwrap();
        let server = TestServer::with(Settings::default(), db.engine().unwrap());
        let write = |text: &str| {
            let row = json!({ "text": text }).to_string();
            server.send("POST", "/tables/fragile/rows", &row)
        };
        for (text, what) in
            [("validate", "validator"), ("normalize", "normalizer"), ("hook", "hook")]
        {
            let problem = write(text).is(500, "Engine").json();
            let detail = format!("a {what} of the program panicked; see the server's log");
            assert_eq!(problem["detail"], detail);
            write("fine").ok(201);
        }
        assert_eq!(server.get("/tables/fragile/rows?total").ok(200).json()["total"], 3);
    }
}
