//! Conversions on SQLite: what names the column survives, and nothing else changes.

use bobak::engine::Engine;
use bobak::migration::{self, Drops, Migrations};
use bobak::prelude::*;
use bobak::schema::TableSchema;
use bobak_core::Source;
use std::sync::Arc;

const START: &str = "bobak migration 1\nfirst\nup\nsql\nSELECT 1;\nend\n";

fn open(sql: &[&str]) -> (tempfile::TempDir, Arc<dyn Engine>) {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("a.db").display());
    let engine = bobak::engine::open(&url).unwrap();
    let session = engine.session().unwrap();
    for sql in sql {
        session.execute(sql, &[]).unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
    drop(session);
    (folder, engine)
}

fn rows(engine: &dyn Engine, text: &str) -> Vec<Vec<Value<'static>>> {
    let mut rows = Vec::new();
    let source = Source::Sql { text, parameters: &[] };
    let read = engine.session().unwrap().query(&source, &mut |row| {
        rows.push((0..row.len()).map(|at| row.get(at).to_owned()).collect());
        Ok(true)
    });
    read.unwrap_or_else(|error| panic!("{text}: {error}"));
    rows
}

/// Carries out the steps, and those that undo them if there are any.
fn migrate(engine: &dyn Engine, up: &str, down: Option<&str>) -> bobak::Result<Migrations> {
    let down = down.map_or_else(String::new, |down| format!("down\n{down}\n"));
    let text = format!("bobak migration 1\nafter a\nup\n{up}\n{down}");
    let all = Migrations::new([("a", START), ("b", text.as_str())])?;
    migration::up(engine, &all)?;
    Ok(all)
}

/// A table with everything that can name its column `age`, which is the second one.
const MEMBER: &[&str] = &[
    "CREATE TABLE member (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        age TEXT NOT NULL, -- in years
        name TEXT CHECK (length(age) < 9),
        modified TEXT,
        shown TEXT GENERATED ALWAYS AS (printf('%05d', age)) STORED,
        CHECK (age <> name)
    )",
    "CREATE TABLE audit (id INTEGER PRIMARY KEY, what TEXT)",
    "CREATE UNIQUE INDEX exact ON member (name COLLATE NOCASE, age DESC)",
    "CREATE INDEX some ON member (id) WHERE age IS NOT NULL",
    "CREATE INDEX longest ON member (length(age))",
    "CREATE VIEW ages AS SELECT age, name FROM member",
    "CREATE VIEW everything AS SELECT * FROM member",
    "CREATE TRIGGER touch AFTER UPDATE ON member BEGIN
        UPDATE member SET modified = 'now' WHERE id = new.id; END",
    "CREATE TRIGGER older AFTER UPDATE OF age ON member WHEN new.age <> old.age BEGIN
        INSERT INTO audit (what) VALUES (old.age || '-' || new.age); END",
    "CREATE TRIGGER copy AFTER INSERT ON audit WHEN new.what = 'copy' BEGIN
        INSERT INTO member (id, age, name, modified) VALUES (NULL, 5, 'copy', 'then'); END",
    "INSERT INTO member (id, age, name, modified) VALUES (1, '30', 'Ada', 'then'), (9, '7', 'Bob', 'then')",
    "DELETE FROM member WHERE id = 9",
];

const TO_NUMBER: &str = r#"change column member {"name":"age","type":"i32","nullable":false}"#;
const TO_TEXT: &str = r#"change column member {"name":"age","type":"text","nullable":false}"#;

#[test]
fn what_names_a_converted_column_survives_on_sqlite() {
    let (_folder, engine) = open(MEMBER);
    let others = "SELECT type, name, sql FROM sqlite_schema WHERE name NOT IN ('member', 'bobak_migrations') \
                  AND tbl_name <> 'bobak_migrations' ORDER BY type, name";
    let before = rows(&*engine, others);
    let all = migrate(&*engine, TO_NUMBER, Some(TO_TEXT)).unwrap();
    assert_eq!(rows(&*engine, others), before);
    let columns = "SELECT group_concat(name) FROM pragma_table_info('everything')";
    assert_eq!(rows(&*engine, columns), [["id,age,name,modified,shown"].map(Value::from)]);
    let found = rows(&*engine, "SELECT age, typeof(age), modified, shown FROM member");
    let number = [30.into(), "integer".into(), "then".into(), "00030".into()];
    assert_eq!(found, [number]);
    assert_eq!(rows(&*engine, "SELECT count(*) FROM audit"), [[Value::from(0)]]);
    assert_eq!(rows(&*engine, "PRAGMA integrity_check"), [[Value::from("ok")]]);
    let session = engine.session().unwrap();
    // The rules still hold, the triggers fire, and AUTOINCREMENT goes on.
    let error = session.execute("INSERT INTO member (age, name) VALUES (30, 'ADA')", &[]);
    assert_eq!(error.unwrap_err().kind(), ErrorKind::Duplicate);
    session.execute("UPDATE member SET age = 31", &[]).unwrap();
    session.execute("INSERT INTO audit (what) VALUES ('copy')", &[]).unwrap();
    drop(session);
    assert_eq!(rows(&*engine, "SELECT what FROM audit ORDER BY id")[0], ["30-31"].map(Value::from));
    assert_eq!(rows(&*engine, "SELECT max(id) FROM member"), [[Value::from(10)]]);
    migration::down(&*engine, &all, 1, false).unwrap();
    assert_eq!(rows(&*engine, others), before);
    let found = rows(&*engine, "SELECT age, typeof(age) FROM member WHERE id = 1");
    assert_eq!(found, [["31", "text"].map(Value::from)]);
}

#[test]
fn a_conversion_that_fails_on_sqlite_keeps_the_triggers() {
    let (_folder, engine) = open(MEMBER);
    let all = "SELECT type, name, sql FROM sqlite_schema WHERE tbl_name <> 'bobak_migrations' ORDER BY rowid";
    let insert = "INSERT INTO member (age, name, modified) VALUES ('old', 'Eve', 'then')";
    engine.session().unwrap().execute(insert, &[]).unwrap();
    let before = (rows(&*engine, all), rows(&*engine, "SELECT * FROM member"));
    let error = migrate(&*engine, TO_NUMBER, None).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Mismatch, "{error}");
    assert!(
        error.to_string().contains("step 1 (change column member.age): the value 'old'"),
        "{error}"
    );
    assert_eq!((rows(&*engine, all), rows(&*engine, "SELECT * FROM member")), before);
}

#[test]
fn a_trigger_that_rejects_updates_does_not_reject_a_conversion() {
    let (_folder, engine) = open(&[
        "CREATE TABLE member (id INTEGER PRIMARY KEY, age TEXT NOT NULL, name TEXT)",
        "INSERT INTO member VALUES (1, '30', 'Ada')",
        "CREATE TRIGGER fixed BEFORE UPDATE ON member BEGIN SELECT RAISE(ABORT, 'fixed'); END",
    ]);
    migrate(&*engine, TO_NUMBER, None).unwrap();
    assert_eq!(rows(&*engine, "SELECT * FROM member"), [[1.into(), 30.into(), "Ada".into()]]);
    assert!(engine.session().unwrap().execute("UPDATE member SET age = 1", &[]).is_err());
}

#[test]
fn a_dropped_column_takes_the_indexes_that_name_it_along() {
    let (_folder, engine) = open(&[
        "CREATE TABLE member (id INTEGER PRIMARY KEY, fax TEXT, \"lower\" TEXT)",
        "CREATE INDEX some ON member (id) WHERE fax IS NOT NULL",
        "CREATE INDEX expressed ON member (lower(FAX))",
        "CREATE INDEX other ON member (lower(id))",
    ]);
    let names = "SELECT name FROM sqlite_schema WHERE type = 'index' AND tbl_name = 'member'";
    let up = "drop column member.fax\ndrop column member.lower";
    migrate(&*engine, up, None).unwrap();
    assert_eq!(rows(&*engine, names), [["other"].map(Value::from)]);
}

#[test]
fn plans_convert_what_a_generated_column_is_computed_from_and_back() {
    mod narrow {
        #[derive(bobak::Record)]
        pub struct Item {
            pub id: i64,
            pub low: i32,
            #[record(check = "hi >= low")]
            pub hi: i64,
            #[record(generated = "low * 2")]
            pub twice: i64,
        }
    }
    mod wide {
        #[derive(bobak::Record)]
        pub struct Item {
            pub id: i64,
            pub low: i64,
            #[record(check = "hi >= low")]
            pub hi: i64,
            #[record(generated = "low * 2")]
            pub twice: i64,
        }
    }
    let (_folder, engine) = open(&[]);
    let folder = tempfile::tempdir().unwrap();
    let mut before = Vec::new();
    for (name, model) in [("narrow", narrow::Item::schema()), ("wide", wide::Item::schema())] {
        before = engine.tables().unwrap();
        let plan = migration::plan(&[Arc::clone(model)], &before, Drops::Columns).unwrap();
        let all = Migrations::read(folder.path()).unwrap();
        all.write(folder.path(), name, &plan).unwrap();
        migration::up(&*engine, &Migrations::read(folder.path()).unwrap()).unwrap();
    }
    let insert = "INSERT INTO item (id, low, hi) VALUES (1, 3, 4)";
    engine.session().unwrap().execute(insert, &[]).unwrap();
    migration::down(&*engine, &Migrations::read(folder.path()).unwrap(), 1, false).unwrap();
    assert_eq!(rows(&*engine, "SELECT low, hi, twice FROM item"), [[3, 4, 6].map(Value::from)]);
    let item = |tables| TableSchema::find_in(tables, "item").unwrap();
    assert!(item(engine.tables().unwrap()).same_as(&item(before)));
    let error = engine.session().unwrap().execute("UPDATE item SET low = 5", &[]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Constraint, "{error}");
}

#[test]
fn floats_become_amounts_if_they_have_four_decimals() {
    let (_folder, engine) = open(&[
        "CREATE TABLE item (id INTEGER PRIMARY KEY, price REAL)",
        "INSERT INTO item VALUES (1, 1.5), (2, -0.1), (3, 3), (4, 1234567.8901), (5, NULL)",
    ]);
    let up = r#"change column item {"name":"price","type":"currency","nullable":true}"#;
    migrate(&*engine, up, None).unwrap();
    let amounts: Vec<_> = rows(&*engine, "SELECT price FROM item ORDER BY id").concat();
    let wanted =
        [15_000.into(), Value::from(-1_000), 30_000.into(), Value::from(12_345_678_901_i64)];
    assert_eq!(amounts, [&wanted[..], &[Value::Null]].concat());
    let (_folder, engine) = open(&[
        "CREATE TABLE item (id INTEGER PRIMARY KEY, price REAL)",
        "INSERT INTO item VALUES (1, 0.00001)",
    ]);
    let error = migrate(&*engine, up, None).unwrap_err().to_string();
    assert!(error.contains("0.00001 of the row with key 1 cannot become currency"), "{error}");
    assert!(error.contains("more than four decimals"), "{error}");
}

#[test]
fn texts_become_numbers_and_times_without_losing_a_digit() {
    for (ty, text, is_exact) in [
        ("f64", "0.10", true),
        ("f64", "-1.5e3", true),
        ("f64", "0.30000000000000004", true),
        ("f64", "0", true),
        ("f64", "inf", true),
        ("f64", "1e400", false),
        ("f64", "12345678901234567890", false),
        ("f32", "0.1", true),
        ("f32", "16777217", false),
        ("datetime", "2024-01-05T10:00:00.123456000", true),
        ("datetime", "2024-01-05T10:00:00.123456789", false),
    ] {
        let insert = format!("INSERT INTO item VALUES (1, '{text}')");
        let (_folder, engine) =
            open(&["CREATE TABLE item (id INTEGER PRIMARY KEY, n TEXT)", &insert]);
        let up = format!(r#"change column item {{"name":"n","type":"{ty}","nullable":true}}"#);
        match migrate(&*engine, &up, None) {
            Ok(_) => assert!(is_exact, "{ty} {text}"),
            Err(error) => {
                assert!(!is_exact, "{ty} {text}: {error}");
                let sentence =
                    format!("the value '{text}' of the row with key 1 cannot become {ty}");
                assert!(error.to_string().contains(&sentence), "{error}");
            }
        }
    }
}

#[test]
fn a_table_without_a_primary_key_changes() {
    let (_folder, engine) = open(&[
        "CREATE TABLE t (n TEXT, m INTEGER)",
        "INSERT INTO t (rowid, n, m) VALUES (7, '1', 2)",
    ]);
    let up = "add column t {\"name\":\"k\",\"type\":\"i64\",\"nullable\":false} fill 3\n\
        add index t {\"name\":\"i\",\"columns\":[\"m\"],\"unique\":true}\n\
        drop column t.m\n\
        change column t {\"name\":\"n\",\"type\":\"i64\",\"nullable\":false}";
    migrate(&*engine, up, None).unwrap();
    assert_eq!(rows(&*engine, "SELECT rowid, n, k FROM t"), [[7, 1, 3].map(Value::Int)]);
    let found = rows(&*engine, "SELECT sql FROM sqlite_schema WHERE name = 't'");
    let Value::Text(text) = &found[0][0] else { panic!("{found:?}") };
    assert!(!text.contains("KEY"), "{text}");
}

#[test]
fn a_table_gets_a_name_in_another_case() {
    let (_folder, engine) = open(&[
        "CREATE TABLE person (id INTEGER PRIMARY KEY, boss INTEGER REFERENCES person (id))",
        "CREATE TABLE child (id INTEGER PRIMARY KEY, p INTEGER REFERENCES person (id))",
    ]);
    let all =
        migrate(&*engine, "rename table person to Person", Some("rename table Person to person"))
            .unwrap();
    let names = "SELECT name FROM sqlite_schema WHERE name LIKE 'person%'";
    assert_eq!(rows(&*engine, names), [[Value::from("Person")]]);
    let keys = "SELECT \"table\" FROM pragma_foreign_key_list('child')";
    assert_eq!(rows(&*engine, keys), [[Value::from("Person")]]);
    migration::down(&*engine, &all, 1, false).unwrap();
    assert_eq!(rows(&*engine, names), [[Value::from("person")]]);
}

#[test]
fn a_changed_column_keeps_a_default_that_is_an_expression() {
    let (_folder, engine) =
        open(&["CREATE TABLE t (id INTEGER PRIMARY KEY, d TEXT DEFAULT CURRENT_TIMESTAMP)"]);
    let up = "change column t {\"name\":\"d\",\"type\":\"text\",\"nullable\":false}";
    migrate(&*engine, up, None).unwrap();
    engine.session().unwrap().execute("INSERT INTO t (id) VALUES (1)", &[]).unwrap();
    let text = "SELECT length(d) FROM t WHERE d > '2026'";
    assert_eq!(rows(&*engine, text), [[Value::Int(19)]]);
}
