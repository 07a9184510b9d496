//! Foreign keys: restrict, cascade, set NULL.

use super::*;
use bobak_core::{Assign, BulkChange, ErrorKind, OnDelete};

fn node(on_delete: OnDelete) -> Arc<TableSchema> {
    let parent = ColumnSchema::new("parent", Type::I64).nullable(true);
    TableSchema::builder("node")
        .column(ColumnSchema::new("id", Type::I64))
        .column(parent.references("node", "id", on_delete))
        .key(["id"])
        .index("node_parent", ["parent"])
        .build()
        .unwrap()
        .into()
}

fn leaf(on_delete: OnDelete, nullable: bool) -> Arc<TableSchema> {
    let column = ColumnSchema::new("code", Type::Text).nullable(nullable);
    TableSchema::builder("leaf")
        .column(ColumnSchema::new("id", Type::I64))
        .column(column.references("tree", "code", on_delete))
        .key(["id"])
        .build()
        .unwrap()
        .into()
}

fn tree() -> Arc<TableSchema> {
    TableSchema::builder("tree")
        .column(ColumnSchema::new("id", Type::I64))
        .column(
            ColumnSchema::new("code", Type::Text).unique().collation(bobak_core::Collation::NoCase),
        )
        .key(["id"])
        .build()
        .unwrap()
        .into()
}

#[test]
fn a_long_chain_of_cascades_is_deleted_as_a_whole() {
    let table = node(OnDelete::Cascade);
    let memory = engine(&[&table]);
    let session = &*memory.session().unwrap();
    let rows: Vec<Values> =
        (1..=20_000i64).map(|id| vec![id.into(), (id > 1).then_some(id - 1).into()]).collect();
    run(session, &batch(&table, Verb::Insert, &rows), OnError::Stop).1.unwrap();
    let orphan = write(session, &table, Verb::Insert, &[0.into(), 99_999.into()]);
    assert_eq!(orphan.unwrap_err().kind(), ErrorKind::Constraint);
    write(session, &table, Verb::Insert, &[0.into(), 0.into()]).unwrap();
    write(session, &table, Verb::Delete, &[10_001.into()]).unwrap();
    assert_eq!(all(session, &table).len(), 10_001);
    let changed = session.change(&BulkChange { table: &table, condition: None, assign: None });
    assert_eq!(changed.unwrap(), 2);
    assert!(all(session, &table).is_empty());
}

#[test]
fn restricted_rows_stay_in_batches_and_replacements() {
    let (tree, leaf) = (tree(), leaf(OnDelete::Restrict, false));
    let memory = engine(&[&leaf, &tree]);
    let session = &*memory.session().unwrap();
    write(session, &tree, Verb::Insert, &[1.into(), "Oak".into()]).unwrap();
    write(session, &tree, Verb::Insert, &[2.into(), "Elm".into()]).unwrap();
    // The collation of the referenced column counts.
    write(session, &leaf, Verb::Insert, &[1.into(), "OAK".into()]).unwrap();
    let error = write(session, &leaf, Verb::Insert, &[2.into(), "ash".into()]).unwrap_err();
    assert_eq!((error.kind(), error.column()), (ErrorKind::Constraint, Some("code")));
    let rejected = |result: Result<Outcome>| {
        assert_eq!(result.unwrap_err().kind(), ErrorKind::Constraint);
        assert_eq!(all(session, &tree).len(), 2);
    };
    rejected(write(session, &tree, Verb::Delete, &[1.into()]));
    rejected(write(session, &tree, Verb::InsertOrReplace, &[1.into(), "Yew".into()]));
    rejected(write(session, &tree, Verb::InsertOrReplace, &[9.into(), "oak".into()]));
    rejected(write(session, &tree, Verb::Upsert, &[1.into(), "Yew".into()]));
    write(session, &tree, Verb::Upsert, &[1.into(), "oak".into()]).unwrap();
    let everything = BulkChange { table: &tree, condition: None, assign: None };
    assert_eq!(session.change(&everything).unwrap_err().kind(), ErrorKind::Constraint);
    let delete = batch(&tree, Verb::Delete, &[vec![2.into()], vec![1.into()]]);
    let (outcomes, result) = run(session, &delete, OnError::Stop);
    assert_eq!((outcomes.len(), result.unwrap_err().row()), (1, Some(1)));
    assert_eq!(all(session, &tree).len(), 2);
    write(session, &leaf, Verb::Delete, &[1.into()]).unwrap();
    assert_eq!(session.change(&everything).unwrap(), 2);
}

#[test]
fn references_become_null_if_the_foreign_key_sets_null() {
    for nullable in [true, false] {
        let (tree, leaf) = (tree(), leaf(OnDelete::SetNull, nullable));
        let memory = engine(&[&tree, &leaf]);
        let session = &*memory.session().unwrap();
        write(session, &tree, Verb::Insert, &[1.into(), "Oak".into()]).unwrap();
        for id in 1..=3 {
            write(session, &leaf, Verb::Insert, &[id.into(), "oak".into()]).unwrap();
        }
        let deleted = write(session, &tree, Verb::Delete, &[1.into()]);
        let leaves = all(session, &leaf);
        if nullable {
            deleted.unwrap();
            assert!(leaves.iter().all(|leaf| leaf[1].is_null()));
        } else {
            assert_eq!(deleted.unwrap_err().kind(), ErrorKind::Constraint);
            assert!(leaves.iter().all(|leaf| leaf[1] == Value::from("oak")));
            assert_eq!(all(session, &tree).len(), 1);
        }
    }
}

#[test]
fn foreign_keys_are_checked_at_the_end_of_an_update() {
    let table = node(OnDelete::Restrict);
    let memory = engine(&[&table]);
    let session = &*memory.session().unwrap();
    for id in 1..=3i64 {
        write(session, &table, Verb::Insert, &[id.into(), id.into()]).unwrap();
    }
    let change = |columns: &[usize]| {
        let assign: Vec<_> =
            columns.iter().map(|&column| Assign::Add { column, value: (-1).into() }).collect();
        session.change(&BulkChange { table: &table, condition: None, assign: Some(&assign) })
    };
    assert_eq!(change(&[0]).unwrap_err().kind(), ErrorKind::Constraint);
    assert_eq!(change(&[0, 1]).unwrap(), 3);
    assert_eq!(all(session, &table)[0], [Value::Int(0), Value::Int(0)]);
}

#[test]
fn foreign_keys_without_a_unique_parent_column_are_rejected() {
    let memory = Memory::new();
    let missing = create(&memory, &[&leaf(OnDelete::Restrict, true)]).unwrap_err();
    assert_eq!((missing.kind(), missing.table()), (ErrorKind::Schema, Some("leaf")));
    let plain = TableSchema::builder("tree")
        .column(ColumnSchema::new("id", Type::I64))
        .column(ColumnSchema::new("code", Type::Text))
        .key(["id"])
        .build()
        .unwrap();
    let tables = [&Arc::new(plain), &leaf(OnDelete::Restrict, true)];
    assert_eq!(create(&memory, &tables).unwrap_err().kind(), ErrorKind::Schema);
    assert!(memory.tables().unwrap().is_empty());
}
