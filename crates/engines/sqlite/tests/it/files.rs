//! Files: settings, and those that are no databases, full or read-only.

use crate::support::*;
use bobak_core::{Engine, ErrorKind, TransactionControl, Value};
use bobak_sqlite::{JournalMode, LockingMode, OpenMode, Sqlite, SqliteError, Synchronous};
use std::fs;

fn kind(result: bobak_core::Result<Sqlite>) -> ErrorKind {
    result.unwrap_err().kind()
}

#[test]
fn invalid_file_is_rejected_and_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let mut damaged = b"SQLite format 3\0".to_vec();
    damaged.extend([7; 5000]);
    for bytes in [&b"this is a text, and no database at all\n".repeat(100)[..], &damaged] {
        fs::write(&path, bytes).unwrap();
        let error = Sqlite::open(&path).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
        assert!(error.to_string().contains("a.db"), "{error}");
        assert_eq!(fs::read(&path).unwrap(), bytes);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}

#[test]
fn damaged_page_is_reported_when_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let engine = Sqlite::open(&path).unwrap();
    create(&engine, &[&person()]);
    let session = engine.session().unwrap();
    for _ in 0..500 {
        insert(&*session, &person(), &values(0, &"x".repeat(50), None));
    }
    drop(session);
    drop(engine);
    let mut bytes = fs::read(&path).unwrap();
    let length = bytes.len();
    bytes[3 * 4096..length].fill(0xab);
    fs::write(&path, bytes).unwrap();
    let engine = Sqlite::open(&path).unwrap();
    let session = engine.session().unwrap();
    let error = query(&*session, "SELECT * FROM person", &[]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
}

#[test]
fn missing_files_and_directories_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("no").join("a.db");
    let error = Sqlite::open(&missing).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io);
    assert!(error.to_string().contains("a.db"), "{error}");
    assert_eq!(
        kind(Sqlite::builder().mode(OpenMode::ReadWrite).open(folder.path().join("b.db"))),
        ErrorKind::Io
    );
    assert_eq!(
        kind(Sqlite::builder().mode(OpenMode::ReadOnly).open(folder.path().join("b.db"))),
        ErrorKind::Io
    );
    assert_eq!(kind(Sqlite::open(folder.path())), ErrorKind::Io);
    assert_eq!(kind(Sqlite::open("")), ErrorKind::Config);
    assert_eq!(kind(Sqlite::builder().page_size(1000).open_memory()), ErrorKind::Config);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn special_names_are_paths() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file:x?mode=memory#%20ü.db");
    create(&Sqlite::open(&path).unwrap(), &[&person()]);
    assert!(path.is_file());
    assert_eq!(Sqlite::open(&path).unwrap().tables().unwrap().len(), 1);
}

#[test]
fn read_only_database_rejects_writes() {
    let folder = tempfile::tempdir().unwrap();
    for journal in [JournalMode::Wal, JournalMode::Delete] {
        let path = folder.path().join(journal.as_str());
        let engine = Sqlite::builder().journal_mode(journal).open(&path).unwrap();
        create(&engine, &[&person()]);
        insert(&*engine.session().unwrap(), &person(), &values(0, "a", None));
        drop(engine);
        let before = fs::read(&path).unwrap();
        let engine = Sqlite::builder().mode(OpenMode::ReadOnly).open(&path).unwrap();
        let session = engine.session().unwrap();
        assert_eq!(one(&*session, "SELECT count(*) FROM person"), Value::Int(1));
        let row = values(0, "b", None);
        let error = write(&*session, &person(), bobak_core::Verb::Insert, &row).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ReadOnly, "{error}");
        let error = session.execute("DELETE FROM person", &[]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ReadOnly, "{error}");
        engine.flush().unwrap();
        drop((session, engine.clone()));
        drop(engine);
        assert_eq!(fs::read(&path).unwrap(), before);
    }
}

#[test]
fn full_database_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    for (name, engine) in [
        ("wal", Sqlite::open(folder.path().join("wal.db")).unwrap()),
        ("memory", Sqlite::open_memory().unwrap()),
    ] {
        create(&engine, &[&person()]);
        let session = engine.session().unwrap();
        session.execute("PRAGMA max_page_count = 20", &[]).unwrap();
        let row = values(0, &"x".repeat(1000), None);
        let mut count = 0;
        let error = loop {
            match write(&*session, &person(), bobak_core::Verb::Insert, &row) {
                Ok(_) => count += 1,
                Err(error) => break error,
            }
        };
        assert_eq!(error.kind(), ErrorKind::Full, "{name}: {error}");
        assert_eq!(error.table(), Some("person"));
        let source = std::error::Error::source(&error).unwrap();
        assert_eq!(source.downcast_ref::<SqliteError>().unwrap().code(), 13);
        assert_eq!(one(&*session, "SELECT count(*) FROM person"), Value::Int(count));
        // In a transaction, what was there before it stays, and it can be ended.
        session.control(TransactionControl::Begin).unwrap();
        let failed = (0..100)
            .find_map(|_| write(&*session, &person(), bobak_core::Verb::Insert, &row).err());
        assert_eq!(failed.unwrap().kind(), ErrorKind::Full);
        session.control(TransactionControl::Rollback).unwrap();
        assert_eq!(one(&*session, "SELECT count(*) FROM person"), Value::Int(count));
    }
}

#[test]
fn settings_reach_the_database() {
    let folder = tempfile::tempdir().unwrap();
    let builder = || Sqlite::builder().page_size(8192).cache_bytes(1 << 20).mmap_bytes(1 << 20);
    let mut number = 0;
    for journal in ["wal", "delete", "truncate", "persist", "memory", "off"] {
        for (sync, code) in [("extra", 3), ("full", 2), ("NORMAL", 1), ("off", 0)] {
            for locking in [LockingMode::Normal, LockingMode::Exclusive] {
                number += 1;
                let engine = builder()
                    .journal_mode(journal.parse().unwrap())
                    .synchronous(sync.parse().unwrap())
                    .locking(locking)
                    .open(folder.path().join(format!("{number}.db")))
                    .unwrap();
                let session = engine.session().unwrap();
                session.control(TransactionControl::Begin).unwrap();
                let pragma = |name: &str| one(&*session, &format!("PRAGMA {name}"));
                assert_eq!(pragma("journal_mode"), journal.into());
                assert_eq!(pragma("synchronous"), Value::Int(code));
                assert_eq!(pragma("page_size"), Value::Int(8192));
                assert_eq!(pragma("cache_size"), Value::Int(-1024));
                assert_eq!(pragma("mmap_size"), Value::Int(1 << 20));
                assert_eq!(pragma("foreign_keys"), Value::Int(1));
                assert_eq!(pragma("locking_mode"), locking.as_str().into());
                session.control(TransactionControl::Commit).unwrap();
                create(&engine, &[&person()]);
                insert(&*session, &person(), &values(0, "a", None));
                engine.flush().unwrap();
                assert_eq!(pragma("synchronous"), Value::Int(code));
            }
        }
    }
    assert_eq!("wall".parse::<JournalMode>().unwrap_err().kind(), ErrorKind::Config);
    assert_eq!("Full".parse::<Synchronous>().unwrap(), Synchronous::Full);
}

#[test]
fn closed_database_is_one_file() {
    let folder = tempfile::tempdir().unwrap();
    let engine = Sqlite::open(folder.path().join("a.db")).unwrap();
    create(&engine, &[&person()]);
    let session = engine.session().unwrap();
    assert_eq!(one(&*session, "SELECT count(*) FROM person"), Value::Int(0));
    drop(session);
    drop(engine);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

/// Others may take the file away by means that look at no lock.
#[test]
#[cfg(unix)]
fn replaced_file_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let engine = Sqlite::builder().journal_mode(JournalMode::Delete).open(&path).unwrap();
    create(&engine, &[&person()]);
    fs::copy(&path, folder.path().join("b.db")).unwrap();
    fs::rename(folder.path().join("b.db"), &path).unwrap();
    let session = engine.session().unwrap();
    let row = values(0, "a", None);
    let error = write(&*session, &person(), bobak_core::Verb::Insert, &row).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Io, "{error}");
    assert!(error.to_string().contains("open it again"), "{error}");
}
