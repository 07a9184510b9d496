//! The read transaction that is kept between single operations blocks nobody.

use crate::support::{create, person, query, values};
use bobak_core::{
    Engine, ErrorKind, FieldSet, Outcome, Result, SchemaChange, TableSchema, TransactionControl,
    Value, Verb, Write,
};
use bobak_sqlite::{JournalMode, LockingMode, Sqlite, Synchronous};
use std::sync::Arc;

fn engines(folder: &std::path::Path) -> Vec<Sqlite> {
    let file = |journal| {
        let path = folder.join(format!("{journal:?}.db"));
        let builder = Sqlite::builder().locking(LockingMode::Exclusive).journal_mode(journal);
        builder.synchronous(Synchronous::Off).open(path).unwrap()
    };
    let engines = vec![
        Sqlite::open_memory().unwrap(),
        file(JournalMode::Delete),
        file(JournalMode::Memory),
        file(JournalMode::Wal),
    ];
    engines.iter().for_each(|engine| create(engine, &[&person()]));
    engines
}

fn insert(engine: &Sqlite, table: &Arc<TableSchema>, values: &[Value<'_>]) -> Result<Outcome> {
    engine.write(&Write { table, verb: Verb::Insert, fields: FieldSet::EMPTY, values })
}

/// Enough single operations to pin the transaction.
fn settle(engine: &Sqlite, table: &Arc<TableSchema>) {
    for _ in 0..50 {
        engine.get(table, &[Value::Int(1)], &mut |_| Ok(())).unwrap();
    }
}

#[test]
fn other_operations_work_with_a_pinned_read() {
    let folder = tempfile::tempdir().unwrap();
    for engine in engines(folder.path()) {
        let table = person();
        for number in 0..20 {
            insert(&engine, &table, &values(0, &format!("p{number}"), None)).unwrap();
        }
        let session = engine.session().unwrap();
        for sql in [
            "CREATE TABLE other (a INTEGER)",
            "INSERT INTO other VALUES (1)",
            "PRAGMA synchronous = normal",
            "DROP TABLE other",
            "VACUUM",
        ] {
            settle(&engine, &table);
            session.execute(sql, &[]).unwrap();
        }
        settle(&engine, &table);
        session.control(TransactionControl::Begin).unwrap();
        session.execute("DELETE FROM person", &[]).unwrap();
        session.control(TransactionControl::Rollback).unwrap();
        settle(&engine, &table);
        let tag = TableSchema::builder("tag")
            .column(bobak_core::ColumnSchema::of::<i64>("id"))
            .key(["id"])
            .build();
        engine.alter(&[SchemaChange::CreateTable(Arc::new(tag.unwrap()))]).unwrap();
        settle(&engine, &table);
        engine.flush().unwrap();
        assert_eq!(query(&*session, "SELECT count(*) FROM person", &[]).unwrap(), [[20.into()]]);
    }
}

#[test]
fn rejected_write_keeps_the_pinned_read() {
    let folder = tempfile::tempdir().unwrap();
    for engine in engines(folder.path()) {
        let table = person();
        insert(&engine, &table, &values(1, "a", Some("a@x"))).unwrap();
        settle(&engine, &table);
        for _ in 0..20 {
            let error = insert(&engine, &table, &values(0, "b", Some("A@X"))).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Duplicate);
        }
        insert(&engine, &table, &values(2, "b", None)).unwrap();
        let mut name = None;
        let there = engine.get(&table, &[Value::Int(2)], &mut |row| {
            name = Some(row.get(1).to_owned());
            Ok(())
        });
        assert_eq!((there.unwrap(), name), (true, Some("b".into())));
    }
}
