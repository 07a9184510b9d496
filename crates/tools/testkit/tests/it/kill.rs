//! Processes that are killed in the middle of their work, on real files. `docs/durability.md` names
//! these tests.

use crate::stores;
use bobak_core::{Engine, ErrorKind, Result};
use bobak_kv::Kv;
use bobak_memory::{Memory, SnapshotFormat};
use bobak_sqlite::{JournalMode, LockingMode, Sqlite, Synchronous};
use bobak_testkit::crash::marks;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

const STORE: &str = "BOBAK_TEST_KILL_STORE";
const FOLDER: &str = "BOBAK_TEST_KILL_FOLDER";

/// Opens the store of this name; and whether commits are flushed before they are acknowledged.
fn open(store: &str, folder: &Path) -> Result<(Box<dyn Engine>, bool)> {
    let sqlite = |journal, locking| {
        let builder = Sqlite::builder().journal_mode(journal).locking(locking);
        builder.synchronous(Synchronous::Off).open(folder.join("kill.db"))
    };
    let memory = |format| Memory::builder().snapshot(folder.join("kill")).format(format).open();
    Ok(match store {
        "wal" => (Box::new(sqlite(JournalMode::Wal, LockingMode::Normal)?), false),
        "delete" => (Box::new(sqlite(JournalMode::Delete, LockingMode::Normal)?), false),
        "exclusive" => (Box::new(sqlite(JournalMode::Delete, LockingMode::Exclusive)?), false),
        "kv" => (Box::new(Kv::open(folder.join("kill.kv"))?), false),
        "json" => (Box::new(memory(SnapshotFormat::Json)?), true),
        _ => (Box::new(memory(SnapshotFormat::Binary)?), true),
    })
}

/// The process that is killed: says the number of each commit when it is acknowledged.
#[test]
#[ignore = "run by the tests below, in a process of its own"]
fn writes_until_it_is_killed() {
    let folder = std::env::var(FOLDER).unwrap();
    let (engine, flush) = open(&std::env::var(STORE).unwrap(), folder.as_ref()).unwrap();
    let mut out = std::io::stdout().lock();
    let mut say = |number| writeln!(out, "\ncommit {number}").and_then(|()| out.flush()).is_ok();
    marks::write(&*engine, flush, &mut say).unwrap();
}

/// Kills a process after so many commits, at whatever it is doing then, and checks what is left.
fn kill_after(store: &str, commits: usize) {
    let folder = tempfile::tempdir().unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "kill::writes_until_it_is_killed", "--ignored", "--nocapture"])
        .env(STORE, store)
        .env(FOLDER, folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let said = BufReader::new(child.stdout.take().unwrap()).lines();
    let number = |line: String| line.strip_prefix("commit ").and_then(|n| n.parse::<u64>().ok());
    let mut said = said.map_while(|line| line.ok()).filter_map(number);
    let mut acknowledged = said.by_ref().take(commits + 1).last().unwrap();
    child.kill().unwrap();
    // What it said before it died counts too.
    acknowledged = said.last().unwrap_or(acknowledged);
    child.wait().unwrap();
    let (engine, _) = open(store, folder.path()).unwrap();
    let there = marks::read(&*engine).unwrap();
    let allowed = [acknowledged, acknowledged + 1];
    assert!(allowed.contains(&there), "{store}: {there} are there, {acknowledged} acknowledged");
}

#[test]
fn sqlite_keeps_what_was_acknowledged() {
    for (number, store) in ["wal", "delete", "exclusive"].into_iter().enumerate() {
        for commits in [1, 40, 300 + number] {
            kill_after(store, commits);
        }
    }
}

#[test]
fn a_key_value_file_keeps_what_was_acknowledged() {
    for commits in [1, 7, 40, 300] {
        kill_after("kv", commits);
    }
}

#[test]
fn a_snapshot_keeps_what_was_flushed() {
    for store in ["binary", "json"] {
        for commits in [0, 1, 7, 60] {
            kill_after(store, commits);
        }
    }
}

#[test]
fn memory_loses_what_was_not_flushed() {
    let mut store = stores::memory_with_snapshot().unwrap();
    marks::write(store.engine(), false, &mut |number| number < 5).unwrap();
    assert!(store.reopen().unwrap());
    assert_eq!(marks::read(store.engine()), Ok(5), "it is flushed before it is closed");
    let folder = tempfile::tempdir().unwrap();
    let (engine, _) = open("binary", folder.path()).unwrap();
    marks::write(&*engine, false, &mut |number| number < 5).unwrap();
    drop(engine);
    assert!(open("binary", folder.path()).unwrap().0.tables().unwrap().is_empty());
}

/// The power is cut at each step of a flush: the file is the old one or the new one, and the new one
/// when it is done. A step that fails leaves the old one, or, once it was renamed, the new one.
#[test]
#[cfg(unix)]
fn a_snapshot_and_a_power_cut() {
    use bobak_testkit::crash::files::{cut_at_each_step, fail_step};
    for store in ["binary", "json"] {
        let folder = tempfile::tempdir().unwrap();
        let (engine, _) = open(store, folder.path()).unwrap();
        marks::write(&*engine, true, &mut |number| number < 5).unwrap();
        marks::write_on(&*engine, 6, &mut |number| Ok(number < 9)).unwrap();
        let states = cut_at_each_step(folder.path(), || engine.flush().unwrap()).unwrap();
        assert!(states.len() >= 16, "{}", states.len());
        for left in &states {
            let after = tempfile::tempdir().unwrap();
            left.lay_out(after.path()).unwrap();
            let there = marks::read(&*open(store, after.path()).unwrap().0).unwrap();
            let allowed: &[u64] = if left.done { &[9] } else { &[5, 9] };
            assert!(allowed.contains(&there), "{store}: {there} are there, {}", left.what);
        }
        let kinds = [std::io::ErrorKind::StorageFull, std::io::ErrorKind::Other];
        for (kind, expected) in kinds.into_iter().zip([ErrorKind::Full, ErrorKind::Io]) {
            let mut step = 0;
            while fail_step(step, kind, || {
                if let Err(error) = engine.flush() {
                    assert_eq!(error.kind(), expected, "{error}");
                }
            }) {
                assert_eq!(marks::read(&*open(store, folder.path()).unwrap().0), Ok(9));
                step += 1;
            }
            assert_eq!(step, 3, "a sync, a rename, and a sync of the folder");
        }
        assert_eq!(
            std::fs::read_dir(folder.path()).unwrap().count(),
            1,
            "no temporary file is left"
        );
    }
}

/// `/dev/full` takes no byte: the snapshot is written aside, so a link there is in its way.
#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_leaves_the_old_snapshot() {
    for store in ["binary", "json"] {
        let folder = tempfile::tempdir().unwrap();
        let (engine, _) = open(store, folder.path()).unwrap();
        marks::write(&*engine, true, &mut |number| number < 5).unwrap();
        let before = std::fs::read(folder.path().join("kill")).unwrap();
        let temporary = folder.path().join(format!("kill.{}.new", std::process::id()));
        std::os::unix::fs::symlink("/dev/full", &temporary).unwrap();
        assert_eq!(engine.flush().unwrap_err().kind(), ErrorKind::Full);
        assert_eq!(std::fs::read(folder.path().join("kill")).unwrap(), before);
        assert!(!temporary.is_symlink(), "no temporary file is left");
        engine.flush().unwrap();
    }
}
