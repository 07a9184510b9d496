//! What a schema does not express survives the rebuilding of its table.

use crate::raw::Raw;
use bobak_core::{
    ColumnSchema, Engine, ErrorKind, SchemaChange, Source, TableAlteration, TableSchema, Value,
};
use bobak_sqlite::Sqlite;
use std::sync::Arc;

fn run(engine: &Sqlite, sql: &str) {
    engine.session().unwrap().execute(sql, &[]).unwrap_or_else(|error| panic!("{sql}: {error}"));
}

fn rows(engine: &Sqlite, text: &str) -> Vec<Vec<Value<'static>>> {
    let mut rows = Vec::new();
    let source = Source::Sql { text, parameters: &[] };
    let session = engine.session().unwrap();
    let read = session.query(&source, &mut |row| {
        rows.push((0..row.len()).map(|at| row.get(at).to_owned()).collect());
        Ok(true)
    });
    read.unwrap_or_else(|error| panic!("{text}: {error}"));
    rows
}

/// Changes one column of a table.
fn change(
    engine: &Sqlite,
    table: &str,
    column: &str,
    new: impl Fn(ColumnSchema) -> ColumnSchema,
) -> bobak_core::Result<()> {
    let from = Arc::new(TableSchema::find_in(engine.tables()?, table)?);
    let to = TableSchema::clone(&from)
        .map_columns(|old| if old.name == column { new(old) } else { old })?;
    let change = TableAlteration::new(from, Arc::new(to), &[], &[])?;
    engine.alter(&[SchemaChange::AlterTable(Arc::new(change))])
}

const FILE: &[&str] = &[
    "CREATE TABLE team (id INTEGER PRIMARY KEY, name TEXT)",
    "CREATE TABLE staff (
        id INTEGER PRIMARY KEY AUTOINCREMENT, -- never again
        name TEXT COLLATE NOCASE,
        pay INTEGER DEFAULT 5 CHECK (pay > 0),
        made TEXT DEFAULT CURRENT_TIMESTAMP,
        twice INTEGER GENERATED ALWAYS AS (pay * 2) STORED,
        team INTEGER REFERENCES team (id) ON DELETE CASCADE,
        CONSTRAINT \"named, (well\" CHECK (name <> 'x'),
        UNIQUE (name, pay)
    )",
    "CREATE TABLE child (id INTEGER PRIMARY KEY, boss INTEGER REFERENCES staff (id) ON DELETE CASCADE)",
    "CREATE INDEX partly ON staff (pay) WHERE pay > 3",
    "CREATE INDEX expressed ON staff (lower(name))",
    "CREATE TABLE noted (what TEXT)",
    "CREATE TRIGGER note AFTER INSERT ON staff BEGIN INSERT INTO noted VALUES (new.name); END",
    "CREATE TRIGGER other AFTER INSERT ON noted BEGIN UPDATE staff SET pay = pay + 1; END",
    "CREATE VIEW rich AS SELECT name FROM staff WHERE pay > 3",
    "INSERT INTO team VALUES (1, 'red')",
    "INSERT INTO staff (id, name, pay, team) VALUES (1, 'ada', 7, 1), (50, 'bob', 2, NULL)",
    "DELETE FROM staff WHERE id = 50",
    "INSERT INTO child VALUES (1, 1)",
];

#[test]
fn what_a_schema_does_not_express_survives_a_rebuild() {
    let folder = tempfile::tempdir().unwrap();
    let engine = Sqlite::builder().open(folder.path().join("a.db")).unwrap();
    FILE.iter().for_each(|sql| run(&engine, sql));
    let others =
        "SELECT type, name, sql FROM sqlite_schema WHERE name <> 'staff' ORDER BY name, type";
    let before = rows(&engine, others);
    change(&engine, "staff", "pay", |pay| pay.nullable(false).check("pay >= 0")).unwrap();
    assert_eq!(rows(&engine, others), before);
    assert_eq!(rows(&engine, "PRAGMA foreign_key_check"), Vec::<Vec<Value<'_>>>::new());
    assert_eq!(rows(&engine, "PRAGMA integrity_check"), [[Value::from("ok")]]);
    assert_eq!(rows(&engine, "SELECT name FROM rich"), [[Value::from("ada")]]);
    let found = rows(&engine, "SELECT id, pay, twice, team, made > '2000' FROM staff");
    assert_eq!(found, [[1, 9, 18, 1, 1].map(Value::from)]);
    // AUTOINCREMENT goes on after the key that was deleted, and triggers fire.
    run(&engine, "INSERT INTO staff (name, pay) VALUES ('eve', 0)");
    assert_eq!(rows(&engine, "SELECT max(id) FROM staff"), [[Value::from(51)]]);
    assert_eq!(rows(&engine, "SELECT count(*) FROM noted"), [[Value::from(3)]]);
    for wrong in [
        "INSERT INTO staff (name, pay) VALUES ('tim', -1)",
        "INSERT INTO staff (name, pay) VALUES ('tim', NULL)",
        "INSERT INTO staff (name, pay) VALUES ('x', 1)",
        "INSERT INTO child VALUES (2, 99)",
        "INSERT INTO staff (name, pay) SELECT 'ADA', pay FROM staff WHERE name = 'ada'",
    ] {
        let error = engine.session().unwrap().execute(wrong, &[]).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Constraint | ErrorKind::Duplicate), "{error}");
    }
    run(&engine, "DELETE FROM team");
    assert_eq!(rows(&engine, "SELECT count(*) FROM child"), [[Value::from(0)]]);
}

#[test]
fn names_are_changed_in_triggers_views_and_indexes() {
    let folder = tempfile::tempdir().unwrap();
    let engine = Sqlite::builder().open(folder.path().join("a.db")).unwrap();
    FILE.iter().for_each(|sql| run(&engine, sql));
    let from = Arc::new(TableSchema::find_in(engine.tables().unwrap(), "staff").unwrap());
    let to = from.rename("crew", |name| (name == "pay").then_some("wage")).unwrap();
    let change = TableAlteration::new(from, Arc::new(to), &[("pay", "wage")], &[]).unwrap();
    engine.alter(&[SchemaChange::AlterTable(Arc::new(change))]).unwrap();
    assert_eq!(rows(&engine, "SELECT name FROM rich"), [[Value::from("ada")]]);
    run(&engine, "INSERT INTO crew (name, wage) VALUES ('eve', 9)");
    assert_eq!(rows(&engine, "SELECT twice FROM crew WHERE name = 'eve'"), [[Value::from(20)]]);
    assert_eq!(rows(&engine, "PRAGMA integrity_check"), [[Value::from("ok")]]);
}

#[test]
fn a_rebuild_is_undone_as_a_whole() {
    let folder = tempfile::tempdir().unwrap();
    let engine = Sqlite::builder().open(folder.path().join("a.db")).unwrap();
    FILE.iter().for_each(|sql| run(&engine, sql));
    let all = "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY rowid";
    let before = (rows(&engine, all), rows(&engine, "SELECT * FROM staff"));
    let error = change(&engine, "staff", "pay", |pay| pay.check("pay > 1000")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Constraint, "{error}");
    // In a transaction that enforces foreign keys, nothing is tried.
    let session = engine.session().unwrap();
    session.control(bobak_core::TransactionControl::Begin).unwrap();
    let from = Arc::new(TableSchema::find_in(session.tables().unwrap(), "team").unwrap());
    let to = TableSchema::clone(&from).map_columns(|column| match &*column.name {
        "name" => column.default("none"),
        _ => column,
    });
    let change = TableAlteration::new(from, Arc::new(to.unwrap()), &[], &[]).unwrap();
    let error = session.alter(&[SchemaChange::AlterTable(Arc::new(change))]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    session.control(bobak_core::TransactionControl::Rollback).unwrap();
    assert_eq!((rows(&engine, all), rows(&engine, "SELECT * FROM staff")), before);
    // Foreign keys are enforced again.
    assert_eq!(rows(&engine, "PRAGMA foreign_keys"), [[Value::from(1)]]);
}

#[test]
fn old_schemas_may_have_texts_in_double_quotes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("old.db");
    let raw = Raw::open(path.to_str().unwrap(), "");
    raw.take_quoted_strings();
    raw.exec(
        "CREATE TABLE a (id INTEGER PRIMARY KEY, s TEXT CHECK (s IN (\"new\", \"o'ld\") AND \"S\" <> \"\"), \
         t TEXT GENERATED ALWAYS AS (\"s\" || \"!\"), CHECK (\"id\" > 0 AND s <> \"b\"\"c\")); \
         CREATE INDEX fresh ON a (id) WHERE s = \"new\"; INSERT INTO a VALUES (1, 'new')",
    );
    drop(raw);
    let engine = Sqlite::builder().open(&path).unwrap();
    let table = TableSchema::find_in(engine.tables().unwrap(), "a").unwrap();
    let checks: Vec<_> =
        table.columns().iter().filter_map(|column| column.check.as_deref()).collect();
    let of_table = "id > 0 AND s <> 'b\"c'";
    assert_eq!(checks, [of_table, "s IN ('new', 'o''ld') AND s <> ''"]);
    assert_eq!(table.columns()[2].generated.as_deref(), Some("s || '!'"));
    let details = engine.session().unwrap().schema_details().unwrap();
    assert_eq!(details.computed_indexes[0].condition.as_deref(), Some("s = 'new'"));
    run(&engine, "VACUUM");
    run(&engine, "ALTER TABLE a ADD COLUMN more");
    change(&engine, "a", "s", |column| column.nullable(false)).unwrap();
    assert_eq!(rows(&engine, "SELECT t, more FROM a"), [[Value::from("new!"), Value::Null]]);
    let session = engine.session().unwrap();
    let error = session.execute("INSERT INTO a (s) VALUES ('other')", &[]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Constraint, "{error}");
    for sql in ["CREATE TABLE b (s CHECK (s <> \"x\"))", "SELECT \"x\" FROM a"] {
        assert_eq!(session.execute(sql, &[]).unwrap_err().kind(), ErrorKind::Schema, "{sql}");
    }
}
