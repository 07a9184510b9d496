//! Fixtures made by released versions: every later version opens them, finds all rows and rules, and writes to them.
//!
//! `tests/fixtures` has a folder for each version, which never changes. Before a release, `cargo xtask fixtures` makes
//! those of the new version, which are committed with it. The functions here know their content; a version that adds to it
//! adds a function.

use bobak_core::{
    Collation, ColumnRole, ColumnSchema, Engine, OnDelete, Result, TableSchema, TransactionControl,
    Type, Value,
};
use bobak_memory::{Memory, SnapshotFormat};
use bobak_sqlite::{JournalMode, Sqlite};
use bobak_testkit::{NULL, Probe, Table, Values, create, row};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

/// The types that there were.
const TYPES: [Type; 21] = [
    Type::Bool,
    Type::I8,
    Type::I16,
    Type::I32,
    Type::I64,
    Type::U8,
    Type::U16,
    Type::U32,
    Type::U64,
    Type::F32,
    Type::F64,
    Type::Text,
    Type::Bytes,
    Type::Uuid,
    Type::Currency,
    Type::Date,
    Type::Time,
    Type::DateTime,
    Type::Timestamp,
    Type::Json,
    Type::Any,
];

/// What is in the files of 0.1.0. Not to be changed: the files are not.
fn tables() -> [Table; 3] {
    let place = TableSchema::builder("place")
        .column(ColumnSchema::new("code", Type::Text).max_chars(3))
        .column(ColumnSchema::new("name", Type::Text).collation(Collation::UnicodeNoCase).unique())
        .key(["code"]);
    let every = TYPES.iter().fold(
        TableSchema::builder("every").column(ColumnSchema::new("id", Type::I64)).key(["id"]),
        |table, ty| table.column(ColumnSchema::new(ty.name(), *ty).nullable(true)),
    );
    let visit = TableSchema::builder("visit")
        .column(ColumnSchema::new("id", Type::Uuid))
        .column(ColumnSchema::new("place", Type::Text).nullable(true).references(
            "place",
            "code",
            OnDelete::SetNull,
        ))
        .column(ColumnSchema::new("day", Type::Date).as_text())
        .column(ColumnSchema::new("cost", Type::Currency).check("cost >= 0"))
        .column(ColumnSchema::new("made", Type::Timestamp).role(ColumnRole::CreatedAt))
        .column(ColumnSchema::new("version", Type::I64).role(ColumnRole::Version))
        .column(ColumnSchema::new("grade", Type::I32).default(7))
        .key(["id"])
        .index("visit_day", ["day", "cost"]);
    [place, every, visit].map(|table| Arc::new(table.build().unwrap()))
}

/// The rows of those tables, by key.
fn rows() -> [Vec<Values>; 3] {
    // The first row has NULLs alone, the others two values of each type.
    let every = |id: i64| {
        let value = |ty: &Type| match (id, ty) {
            (1, _) => NULL,
            (_, Type::F32 | Type::F64) => Value::Float(id as f64 / 4.0),
            (_, Type::Text) => Value::Text(format!("text\0{id}").into()),
            (_, Type::Json) => Value::Text(format!("{{\"id\":{id}}}").into()),
            (_, Type::Bytes) => Value::Bytes(vec![0, 255, id as u8].into()),
            (_, Type::Uuid) => Value::Bytes(vec![id as u8; 16].into()),
            (2, Type::I64) => i64::MIN.into(),
            (3, Type::U64) => i64::MAX.into(),
            (3, Type::Any) => "anything".into(),
            _ => (id - 2).into(),
        };
        [id.into()].into_iter().chain(TYPES.iter().map(value)).collect()
    };
    let uuid = |last: u8| Value::Bytes([[0x11; 15].as_slice(), &[last]].concat().into());
    let visit = |last: u8, place: Value<'static>| {
        let made = 1_790_000_000_000_000 + i64::from(last);
        vec![
            uuid(last),
            place,
            "2026-11-22".into(),
            123_400.into(),
            made.into(),
            1.into(),
            9.into(),
        ]
    };
    [
        vec![row!["LHR", "Ärmel\0kanal"], row!["ZRH", "Zürich"]],
        (1..=3).map(every).collect(),
        (1..=40).map(|last| visit(last, if last % 3 == 0 { NULL } else { "ZRH".into() })).collect(),
    ]
}

fn fill(engine: &dyn Engine) -> Result<()> {
    let tables = tables();
    create(engine, &tables.each_ref())?;
    let probe = Probe::new(engine)?;
    probe.control(TransactionControl::Begin)?;
    tables.iter().zip(rows()).try_for_each(|(table, rows)| probe.insert_all(table, rows))?;
    probe.control(TransactionControl::Commit)
}

/// Makes the files of this version.
#[test]
#[ignore = "run by `cargo xtask fixtures`, before a release"]
fn make() {
    let folder = PathBuf::from(std::env::var("BOBAK_FIXTURES").unwrap());
    fs::create_dir_all(&folder).unwrap();
    for (name, journal) in [("log", JournalMode::Wal), ("journal", JournalMode::Delete)] {
        let path = folder.join(format!("{name}.sqlite"));
        fill(&Sqlite::builder().journal_mode(journal).open(path).unwrap()).unwrap();
    }
    // As a process leaves it that is killed: all is in the log still.
    let temporary = tempfile::tempdir().unwrap();
    let engine = Sqlite::open(temporary.path().join("killed.sqlite")).unwrap();
    fill(&engine).unwrap();
    for name in ["killed.sqlite", "killed.sqlite-wal"] {
        fs::copy(temporary.path().join(name), folder.join(name)).unwrap();
    }
    for (name, format) in [("binary", SnapshotFormat::Binary), ("json", SnapshotFormat::Json)] {
        let path = folder.join(format!("{name}.snapshot"));
        let memory = Memory::builder().snapshot(path).format(format).open().unwrap();
        fill(&memory).unwrap();
        memory.flush().unwrap();
    }
}

fn check(engine: &dyn Engine, name: &str) {
    let found = engine.tables().unwrap();
    let probe = Probe::new(engine).unwrap();
    for (table, rows) in tables().iter().zip(rows()) {
        let same = found.iter().any(|found| found.same_as(table));
        assert!(same, "{name}: {table:#?}\nis not among {found:#?}");
        assert_eq!(probe.all(table).unwrap(), rows, "{name}: {}", table.name());
    }
    // The rules are in force, and the file takes what is new.
    let [place, every, _] = tables();
    assert!(probe.insert(&place, row!["XXX", "ZÜRICH"]).is_err(), "{name}");
    let mut values = rows()[1][0].clone();
    values[0] = NULL;
    probe.insert(&every, values).unwrap();
    probe.delete(&place, row!["ZRH"]).unwrap();
    engine.flush().unwrap();
}

#[test]
fn old_files_are_opened() {
    let mut files = 0;
    for version in fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()) {
        let copy = tempfile::tempdir().unwrap();
        for file in fs::read_dir(&version).unwrap().map(|entry| entry.unwrap().path()) {
            fs::copy(&file, copy.path().join(file.file_name().unwrap())).unwrap();
        }
        for file in fs::read_dir(copy.path()).unwrap().map(|entry| entry.unwrap().path()) {
            let name = format!("{} of {}", file.display(), version.display());
            let open = || -> Option<Box<dyn Engine>> {
                match file.extension()?.to_str()? {
                    "sqlite" => Some(Box::new(Sqlite::open(&file).unwrap())),
                    "snapshot" => Some(Box::new(Memory::builder().snapshot(&file).open().unwrap())),
                    _ => None,
                }
            };
            let Some(engine) = open() else { continue };
            check(&*engine, &name);
            drop(engine);
            let again = open().unwrap();
            assert_eq!(Probe::new(&*again).unwrap().count(&tables()[1]).unwrap(), 4, "{name}");
            files += 1;
        }
    }
    assert!(files >= 5, "{files}");
}
