//! Files: snapshots of the memory engine, backups, archives of changes.

use crate::Target;
use bobak::archive::Archive;
use bobak::changes::TrackOptions;
use bobak::restore::RecoveryTarget;
use bobak::{Db, Record};
use bobak_core::{
    ColumnSchema, Engine, FieldSet, SchemaChange, TableSchema, Timestamp, Type, Value, Verb, Write,
};
use bobak_memory::{Memory, SnapshotFormat};
use bobak_sqlite::Sqlite;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Snapshots. Checksums of binary ones are corrected, so that the code behind them is reached.
pub(crate) const SNAPSHOT: Target = Target {
    name: "snapshot",
    about: "snapshots of the memory engine, in both forms",
    longest: 32 << 10,
    // LZ4 packs 255 bytes into one.
    factor: 2_000,
    run: |input| {
        let Some((way, rest)) = input.split_first() else { return };
        let bytes = if way & 1 == 0 { rest.to_vec() } else { with_sums(rest) };
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("snapshot");
        fs::write(&path, bytes).expect("a file is written");
        let Ok(engine) = Memory::builder().snapshot(&path).open() else { return };
        let tables = engine.tables().expect("the memory engine lists its tables");
        engine.flush().expect("what was read can be written");
        let again = Memory::builder().snapshot(&path).open().expect("what was written can be read");
        let mut theirs = again.tables().expect("the memory engine lists its tables");
        theirs.sort_by(|a, b| a.name().cmp(b.name()));
        let mut ours = tables;
        ours.sort_by(|a, b| a.name().cmp(b.name()));
        let same =
            ours.len() == theirs.len() && ours.iter().zip(&theirs).all(|(a, b)| a.same_as(b));
        assert!(same, "other tables came back");
    },
    seeds: || {
        let json = snapshot(SnapshotFormat::Json);
        let binary = snapshot(SnapshotFormat::Binary);
        vec![
            [&[0], json.as_slice()].concat(),
            [&[0], binary.as_slice()].concat(),
            [&[1], binary.as_slice()].concat(),
        ]
    },
};

/// Files that are given as backups: SQLite's, snapshots, compressed ones.
pub(crate) const BACKUP: Target = Target {
    name: "backup",
    about: "backups of SQLite and of the memory engine, plain and compressed",
    longest: 64 << 10,
    factor: 4_000,
    run: |input| {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("backup");
        fs::write(&path, input).expect("a file is written");
        let checked = Db::check_backup(&path);
        let to = folder.path().join("restored.db");
        let url = format!("sqlite:{}", to.display());
        let restored = Db::restore(&path, &url, &bobak::restore::RestoreOptions::new());
        assert!(checked.is_ok() || restored.is_err(), "restored, and is none: {checked:?}");
        if restored.is_ok() {
            let engine = Sqlite::open(&to).expect("what was restored can be opened");
            let _ = engine.tables().map(|tables| tables.len());
        } else {
            assert!(!to.exists(), "a failed restore left a file");
        }
    },
    seeds: || {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut seeds = vec![snapshot(SnapshotFormat::Binary)];
        for (ending, compression) in [
            ("db", bobak::backup::Compression::None),
            ("zst", bobak::backup::Compression::Zstd),
            ("gz", bobak::backup::Compression::Gzip),
        ] {
            let engine = Sqlite::open_memory().expect("a database in memory");
            fill(&engine);
            let db = Db::builder().open_engine(engine).expect("a database");
            let path = folder.path().join(ending);
            let options = bobak::backup::BackupOptions::new().compression(compression);
            db.backup(&path, &options, |_| Ok(())).expect("a backup is made");
            seeds.push(fs::read(&path).expect("a file is read"));
        }
        seeds
    },
};

/// A file of an archive, with corrected checksums.
pub(crate) const ARCHIVE: Target = Target {
    name: "archive",
    about: "files of changes behind a backup",
    longest: 32 << 10,
    factor: 200,
    run: |input| {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for (name, bytes) in
            [("00000000000000000000", input.to_vec()), ("1", frames_with_sums(input))]
        {
            let sub = folder.path().join(name);
            fs::create_dir(&sub).expect("a folder is made");
            let file = sub.join("00000000000000000000.changes");
            fs::write(file, bytes).expect("a file is written");
            let checked = Archive::check(&sub);
            for until in [
                RecoveryTarget::End,
                RecoveryTarget::Change(2),
                RecoveryTarget::Moment(Timestamp::UNIX_EPOCH),
            ] {
                let replayed = tracked().replay(&sub, until);
                assert!(checked.is_ok() || replayed.is_err(), "made, and damaged: {checked:?}");
            }
        }
    },
    seeds: || {
        let (db, folder) = (tracked(), tempfile::tempdir().expect("a temporary folder"));
        let mut archive = db.archive_to(folder.path()).expect("an archive is begun");
        let cities = db.table::<City>().expect("the table is there");
        for name in ["Bern", "Thun", "Biel"] {
            cities.insert(&City { id: 0, name: name.into(), people: None }).expect("a row fits");
        }
        cities.delete(2).expect("it is there");
        while archive.step(Duration::ZERO).expect("changes are written").changes > 0 {}
        vec![read(&folder.path().join("00000000000000000000.changes"))]
    },
};

/// The database that changes are replayed on.
#[derive(Debug, Record)]
struct City {
    id: i64,
    name: String,
    people: Option<i32>,
}

fn tracked() -> Db {
    let db = Db::builder().track::<City>(TrackOptions::new()).open("memory:");
    let db = db.expect("a database in memory");
    db.create_missing_tables().expect("the table can be");
    db
}

fn table() -> Arc<TableSchema> {
    let built = TableSchema::builder("plane")
        .column(ColumnSchema::new("id", Type::I64))
        .column(ColumnSchema::new("name", Type::Text).unique().max_chars(20))
        .column(ColumnSchema::new("any", Type::Any).nullable(true).default(Value::Float(1.5)))
        .column(ColumnSchema::new("seats", Type::I32).check("seats >= 0"))
        .key(["id"])
        .index("plane_seats", ["seats"])
        .build();
    Arc::new(built.expect("the table can be"))
}

fn fill(engine: &dyn Engine) {
    let table = table();
    engine.alter(&[SchemaChange::CreateTable(Arc::clone(&table))]).expect("the table can be");
    for id in 1..4 {
        let name = Value::from(format!("N{id}"));
        let values = [Value::Int(id), name, Value::Bytes(vec![0, 255].into()), Value::Int(id * 7)];
        let (verb, fields) = (Verb::Insert, FieldSet::EMPTY);
        engine.write(&Write { table: &table, verb, fields, values: &values }).expect("a row fits");
    }
}

fn snapshot(format: SnapshotFormat) -> Vec<u8> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("snapshot");
    let engine = Memory::builder().format(format).snapshot(&path).open().expect("a new one");
    fill(&engine);
    engine.flush().expect("it is written");
    read(&path)
}

fn read(path: &Path) -> Vec<u8> {
    fs::read(path).expect("a file is read")
}

/// A binary snapshot with corrected checksums; `docs/snapshot.md` says where they are.
fn with_sums(bytes: &[u8]) -> Vec<u8> {
    let mut out = bytes.to_vec();
    let mut at = 12;
    if let Some((start, sum)) = out.split_at_mut_checked(at) {
        let right = crc32fast::hash(start).to_le_bytes();
        sum.iter_mut().zip(right).for_each(|(place, byte)| *place = byte);
    }
    at += 4;
    while let Some(head) = out.get(at..).and_then(<[u8]>::first_chunk::<13>).copied() {
        let [_, _, _, _, _, a, b, c, d, ..] = head;
        let length = u32::from_le_bytes([a, b, c, d]) as usize;
        let Some(block) = out.get(at..).and_then(|rest| rest.get(..13 + length)) else { break };
        let mut hasher = crc32fast::Hasher::new();
        block.get(..9).into_iter().chain(block.get(13..)).for_each(|part| hasher.update(part));
        let sum = hasher.finalize().to_le_bytes();
        out.iter_mut().skip(at + 9).zip(sum).for_each(|(place, byte)| *place = byte);
        at += 13 + length;
    }
    out
}

/// A file of changes with corrected checksums.
fn frames_with_sums(bytes: &[u8]) -> Vec<u8> {
    let mut out = bytes.to_vec();
    let mut at = 24;
    if let Some((head, _)) = out.split_at_checked(20) {
        let sum = crc32fast::hash(head).to_le_bytes();
        out.iter_mut().skip(20).zip(sum).for_each(|(place, byte)| *place = byte);
    }
    while let Some([a, b, c, d]) = out.get(at..).and_then(<[u8]>::first_chunk::<4>).copied() {
        let length = u32::from_le_bytes([a, b, c, d]) as usize;
        let content = out.get(at..).and_then(|rest| rest.get(8..)?.get(..length));
        let Some(sum) = content.map(crc32fast::hash) else { break };
        out.iter_mut().skip(at + 4).zip(sum.to_le_bytes()).for_each(|(place, byte)| *place = byte);
        at += 8 + length;
    }
    out
}
