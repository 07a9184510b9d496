//! Backups on a disk that fails: what is there is never harmed.

use crate::support::*;
use bobak_core::{BackupContent, BackupJob, Engine, ErrorKind, Result, Value};
use bobak_fault_vfs::{Disk, DiskCall};
use bobak_sqlite::{JournalMode, Sqlite, Synchronous};
use std::path::Path;
use std::time::Duration;

const ROWS: i64 = 300;

fn open(disk: &Disk, journal: JournalMode) -> Sqlite {
    let builder = Sqlite::builder().vfs(disk.vfs()).busy_timeout(Duration::from_millis(100));
    let engine =
        builder.journal_mode(journal).synchronous(Synchronous::Normal).open("a.db").unwrap();
    create(&engine, &[&person()]);
    let session = engine.session().unwrap();
    for id in 1..=ROWS {
        insert(&*session, &person(), &values(id, &"name ".repeat(40), None));
    }
    drop(session);
    engine
}

fn back_up(engine: &Sqlite, file: &str) -> Result<BackupContent> {
    let file = Path::new(file);
    engine.backup(BackupJob { file, target: file, pauses: false, watch: &mut |_| Ok(()) })
}

fn sound(engine: &Sqlite) {
    let session = engine.session().unwrap();
    assert_eq!(one(&*session, "PRAGMA integrity_check"), Value::from("ok"));
    assert_eq!(one(&*session, "SELECT count(*) FROM person"), Value::Int(ROWS));
    let change = "UPDATE person SET amount = 1";
    assert_eq!(session.execute(change, &[]).unwrap(), ROWS as u64);
}

#[test]
fn calls_that_fail() {
    for journal in [JournalMode::Wal, JournalMode::Delete] {
        for call in
            [DiskCall::Read, DiskCall::Write, DiskCall::Sync, DiskCall::Truncate, DiskCall::Lock]
        {
            for nth in [1, 2, 3, 5, 9, 17, 33] {
                let disk = Disk::new(nth).unwrap();
                let engine = open(&disk, journal);
                let before = disk.calls(call);
                disk.fail(call, nth, 0);
                let result = back_up(&engine, "b.db");
                let failed = disk.calls(call) - before >= nth;
                disk.clear_faults();
                match result {
                    // A read or lock that fails may be one that SQLite does without.
                    Ok(content) => assert_eq!(content.rows(), ROWS as u64),
                    Err(error) => {
                        assert!(failed, "{journal:?} {call:?} {nth}: {error}");
                        let kinds = [ErrorKind::Io, ErrorKind::Busy, ErrorKind::Full];
                        assert!(
                            kinds.contains(&error.kind()),
                            "{journal:?} {call:?} {nth}: {error}"
                        );
                    }
                }
                sound(&engine);
                assert_eq!(back_up(&engine, "c.db").unwrap().rows(), ROWS as u64);
            }
        }
    }
}

#[test]
fn backup_to_a_full_disk_fails() {
    let disk = Disk::new(1).unwrap();
    let engine = open(&disk, JournalMode::Wal);
    engine.flush().unwrap();
    for room in [0, 100, 5_000, 60_000] {
        disk.set_capacity(Some(disk.used_bytes() + room));
        let error = back_up(&engine, &format!("b{room}.db")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Full, "{room}: {error}");
        assert!(error.message().contains(&format!("b{room}.db")), "{error}");
        disk.set_capacity(None);
        sound(&engine);
    }
    back_up(&engine, "c.db").unwrap();
}

#[test]
fn backup_over_its_own_file_is_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.db");
    let engine = Sqlite::open(&file).unwrap();
    let rejected = back_up(&engine, file.to_str().unwrap()).unwrap_err();
    assert_eq!(rejected.kind(), ErrorKind::Misuse, "{rejected}");
    // Inside a transaction of this very thread, on the only connection: it would wait for itself.
    let engine = memory();
    let session = engine.session().unwrap();
    session.control(bobak_core::TransactionControl::Begin).unwrap();
    let to = folder.path().join("b.db");
    let busy = back_up(&engine, to.to_str().unwrap()).unwrap_err();
    assert_eq!(busy.kind(), ErrorKind::Busy, "{busy}");
}
