//! What is written is read again: tables, types, keys, indexes, relationships; and what Access has no room for is rejected.

use crate::{NAMES, unpacked};
use bobak_access::MsAccess;
use bobak_core::{
    ColumnSchema, Engine, ErrorKind, FieldSet, OnDelete, Result, SchemaChange, Select, Source,
    TableSchema, TransactionControl, Type, Value, Verb, Write,
};
use std::path::Path;
use std::sync::Arc;

pub(crate) const FILES: [&str; 2] = ["new.mdb", "new.accdb"];

pub(crate) fn table(access: &MsAccess, name: &str) -> Arc<TableSchema> {
    Arc::new(TableSchema::find_in(access.tables().unwrap(), name).unwrap())
}

pub(crate) fn rows(access: &MsAccess, table: &Arc<TableSchema>) -> Vec<Vec<Value<'static>>> {
    let mut rows = Vec::new();
    let select = Select::all(table);
    let session = access.session().unwrap();
    let read = session.query(&Source::Select(&select), &mut |row| {
        rows.push((0..row.len()).map(|place| row.get(place).to_owned()).collect());
        Ok(true)
    });
    read.unwrap();
    rows
}

pub(crate) fn insert(
    access: &MsAccess,
    table: &Arc<TableSchema>,
    values: &[Value<'_>],
) -> Result<()> {
    let (verb, fields) = (Verb::Insert, FieldSet::EMPTY);
    access.write(&Write { table, verb, fields, values }).map(|_| ())
}

pub(crate) fn create(access: &MsAccess, tables: &[Arc<TableSchema>]) -> Result<()> {
    let changes: Vec<_> =
        tables.iter().map(|table| SchemaChange::CreateTable(Arc::clone(table))).collect();
    access.alter(&changes)
}

/// A table with a column of each type, and an index over each that can have one.
pub(crate) fn all_types() -> Arc<TableSchema> {
    let types = [
        ("flag", Type::Bool),
        ("tiny", Type::I8),
        ("small", Type::I16),
        ("number", Type::I32),
        ("big", Type::I64),
        ("unsigned", Type::U32),
        ("single", Type::F32),
        ("double", Type::F64),
        ("price", Type::Currency),
        ("name", Type::Text),
        ("bytes", Type::Bytes),
        ("uuid", Type::Uuid),
        ("day", Type::Date),
        ("time", Type::Time),
        ("moment", Type::DateTime),
        ("instant", Type::Timestamp),
    ];
    let mut builder =
        TableSchema::builder("kinds").column(ColumnSchema::new("id", Type::I64)).key(["id"]);
    for (name, ty) in types {
        builder = builder
            .column(ColumnSchema::new(name, ty).nullable(true))
            .index(format!("by_{name}"), [name]);
    }
    let builder = builder
        .column(ColumnSchema::new("long", Type::Text).nullable(true))
        .column(ColumnSchema::new("picture", Type::Bytes).nullable(true))
        .column(ColumnSchema::new("data", Type::Json).nullable(true))
        .column(ColumnSchema::new("sure", Type::Bool))
        .unique_index("by_two", ["name", "number"]);
    Arc::new(builder.build().unwrap())
}

pub(crate) fn row(id: i64) -> Vec<Value<'static>> {
    let sign = if id % 2 == 0 { 1 } else { -1 };
    let text = format!("Gr\u{fc}\u{df}e {} \u{e9}a-b'{id} \u{4e2d}\u{1f600}", id % 7);
    vec![
        Value::Int(id),
        Value::Int(id % 2),
        Value::Int(sign * (id % 120)),
        Value::Int(sign * (id % 30_000)),
        Value::Int(sign * id * 7_919),
        Value::Int(sign * (i64::MAX - id)),
        Value::Int(i64::from(u32::MAX) - id),
        Value::Float(f64::from((sign * id) as f32 / 3.0)),
        Value::Float(sign as f64 * id as f64 * 1e200 / 7.0),
        Value::Int(sign * (i64::MAX - id * 3)),
        Value::from(text),
        Value::Bytes(vec![id as u8; (id % 40) as usize].into()),
        Value::Bytes((id as u128 * 0x0123_4567_89ab_cdef_0123_4567).to_be_bytes().to_vec().into()),
        Value::Int(sign * (id % 20_000)),
        Value::Int(id * 977_777 % 86_400_000_000),
        Value::Int(1_700_000_000_123_457 + sign * id * 1_000_003),
        Value::Int(sign * id * 1_000),
        Value::from("x\u{e9}".repeat((id % 9) as usize * 300)),
        Value::Bytes((0..id % 11 * 1_000).map(|i| (i * id) as u8).collect::<Vec<_>>().into()),
        Value::from(format!("{{\"id\":{id}}}")),
        Value::Int(1 - id % 2),
    ]
}

fn fill(access: &MsAccess, table: &Arc<TableSchema>, count: i64) {
    fill_with(access, table, count, |_| {});
}

/// Inserts so many rows in one transaction, each after a change.
pub(crate) fn fill_with(
    access: &MsAccess,
    table: &Arc<TableSchema>,
    count: i64,
    change: impl Fn(&mut Vec<Value<'static>>),
) {
    let session = access.session().unwrap();
    session.control(TransactionControl::Begin).unwrap();
    for id in 1..=count {
        let mut values = row(id);
        if id % 13 == 0 {
            let end = values.len() - 1;
            values[1..end].fill(Value::Null);
        }
        change(&mut values);
        let (verb, fields) = (Verb::Insert, FieldSet::EMPTY);
        session.write(&Write { table, verb, fields, values: &values }).unwrap();
    }
    session.control(TransactionControl::Commit).unwrap();
}

fn reopened(path: &Path, access: MsAccess) -> MsAccess {
    drop(access);
    MsAccess::open(path).unwrap()
}

#[test]
fn new_files_have_all_types() {
    let folder = tempfile::tempdir().unwrap();
    for name in FILES {
        let path = folder.path().join(name);
        let access = MsAccess::open(&path).unwrap();
        assert!(!path.exists());
        let kinds = all_types();
        create(&access, &[Arc::clone(&kinds)]).unwrap();
        fill(&access, &kinds, 500);
        let expected = rows(&access, &kinds);
        let access = reopened(&path, access);
        let found = table(&access, "kinds");
        assert!(found.same_as(&kinds), "{found:?}");
        for (found, expected) in rows(&access, &found).iter().zip(&expected) {
            for (column, (found, expected)) in found.iter().zip(expected).enumerate() {
                assert_eq!(found, expected, "column {column}");
            }
        }
    }
}

#[test]
fn existing_files_keep_their_tables() {
    let folder = tempfile::tempdir().unwrap();
    for name in NAMES {
        let path = unpacked(name, folder.path());
        let access = MsAccess::open(&path).unwrap();
        let person = table(&access, "Person");
        let mut values = rows(&access, &person)[0].clone();
        values[0] = Value::Null;
        values[1] = Value::from("Charles Babbage");
        insert(&access, &person, &values).unwrap();
        let expected = (rows(&access, &person), rows(&access, &table(&access, "Order Line")));
        let access = reopened(&path, access);
        assert_eq!(table(&access, "Person").columns(), person.columns());
        assert_eq!(rows(&access, &person), expected.0);
        assert_eq!(rows(&access, &table(&access, "Order Line")), expected.1);
        assert_eq!(
            table(&access, "Order Line").columns()[0].reference.as_ref().unwrap().on_delete,
            OnDelete::Cascade
        );
        // A new column: the table gets another definition, and its relationship stays.
        let changed = TableSchema::clone(&person)
            .into_builder()
            .column(ColumnSchema::new("Size", Type::I32).nullable(true));
        let changed = Arc::new(changed.build().unwrap());
        let column = changed.columns().len() - 1;
        access.alter(&[SchemaChange::AddColumn { table: Arc::clone(&changed), column }]).unwrap();
        let access = reopened(&path, access);
        let found = table(&access, "Person");
        assert_eq!(found.columns().last().unwrap().name, "Size");
        assert_eq!(rows(&access, &found).len(), expected.0.len());
        let line = table(&access, "Order Line");
        assert_eq!(line.columns()[0].reference.as_ref().unwrap().table, "Person");
        assert_eq!(rows(&access, &line), expected.1);
    }
}

#[test]
fn what_access_has_no_room_for_is_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.accdb");
    let access = MsAccess::open(&path).unwrap();
    let schema = TableSchema::builder("t")
        .column(ColumnSchema::new("id", Type::I64))
        .column(ColumnSchema::new("name", Type::Text).nullable(true))
        .column(ColumnSchema::new("at", Type::DateTime).nullable(true))
        .column(ColumnSchema::new("f", Type::F64).nullable(true))
        .key(["id"])
        .unique_index("by_name", ["name"]);
    let schema = Arc::new(schema.build().unwrap());
    create(&access, &[Arc::clone(&schema)]).unwrap();
    let year_99 = -59_043_686_400_000_000;
    let with = |id: Option<i64>, name: Value<'static>, at, f| {
        [id.map_or(Value::Null, Value::Int), name, at, f]
    };
    insert(&access, &schema, &with(None, Value::from("a"), Value::Null, Value::Null)).unwrap();
    let before = std::fs::read(&path).unwrap();
    for (values, kind, text) in [
        (
            with(None, Value::from("A "), Value::Null, Value::Null),
            ErrorKind::Duplicate,
            "ignores the case",
        ),
        (
            with(None, Value::from("x".repeat(256)), Value::Null, Value::Null),
            ErrorKind::TooLong,
            "at most 255",
        ),
        (
            with(None, Value::from("\u{e000}"), Value::Null, Value::Null),
            ErrorKind::OutOfRange,
            "private use",
        ),
        (
            with(None, Value::Null, Value::Int(year_99), Value::Null),
            ErrorKind::OutOfRange,
            "100 to 9999",
        ),
        (
            with(None, Value::Null, Value::Int(250_000_000_000_000_001), Value::Null),
            ErrorKind::OutOfRange,
            "millisecond",
        ),
        (
            with(None, Value::Null, Value::Null, Value::Float(f64::INFINITY)),
            ErrorKind::OutOfRange,
            "inf",
        ),
        (
            with(Some(i64::from(i32::MAX) + 1), Value::Null, Value::Null, Value::Null),
            ErrorKind::OutOfRange,
            "2147483648",
        ),
    ] {
        let error = insert(&access, &schema, &values).unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.message().contains(text), "{error}");
        assert_eq!(error.table(), Some("t"), "{error}");
        assert_eq!(rows(&access, &schema).len(), 1);
        assert_eq!(std::fs::read(&path).unwrap(), before);
    }
    insert(
        &access,
        &schema,
        &with(None, Value::from("b"), Value::Int(250_000_000_000_001_000), Value::Null),
    )
    .unwrap();
    let access = reopened(&path, access);
    assert_eq!(rows(&access, &schema).len(), 2);
}

#[test]
fn one_program_writes_at_a_time() {
    let folder = tempfile::tempdir().unwrap();
    for name in FILES {
        let path = folder.path().join(name);
        let schema = all_types();
        let access = MsAccess::open(&path).unwrap();
        let reader = MsAccess::open(&path).unwrap();
        create(&access, &[Arc::clone(&schema)]).unwrap();
        let error = create(&reader, &[Arc::clone(&schema)]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Busy, "{error}");
        assert_eq!(MsAccess::open(&path).unwrap_err().kind(), ErrorKind::Busy);
        drop(access);
        let error = create(&reader, &[Arc::clone(&schema)]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Busy, "{error}");
        assert!(error.message().contains("since it was opened"), "{error}");
        drop(reader);
        assert_eq!(MsAccess::open(&path).unwrap().tables().unwrap().len(), 1);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        std::fs::remove_file(&path).unwrap();
    }
}
