//! The WAL of a file: commits checkpoint it, and so does a backup.

use crate::support::*;
use bobak_core::{BackupJob, BackupProgress, Engine, Error, ErrorKind, Result, Value};
use bobak_sqlite::{Sqlite, Synchronous};
use std::fs;
use std::path::{Path, PathBuf};

/// A page, and with its head in the log.
const PAGE: u64 = 4_096;
const LOGGED: u64 = PAGE + 24;

struct Place {
    _folder: tempfile::TempDir,
    file: PathBuf,
    log: PathBuf,
    engine: Sqlite,
}

impl Place {
    fn new(synchronous: Synchronous) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.db");
        let engine = Sqlite::builder().synchronous(synchronous).open(&file).unwrap();
        create(&engine, &[&person()]);
        let log = folder.path().join("a.db-wal");
        Self { _folder: folder, file, log, engine }
    }

    /// So many commits, each of more than a page.
    fn write(&self, commits: u64) {
        let session = self.engine.session().unwrap();
        let name = "n".repeat(4_096);
        for _ in 0..commits {
            insert(&*session, &person(), &values(0, &name, None));
        }
    }

    fn back_up(&self, watch: &mut dyn FnMut(BackupProgress) -> Result<()>) -> Result<()> {
        let file = &self.file.with_file_name("b.db");
        let job = BackupJob { file, target: file, pauses: false, watch };
        self.engine.backup(job).map(drop)
    }

    /// Checks that commits checkpoint the log from now on, and reuse it.
    fn check_moved(&self) {
        self.write(1);
        let length = size(&self.log);
        self.write(3_000);
        let grown = size(&self.log).saturating_sub(length);
        assert!(grown <= 1_100 * LOGGED, "{length} bytes, and then {grown}");
    }
}

fn size(file: &Path) -> u64 {
    fs::metadata(file).unwrap().len()
}

#[test]
fn commits_checkpoint_the_log() {
    let place = Place::new(Synchronous::Normal);
    place.write(2_000);
    let length = size(&place.log);
    assert!(length <= 1_100 * LOGGED, "{length}");
    assert!(size(&place.file) >= 900 * PAGE);
    // A session can set its own interval.
    place.engine.session().unwrap().execute("PRAGMA wal_autocheckpoint = 5000", &[]).unwrap();
    place.write(2_000);
    assert!(size(&place.log) > 2_500 * PAGE);
}

#[test]
fn backup_checkpoints_the_accumulated_log() {
    for fails in [false, true] {
        let place = Place::new(Synchronous::Normal);
        place.write(500);
        place.engine.flush().unwrap();
        let before = size(&place.file);
        let mut first = true;
        let result = place.back_up(&mut |_| {
            if !std::mem::take(&mut first) {
                return Ok(());
            }
            place.write(3_000);
            assert_eq!(size(&place.file), before, "commits leave it where it is");
            assert!(size(&place.log) > 3_000 * PAGE);
            match fails {
                true => Err(Error::new(ErrorKind::Interrupted, "enough")),
                false => Ok(()),
            }
        });
        assert_eq!(result.is_err(), fails);
        assert!(size(&place.file) > before + 3_000 * PAGE);
        place.check_moved();
    }
}

#[test]
fn extended_log_is_read_correctly() {
    let place = Place::new(Synchronous::Full);
    place.write(700);
    let (length, mut longest) = (size(&place.log), 0);
    let copy = tempfile::tempdir().unwrap();
    place
        .back_up(&mut |_| {
            longest = longest.max(size(&place.log));
            if longest > length && fs::read_dir(copy.path()).unwrap().next().is_none() {
                // What a process that is killed now leaves.
                for file in [&place.file, &place.log] {
                    fs::copy(file, copy.path().join(file.file_name().unwrap())).unwrap();
                }
            }
            place.write(1);
            Ok(())
        })
        .unwrap();
    assert!(longest >= length + (1 << 20), "{length}, and then {longest}");
    for engine in [Sqlite::open(copy.path().join("a.db")).unwrap(), place.engine.clone()] {
        let session = engine.session().unwrap();
        assert_eq!(one(&*session, "PRAGMA integrity_check"), Value::from("ok"));
        let rows = one(&*session, "SELECT count(*) FROM person");
        assert!(matches!(rows, Value::Int(700..)), "{rows:?}");
        insert(&*session, &person(), &values(0, "one more", None));
    }
}
