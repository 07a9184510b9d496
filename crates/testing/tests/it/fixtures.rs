//! Fixtures from files.

use crate::on_each;
use bobak::prelude::*;
use bobak_testing::load_fixtures;
use std::path::Path;

#[derive(Record, Debug, PartialEq)]
struct Customer {
    id: i64,
    #[record(max = 40)]
    name: String,
    born: Option<Date>,
}

#[derive(Record, Debug, PartialEq)]
struct Account {
    id: i64,
    #[record(references = Customer)]
    customer_id: i64,
    balance: Currency,
    #[record(default = true)]
    open: bool,
    note: Json<Vec<i64>>,
}

fn open(url: &str) -> Db {
    let db = Db::builder().record::<Customer>().record::<Account>().open(url).unwrap();
    db.create_missing_tables().unwrap();
    db
}

fn write(folder: &Path, name: &str, text: &str) {
    std::fs::write(folder.join(name), text).unwrap();
}

#[test]
fn files_are_loaded_in_the_order_of_references() {
    on_each(|url| {
        if url.starts_with("kv:") {
            return; // It has no foreign keys.
        }
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        // In alphabetical order, accounts would come first.
        write(folder, "account.csv", "customer_id,balance,note\n@bob,12.3456,[1]\n@ada,-5,[]\n");
        let ada = r#"{"_name": "ada", "name": "Ada", "born": "1815-12-10"}"#;
        write(
            folder,
            "customer.ndjson",
            &format!("{ada}\n{{\"_name\": \"bob\", \"name\": \"@bob\"}}\n"),
        );
        write(folder, "README.md", "other files are left alone");
        let db = open(url);
        assert_eq!(load_fixtures(&db, folder).unwrap(), 4);
        let customers = db.table::<Customer>().unwrap().list(Query::all()).unwrap();
        let ada = Customer { id: 1, name: "Ada".into(), born: Some(Date::constant(1815, 12, 10)) };
        let bob = Customer { id: 2, name: "@bob".into(), born: None };
        assert_eq!(customers, [ada, bob]);
        let accounts = db.table::<Account>().unwrap().list(Query::all()).unwrap();
        let shown = accounts
            .iter()
            .map(|a| format!("{} {} {} {:?}", a.customer_id, a.balance, a.open, a.note.0));
        let shown: Vec<_> = shown.collect();
        assert_eq!(shown, ["2 12.3456 true [1]", "1 -5.00 true []"]);
    });
}

#[test]
fn an_error_names_file_and_row_and_nothing_is_loaded() {
    let customer = r#"[{"name": "Ada"}, {"name": "Bob", "born": "soon"}]"#;
    let account = "customer_id,balance,note\n@eve,1,[]\n";
    for (name, text, kind, message) in [
        ("customer.json", customer, ErrorKind::Mismatch, "customer.json, row 2: "),
        ("account.csv", account, ErrorKind::NotFound, "no row before it has the name 'eve'"),
        ("account.csv", "customer_id\n5\n", ErrorKind::Constraint, "account.csv, line 2: "),
        ("customer.csv", "name,age\nAda,1\n", ErrorKind::Schema, "there is no column 'age'"),
        ("client.csv", "name\nAda\n", ErrorKind::Schema, "there is no table 'client'"),
        ("customer.json", "[{]", ErrorKind::Mismatch, "customer.json: "),
    ] {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), name, text);
        let db = open("memory:");
        let error = load_fixtures(&db, folder.path()).unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().contains(message), "{error}");
        assert_eq!(db.table::<Customer>().unwrap().count(Query::all()).unwrap(), 0);
    }
    let error = load_fixtures(&open("memory:"), "no-such-folder").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io, "{error}");
}

#[derive(Record, Debug, PartialEq)]
struct Note {
    id: i64,
    text: String,
    read: Option<Timestamp>,
    #[record(deleted_at)]
    deleted: Option<Timestamp>,
}

#[test]
fn a_name_is_that_of_one_row() {
    let folder = tempfile::tempdir().unwrap();
    let customers = r#"[{"_name": "ada", "name": "A"}, {"_name": "ada", "name": "B"}]"#;
    write(folder.path(), "customer.json", customers);
    let error = load_fixtures(&open("memory:"), folder.path()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Duplicate, "{error}");
    let text = error.to_string();
    assert!(text.contains("customer.json, row 2: "), "{text}");
    assert!(text.contains("customer.json, row 1 has this name already"), "{text}");
}

#[test]
fn a_deleted_row_is_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let db = Db::builder().record::<Note>().open("memory:").unwrap();
    db.create_missing_tables().unwrap();
    let time = "2026-01-02T03:04:05Z";
    write(folder.path(), "note.csv", &format!("text,read,deleted\nA,{time},\n"));
    assert_eq!(load_fixtures(&db, folder.path()).unwrap(), 1);
    write(folder.path(), "note.csv", &format!("text,read,deleted\nB,,\nC,,{time}\n"));
    let error = load_fixtures(&db, folder.path()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    assert!(error.to_string().contains("note.csv, line 3: "), "{error}");
    assert_eq!(db.table::<Note>().unwrap().count(Query::all()).unwrap(), 1);
}
