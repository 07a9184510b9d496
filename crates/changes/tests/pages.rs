//! The change log, read from a memory engine.

use bobak_changes::{ChangePage, Changes};
use bobak_core::{ColumnSchema, Engine, FieldSet, SchemaChange, TableSchema, Value, Verb, Write};
use bobak_memory::Memory;
use std::sync::Arc;

#[test]
fn page_of_long_rows_is_shorter_and_skips_none() {
    let engine = Arc::new(Memory::new());
    let tables = ["a", "b"].map(|name| {
        let id = ColumnSchema::of::<i64>("id");
        let table = TableSchema::builder(name).column(id).key(["id"]);
        let table = table.column(ColumnSchema::of::<String>("text")).build().unwrap();
        let table = Arc::new(table);
        let track = SchemaChange::Track { table: Arc::clone(&table), history: false };
        engine.alter(&[SchemaChange::CreateTable(Arc::clone(&table)), track]).unwrap();
        table
    });
    for id in 1..=40_i64 {
        // Rows of table `a` have 1 MiB each, those of `b` one character.
        let table = &tables[usize::try_from(id % 2).unwrap()];
        let text = "x".repeat(if id % 2 == 0 { 1 << 20 } else { 1 });
        let values = [Value::Int(id), Value::from(text)];
        let (verb, fields) = (Verb::Insert, FieldSet::EMPTY);
        engine.write(&Write { table, verb, fields, values: &values }).unwrap();
    }
    let (mut changes, mut ids, mut since) = (Changes::of(engine.clone()), Vec::new(), 0);
    loop {
        let ChangePage { changes: page, next, boundary, .. } = changes.next_page().unwrap();
        assert_eq!(boundary.map(|boundary| boundary.id), Some(40));
        if next == since {
            break;
        }
        assert!(page.len() < 25, "{} changes in one page", page.len());
        ids.extend(page.iter().map(|change| change.id));
        since = next;
    }
    assert_eq!(ids, (1..=40).collect::<Vec<_>>());
    let one = Changes::of(engine).table_named("a").limit(1).page().unwrap();
    assert_eq!((one.changes.len(), one.is_whole()), (1, false));
}
