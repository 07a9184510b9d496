//! Values in parts, within and beyond permissions.

use crate::shop::{ada, assert_fails};
use bobak_core::{
    ColumnSchema, Engine, ErrorKind, Result, SchemaChange, TableSchema, Value, ValueAddress,
    ValueRange, Verb, Write,
};
use bobak_memory::Memory;
use bobak_permissions::{Caller, ProtectedDatabase};
use bobak_sqlite::Sqlite;
use std::sync::Arc;

fn file() -> Arc<TableSchema> {
    let table = TableSchema::builder("file")
        .column(ColumnSchema::of::<i64>("id"))
        .column(ColumnSchema::of::<String>("owner"))
        .column(ColumnSchema::of::<Vec<u8>>("data"))
        .key(["id"]);
    Arc::new(table.build().unwrap())
}

fn read(engine: &dyn Engine, table: &Arc<TableSchema>, id: i64) -> Result<Option<Vec<u8>>> {
    let (key, mut bytes) = ([Value::Int(id)], Vec::new());
    let value = ValueAddress { table, key: &key, column: 2 };
    let found =
        engine.session()?.read_part(&value, ValueRange { offset: 1, limit: 2 }, &mut bytes)?;
    Ok(found.map(|_| bytes))
}

fn write(engine: &dyn Engine, table: &Arc<TableSchema>, id: i64) -> Result<bool> {
    let key = [Value::Int(id)];
    let value = ValueAddress { table, key: &key, column: 2 };
    engine.session()?.write_value(&value, 4, &mut &b"wxyz"[..])
}

fn check(engine: Arc<dyn Engine>) {
    let table = file();
    engine.alter(&[SchemaChange::CreateTable(Arc::clone(&table))]).unwrap();
    let database = ProtectedDatabase::new("files", engine);
    let operator = database.engine_for(&Caller::operator());
    for (id, owner) in [(1, "ada"), (2, "bob")] {
        let values = [Value::Int(id), Value::from(owner), Value::from(b"abcd".to_vec())];
        let (verb, fields) = (Verb::Insert, Default::default());
        operator.write(&Write { table: &table, verb, fields, values: &values }).unwrap();
    }
    let with = |grants: &str| database.engine_for(&ada(grants));
    let reader = with("read on file");
    assert_eq!(read(&*reader, &table, 2).unwrap(), Some(b"bc".to_vec()));
    assert_fails(write(&*reader, &table, 2), ErrorKind::Denied);
    let writer = with("update on file");
    assert_fails(read(&*writer, &table, 2), ErrorKind::Denied);
    assert!(write(&*writer, &table, 2).unwrap());
    let none = with("read on other");
    assert_fails(read(&*none, &table, 1), ErrorKind::Schema);
    assert_fails(write(&*none, &table, 1), ErrorKind::Schema);
    let own = with("read, update on file where owner = :user");
    assert_eq!(read(&*own, &table, 1).unwrap(), Some(b"bc".to_vec()));
    assert_eq!(read(&*own, &table, 2).unwrap(), None);
    assert!(write(&*own, &table, 1).unwrap());
    assert!(!write(&*own, &table, 2).unwrap());
    assert_eq!(read(&*operator, &table, 1).unwrap(), Some(b"xy".to_vec()));
}

#[test]
fn values_need_the_permissions_of_their_rows() {
    check(Arc::new(Memory::new()));
    check(Arc::new(Sqlite::builder().open_memory().unwrap()));
}
