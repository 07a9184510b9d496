//! The disk that fails: as good as a real one while nothing is planned, and as bad as told.

use crate::support::*;
use bobak_core::{Engine, Error, ErrorKind, Result, TransactionControl, Value};
use bobak_fault_vfs::{Disk, DiskCall, Loss};
use bobak_sqlite::{JournalMode, Sqlite, SqliteBuilder, Synchronous};
use std::time::{Duration, Instant};

fn builder(disk: &Disk) -> SqliteBuilder {
    Sqlite::builder().vfs(disk.vfs()).busy_timeout(Duration::from_millis(100))
}

fn open(disk: &Disk) -> Sqlite {
    builder(disk).open("a.db").unwrap()
}

fn add(engine: &Sqlite) -> Result<()> {
    write(&*engine.session()?, &person(), bobak_core::Verb::Insert, &values(0, "a", None)).map(drop)
}

fn count(engine: &Sqlite) -> Value<'static> {
    one(&*engine.session().unwrap(), "SELECT count(*) FROM person")
}

fn kind(result: Result<()>) -> Option<ErrorKind> {
    result.err().map(|error| error.kind())
}

#[test]
fn several_connections_share_the_disk() {
    for journal in [JournalMode::Wal, JournalMode::Delete, JournalMode::Truncate] {
        let disk = Disk::new(1).unwrap();
        let open = || builder(&disk).journal_mode(journal).open("a.db").unwrap();
        let (one, two) = (open(), open());
        create(&one, &[&person()]);
        let session = one.session().unwrap();
        session.control(TransactionControl::Begin).unwrap();
        insert(&*session, &person(), &values(0, "x", None));
        assert_eq!(kind(add(&two)), Some(ErrorKind::Busy));
        assert_eq!(count(&two), Value::Int(0));
        session.control(TransactionControl::Commit).unwrap();
        add(&two).unwrap();
        assert_eq!(count(&one), Value::Int(2));
        drop(session);
        drop((one, two));
        let left: &[_] = match journal {
            JournalMode::Truncate => &["a.db", "a.db-journal"],
            _ => &["a.db"],
        };
        assert_eq!(disk.files(), left);
    }
}

#[test]
fn missing_disk_and_power_cut_are_errors() {
    let error = Sqlite::builder().vfs("nosuch").open("a.db").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Config, "{error}");
    let disk = Disk::new(1).unwrap();
    let engine = open(&disk);
    disk.cut_power(Loss::All);
    assert!(add(&engine).is_err());
    assert_eq!(builder(&disk).open("a.db").unwrap_err().kind(), ErrorKind::Io);
    let name = disk.vfs().to_owned();
    drop((engine, disk));
    assert!(Sqlite::builder().vfs(name).open("a.db").is_err());
}

#[test]
fn only_the_nth_call_fails() {
    for journal in [JournalMode::Wal, JournalMode::Delete] {
        for call in [
            DiskCall::Read,
            DiskCall::Write,
            DiskCall::Sync,
            DiskCall::Truncate,
            DiskCall::Delete,
            DiskCall::Lock,
        ] {
            for nth in 1..=4 {
                let disk = Disk::new(nth).unwrap();
                let extra = || builder(&disk).synchronous(Synchronous::Extra).readers(1);
                let open = || extra().journal_mode(journal).open("a.db").unwrap();
                let engine = open();
                create(&engine, &[&person()]);
                disk.fail(call, nth, 0);
                let before = disk.calls(call);
                let failed: Vec<Error> = (0..5).filter_map(|_| add(&engine).err()).collect();
                disk.clear_faults();
                assert!(failed.len() <= 1, "{journal:?} {call:?} {nth}: {failed:?}");
                let reached = disk.calls(call) >= before + nth;
                assert!(failed.is_empty() || reached, "{journal:?} {call:?} {nth}");
                let there = count(&engine);
                let unknown = failed.iter().any(|error| error.kind() == ErrorKind::Unknown);
                let expected = Value::Int(5 - failed.len() as i64);
                assert!(unknown || there == expected, "{journal:?} {call:?} {nth}: {failed:?}");
                drop(engine);
                disk.cut_power(Loss::All);
                disk.power_on();
                assert_eq!(count(&open()), there, "{journal:?} {call:?} {nth}");
            }
        }
    }
}

#[test]
fn full_disk_rejects_writes_and_keeps_data() {
    for journal in [JournalMode::Wal, JournalMode::Delete] {
        let disk = Disk::new(1).unwrap();
        let engine = builder(&disk).journal_mode(journal).open("a.db").unwrap();
        create(&engine, &[&person()]);
        add(&engine).unwrap();
        for room in [0, 1, 600, 5000] {
            disk.set_capacity(Some(disk.used_bytes() + room));
            let mut rows = 0;
            let error = loop {
                match add(&engine) {
                    Ok(()) => rows += 1,
                    Err(error) => break error,
                }
                assert!(rows < 10_000, "the disk is full some time");
            };
            assert_eq!(error.kind(), ErrorKind::Full, "{error}");
            disk.set_capacity(None);
            add(&engine).unwrap();
        }
        assert_eq!(one(&*engine.session().unwrap(), "PRAGMA integrity_check"), "ok".into());
    }
}

#[test]
fn syncs_can_be_delayed_and_ignored() {
    let disk = Disk::new(1).unwrap();
    let engine = open(&disk);
    create(&engine, &[&person()]);
    disk.set_sync_delay(Duration::from_millis(3));
    let start = Instant::now();
    add(&engine).unwrap();
    assert!(start.elapsed() >= Duration::from_millis(3));
    disk.set_sync_delay(Duration::ZERO);
    disk.set_ignores_syncs(true);
    add(&engine).unwrap();
    disk.cut_power(Loss::All);
    drop(engine);
    disk.power_on();
    assert_eq!(count(&open(&disk)), Value::Int(1));
}

#[test]
fn losses_depend_on_the_seed_only() {
    let left = |seed| {
        let disk = Disk::new(seed).unwrap();
        let engine = builder(&disk).synchronous(Synchronous::Off).open("a.db").unwrap();
        create(&engine, &[&person()]);
        disk.cut_power_at(20, Loss::Some);
        while add(&engine).is_ok() {}
        drop(engine);
        disk.power_on();
        let lengths = disk.files().into_iter().map(|name| disk.content(&name).map(|c| c.len()));
        lengths.collect::<Vec<_>>()
    };
    assert_eq!(left(3), left(3));
    assert!((4..40).any(|seed| left(seed) != left(3)));
}

/// A process that is killed in the middle of a commit leaves its journal: readers of other processes
/// roll it back, not only the next writer.
#[test]
fn reader_rolls_back_a_killed_transaction() {
    let disk = Disk::new(1).unwrap();
    let open = || builder(&disk).journal_mode(JournalMode::Delete).open("a.db").unwrap();
    let (killed, reader) = (open(), open());
    create(&killed, &[&person()]);
    add(&killed).unwrap();
    assert_eq!(count(&reader), Value::Int(1));
    // The commit, and the rollback after it, fail at the journal's removal.
    disk.fail(DiskCall::Delete, 1, 10);
    assert!(add(&killed).is_err());
    drop(killed);
    disk.clear_faults();
    assert!(disk.files().contains(&"a.db-journal".to_owned()));
    assert_eq!(count(&reader), Value::Int(1));
    assert_eq!(disk.files(), ["a.db"]);
}
