//! A conversion that fails late: at the 90,000th of many rows.

use crate::on_each;
use bobak::migration::{MigrationState, Migrations};
use bobak::prelude::*;
use bobak_core::{
    FieldSet, OnError, Select, Source, TableSchema, TransactionControl, Verb, Write, WriteBatch,
};
use std::sync::Arc;

const START: &str = r#"bobak migration 1
first
up
create table {"name":"reading","key":["id"],"indexes":[],"columns":[
    {"name":"id","type":"i64","nullable":false},
    {"name":"value","type":"text","nullable":false,"max_chars":40}]}
"#;

const CONVERT: &str = r#"bobak migration 1
after a
up
add column reading {"name":"note","type":"text","nullable":true}
change column reading {"name":"value","type":"i64","nullable":false}
"#;

/// The number of rows, and the one that does not convert.
const ROWS: i64 = 100_000;
const WRONG: i64 = 90_000;

fn table(db: &Db) -> Arc<TableSchema> {
    let tables = db.engine().unwrap().tables().unwrap();
    Arc::new(TableSchema::find_in(tables, "reading").unwrap())
}

fn fill(db: &Db) {
    let (table, mut batch) = (table(db), WriteBatch::new());
    for id in 1..=ROWS {
        let text = if id == WRONG { "ninety".to_owned() } else { id.to_string() };
        let values = [Value::Int(id), Value::from(text)];
        let (table, verb, fields) = (&table, Verb::Insert, FieldSet::EMPTY);
        batch.push(&Write { table, verb, fields, values: &values }).unwrap();
    }
    let engine = db.engine().unwrap();
    let session = engine.session().unwrap();
    session.control(TransactionControl::Begin).unwrap();
    let each = &mut |done: bobak::Result<_>| assert!(done.is_ok());
    session.batch(&batch, OnError::Stop, each).unwrap();
    session.control(TransactionControl::Commit).unwrap();
}

/// The table's columns, the number of its rows, and their checksum.
fn content(db: &Db) -> (Vec<bobak_core::ColumnSchema>, u64, u64) {
    let (table, mut rows, mut sum) = (table(db), 0_u64, 0_u64);
    let engine = db.engine().unwrap();
    let session = engine.session().unwrap();
    let add = &mut |row: &dyn bobak_core::Row| {
        rows += 1;
        let text = format!("{:?} {:?}", row.get(0), row.get(1));
        sum =
            text.bytes().fold(sum, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(byte)));
        Ok(true)
    };
    session.query(&Source::Select(&Select::all(&table)), add).unwrap();
    (table.columns().to_vec(), rows, sum)
}

#[test]
fn a_conversion_that_fails_at_row_90_000_names_it_and_changes_nothing() {
    on_each(|url| {
        if url.starts_with("kv") {
            return;
        }
        let db = Db::open(url).unwrap();
        let one = Migrations::new([("a", START)]).unwrap();
        let all = Migrations::new([("a", START), ("b", CONVERT)]).unwrap();
        db.migrate(&one).unwrap();
        fill(&db);
        let before = content(&db);
        let error = db.migrate(&all).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Mismatch, "{url}: {error}");
        assert_eq!((error.table(), error.column()), (Some("reading"), Some("value")), "{url}");
        for part in ["migration b, step 2", "'ninety'", "the row with key 90000", "i64"] {
            assert!(error.to_string().contains(part), "{url}: {error}");
        }
        let state = db.migration_status(&all).unwrap()[1].state;
        if url.starts_with("mysql") {
            // Each step commits: the first one is done, and the values of the second are as they were.
            assert_eq!(state, MigrationState::Interrupted(1));
            let now = table(&db);
            assert_eq!(now.columns()[now.column("value").unwrap()].ty, bobak_core::Type::Text);
        } else {
            assert_eq!(state, MigrationState::Pending, "{url}");
            assert_eq!(content(&db), before, "{url}");
        }
        let text = Value::from(WRONG.to_string());
        let values = [Value::Int(WRONG), text];
        let (table, verb) = (&Arc::new(before_table()), Verb::Update);
        let fields = FieldSet::from_iter([1]);
        db.engine().unwrap().write(&Write { table, verb, fields, values: &values }).unwrap();
        assert_eq!(db.migrate(&all).unwrap(), ["b"], "{url}");
        assert_eq!(content(&db).1, before.1, "{url}");
    });
}

/// The table as the first migration creates it.
fn before_table() -> TableSchema {
    TableSchema::builder("reading")
        .column(bobak_core::ColumnSchema::of::<i64>("id"))
        .column(bobak_core::ColumnSchema::of::<String>("value").max_chars(40))
        .key(["id"])
        .build()
        .unwrap()
}
