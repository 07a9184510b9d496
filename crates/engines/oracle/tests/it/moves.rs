//! Indexes that are added to long texts and bytes, on H2.

use crate::peer::jar;
use crate::stores::h2;
use bobak_core::{
    ColumnSchema, Engine, ErrorKind, FieldSet, Row, SchemaChange, Select, Source, TableSchema,
    TableSchemaBuilder, Value, Verb, Write,
};
use std::sync::Arc;

fn document() -> TableSchemaBuilder {
    TableSchema::builder("document")
        .column(ColumnSchema::of::<i64>("id"))
        .column(ColumnSchema::of::<String>("title"))
        .column(ColumnSchema::of::<Option<Vec<u8>>>("hash"))
        .key(["id"])
}

fn insert(engine: &dyn Engine, table: &Arc<TableSchema>, title: &str, hash: Value<'_>) {
    let values = [Value::Null, title.into(), hash];
    let fields = FieldSet::default();
    engine.write(&Write { table, verb: Verb::Insert, fields, values: &values }).unwrap();
}

fn rows(engine: &dyn Engine, table: &Arc<TableSchema>) -> Vec<Vec<Value<'static>>> {
    let (all, mut rows) = (Select::all(table), Vec::new());
    let mut take = |row: &dyn Row| {
        rows.push((1..row.len()).map(|at| Value::from(row.get(at)).into_owned()).collect());
        Ok(true)
    };
    engine.session().unwrap().query(&Source::Select(&all), &mut take).unwrap();
    rows
}

#[test]
fn an_index_of_a_long_text_moves_it() {
    if jar().is_none() {
        return;
    }
    let store = h2().unwrap();
    let engine = store.engine();
    let plain = Arc::new(document().build().unwrap());
    engine.alter(&[SchemaChange::CreateTable(Arc::clone(&plain))]).unwrap();
    insert(engine, &plain, "", Value::Null);
    insert(engine, &plain, "é", Vec::new().into());
    insert(engine, &plain, "x", vec![0, 7].into());
    let wanted = rows(engine, &plain);

    let document = document().index("by_title", ["title"]).unique_index("by_hash", ["hash"]);
    let indexed = Arc::new(document.build().unwrap());
    let add = |index| SchemaChange::AddIndex { table: Arc::clone(&indexed), index };
    insert(engine, &plain, &"long ".repeat(500), Value::Null);
    let error = engine.alter(&[add(0)]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooLong, "{error}");
    let tables = engine.tables().unwrap();
    assert!(tables.iter().any(|table| table.same_as(&plain)), "nothing has changed");

    let key = [Value::Int(4)];
    let fields = FieldSet::default();
    let delete = Write { table: &plain, verb: Verb::Delete, fields, values: &key };
    engine.write(&delete).unwrap();
    engine.alter(&[add(0), add(1)]).unwrap();
    assert_eq!(rows(engine, &indexed), wanted);
    assert!(engine.tables().unwrap().iter().any(|table| table.same_as(&indexed)));
    let again = [Value::Null, "y".into(), vec![0, 7].into()];
    let insert = Write { table: &indexed, verb: Verb::Insert, fields, values: &again };
    let error = engine.write(&insert).unwrap_err();
    assert_eq!((error.kind(), error.column()), (ErrorKind::Duplicate, Some("hash")));
    let null = [Value::Null, Value::Null, Value::Null];
    let insert = Write { table: &indexed, verb: Verb::Insert, fields, values: &null };
    assert_eq!(engine.write(&insert).unwrap_err().kind(), ErrorKind::Constraint);
}

#[test]
fn a_table_that_is_created_and_gets_an_index_at_once_has_both() {
    if jar().is_none() {
        return;
    }
    let store = h2().unwrap();
    let plain = Arc::new(document().build().unwrap());
    let indexed = Arc::new(document().index("by_title", ["title"]).build().unwrap());
    let add = SchemaChange::AddIndex { table: Arc::clone(&indexed), index: 0 };
    store.engine().alter(&[SchemaChange::CreateTable(plain), add]).unwrap();
    let tables = store.engine().tables().unwrap();
    assert!(tables.iter().any(|table| table.same_as(&indexed)), "{tables:?}");
}
