//! What tables and values become.

use crate::writing::insert;
use crate::{NAMES, unpacked};
use bobak_access::MsAccess;
use bobak_core::{
    ColumnSchema, Engine, ErrorKind, KeyGeneration, OnDelete, SchemaChange, Select, Source,
    TableSchema, Type, Value,
};
use std::sync::Arc;

fn each(test: impl Fn(&MsAccess)) {
    let folder = tempfile::tempdir().unwrap();
    for name in NAMES {
        test(&MsAccess::open(unpacked(name, folder.path())).unwrap());
    }
}

fn table(access: &MsAccess, name: &str) -> Arc<TableSchema> {
    Arc::new(TableSchema::find_in(access.tables().unwrap(), name).unwrap())
}

fn rows(access: &MsAccess, table: &Arc<TableSchema>) -> Vec<Vec<Value<'static>>> {
    let mut rows = Vec::new();
    let select = Select::all(table);
    access
        .session()
        .unwrap()
        .query(&Source::Select(&select), &mut |row| {
            rows.push((0..row.len()).map(|place| row.get(place).to_owned()).collect());
            Ok(true)
        })
        .unwrap();
    rows
}

#[test]
fn columns_have_their_types() {
    each(|access| {
        let person = table(access, "Person");
        let types: Vec<_> = person.columns().iter().map(|column| column.ty).collect();
        assert_eq!(
            types,
            [
                Type::I64,
                Type::Text,
                Type::U8,
                Type::I16,
                Type::I32,
                Type::Currency,
                Type::F32,
                Type::F64,
                Type::DateTime,
                Type::Text,
                Type::Bytes,
                Type::Uuid,
                Type::Currency,
                Type::Bool,
            ]
        );
        assert_eq!((person.key(), person.key_generation()), (&[0][..], KeyGeneration::Engine));
        assert_eq!(person.columns()[1].max_chars, Some(40));
        let index = &person.indexes()[0];
        assert_eq!(
            (&*index.name, &index.columns[..], index.unique),
            ("Person_ByName", &[1][..], false)
        );
    });
}

#[test]
fn values_are_exact() {
    each(|access| {
        let person = table(access, "Person");
        let rows = rows(access, &person);
        let picture: Vec<u8> = (0..9_000_u32).map(|i| (i * 7) as u8).collect();
        let guid = (0x0123_4567_89ab_cdef_0123_4567_89ab_cdef_u128).to_be_bytes().to_vec();
        let notes = format!("{}\u{e9}\u{4e2d}", "x".repeat(5_000));
        assert_eq!(
            rows[0],
            [
                Value::Int(1),
                Value::from("Ada Lovelace"),
                Value::Int(200),
                Value::Int(-300),
                Value::Int(-70_000),
                Value::Int(i64::MAX),
                Value::Float(1.5),
                Value::Float(0.1),
                Value::Int(-4_861_728_000_000_000),
                Value::from(notes),
                Value::Bytes(picture.into()),
                Value::Bytes(guid.into()),
                Value::Int(-123_456_789_012_345_678),
                Value::Int(1),
            ]
        );
        assert_eq!(rows[1][1], Value::from("Gr\u{fc}\u{df}e"));
        assert!(rows[1][2..13].iter().all(|value| *value == Value::Null), "{:?}", rows[1]);
        assert_eq!(rows[1][13], Value::Int(0));
        // 2026-11-27 13:14:15
        assert_eq!(rows[2][8], Value::Int(1_795_785_255_000_000));
        assert_eq!(rows[2][7], Value::Float(-1e300));
    });
}

#[test]
fn keys_and_relationships_are_read() {
    each(|access| {
        let line = table(access, "Order Line");
        assert_eq!(line.key(), [0, 1]);
        let reference = line.columns()[0].reference.as_ref().unwrap();
        assert_eq!((&*reference.table, &*reference.column), ("Person", "ID"));
        assert_eq!(reference.on_delete, OnDelete::Cascade);
        assert_eq!(rows(access, &line).len(), 20);
        let mut found = None;
        let key = [Value::Int(2), Value::Int(4)];
        let is_there = access.get(&line, &key, &mut |row| {
            found = Some(row.get(2).to_owned());
            Ok(())
        });
        assert!(is_there.unwrap());
        assert_eq!(found, Some(Value::from("line 4")));
    });
}

#[test]
fn a_table_without_a_key_has_the_rows_number() {
    each(|access| {
        let log = table(access, "Log");
        assert!(log.has_hidden_key());
        let texts = ["b", "a", "a"].map(Value::from);
        let expected: Vec<_> = texts
            .into_iter()
            .enumerate()
            .map(|(at, text)| vec![Value::Int(at as i64 + 1), text])
            .collect();
        assert_eq!(rows(access, &log), expected);
    });
}

/// Values of another file: texts of fixed length, a time with more than microseconds, a calculated decimal.
#[test]
fn one_value_without_a_counterpart_hides_its_table_only() {
    let folder = tempfile::tempdir().unwrap();
    let path = unpacked("v2019-odd.accdb", folder.path());
    let access = MsAccess::open(&path).unwrap();
    let fixed = table(&access, "Fixed");
    assert_eq!(fixed.columns()[1].max_chars, Some(4));
    let row = |id, code: Option<&str>, name: Option<&str>| {
        let text = |text: Option<&str>| text.map_or(Value::Null, |text| text.to_owned().into());
        vec![Value::Int(id), text(code), text(name)]
    };
    assert_eq!(
        rows(&access, &fixed),
        [row(1, Some("ab  "), Some("one")), row(2, Some("äöüß"), Some("two")), row(3, None, None)]
    );
    assert_eq!(rows(&access, &table(&access, "Pay"))[0][2], Value::from("19230.76923076923"));
    let losses = access.session().unwrap().schema_details().unwrap().losses;
    assert_eq!(
        losses.iter().map(ToString::to_string).collect::<Vec<_>>(),
        [
            "Moments: the table: Bobak cannot read 2021-06-14 22:45:12.3456789, which has more digits than microseconds \
          (column At, row 1)",
            "Pay: generated column Week",
        ]
    );
    // Another write would erase what Bobak does not read.
    let before = std::fs::read(&path).unwrap();
    let named = [fixed, table(&access, "Pay")];
    for table in named {
        let mut values = rows(&access, &table)[0].clone();
        values[0] = Value::Int(9);
        let error = insert(&access, &table, &values).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    }
    let taken = TableSchema::builder("Moments").column(ColumnSchema::new("id", Type::I64));
    let taken = Arc::new(taken.key(["id"]).build().unwrap());
    let error = access.alter(&[SchemaChange::CreateTable(taken)]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[test]
fn the_page_has_the_capabilities() {
    let document = include_str!("../../../../../docs/engines.md");
    each(|access| {
        let capabilities = access.capabilities();
        bobak_testkit::capability_table::agrees_with_document(document, "Access", capabilities)
            .unwrap();
    });
}
