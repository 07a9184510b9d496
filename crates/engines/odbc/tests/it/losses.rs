//! What a database has that the schemas of its tables lack: all that a copy would lose.

use crate::stores::{Place, is_without_servers};
use bobak_core::Engine;
use bobak_odbc::Odbc;
use bobak_testkit::{NULL, Probe, row};
use std::sync::Arc;

fn run(engine: &Odbc, statements: &[&str]) {
    for sql in statements {
        engine.session().unwrap().execute(sql, &[]).unwrap();
    }
}

fn losses(engine: &Odbc) -> Vec<String> {
    let details = engine.session().unwrap().schema_details().unwrap();
    details.losses.iter().map(ToString::to_string).collect()
}

#[test]
fn of_postgres() {
    if is_without_servers() {
        return;
    }
    let place = Place::postgres();
    let engine = place.open().unwrap();
    run(
        &engine,
        &[
            "CREATE TABLE keyless (a int8)",
            "CREATE TABLE cased (id int8 PRIMARY KEY, \"UPPER\" int8, \"upper\" int8)",
            "CREATE TABLE made (id int8 PRIMARY KEY, a int8, \
             half int8 GENERATED ALWAYS AS (a / 2 + length('x')) STORED, b int8, UNIQUE (id, b))",
            "ALTER TABLE made ADD FOREIGN KEY (b, half) REFERENCES made (id, b)",
            "CREATE VIEW shown AS SELECT a FROM made",
        ],
    );
    let found = losses(&engine);
    let expected = [
        "keyless: the table: it has no key",
        "cased: the table: it has columns whose names differ only in case",
        "shown: view",
        "made: generated column half",
    ];
    let own = |loss: &&String| !loss.contains("it is in another schema");
    assert_eq!(found.iter().filter(own).collect::<Vec<_>>(), expected);
    // What the server computes is left out, so that rows can be written.
    let made = engine.tables().unwrap().into_iter().find(|table| table.name() == "made").unwrap();
    let (made, probe) = (Arc::new(made), Probe::new(&engine).unwrap());
    assert_eq!(made.all_foreign_keys(), []);
    probe.insert(&made, row![1, 10, NULL]).unwrap();
    assert_eq!(probe.all(&made).unwrap(), [row![1, 10, NULL]]);
}

#[test]
fn of_mariadb() {
    if is_without_servers() {
        return;
    }
    let place = Place::mariadb();
    let engine = place.open().unwrap();
    run(
        &engine,
        &[
            "CREATE TABLE keyless (a bigint)",
            "CREATE TABLE made (id bigint PRIMARY KEY, a bigint, half bigint AS (a DIV 2) STORED, small int)",
            "CREATE VIEW shown AS SELECT a FROM made",
            "CREATE TRIGGER noted BEFORE INSERT ON made FOR EACH ROW SET NEW.small = 1",
        ],
    );
    let expected = [
        "keyless: the table: it has no key",
        "shown: view",
        "made: generated column half",
        "made: trigger noted",
    ];
    assert_eq!(losses(&engine), expected);
}

#[test]
fn of_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    let text = format!("Driver={{SQLite3}};Database={}", folder.path().join("b.db").display());
    let engine = Odbc::builder(text).connect().unwrap();
    run(
        &engine,
        &[
            "CREATE TABLE made (id integer PRIMARY KEY, a text)",
            "CREATE TABLE keyless (a text)",
            "CREATE VIEW shown AS SELECT a FROM made",
        ],
    );
    let expected = ["keyless: the table: it has no key", "shown: view"];
    assert_eq!(losses(&engine), expected);
}
