//! Backups of databases while they are written.

mod fixtures;

use bobak::backup::{BackupOptions, BackupPhase, Checksum, Compression};
use bobak::prelude::*;
use bobak::restore::RestoreOptions;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;

#[derive(Record, Clone, Debug, PartialEq)]
struct Account {
    id: i64,
    balance: i64,
    #[record(unique, max = 80)]
    name: String,
}

const ACCOUNTS: i64 = 2_000;

pub(crate) fn open(url: &str) -> Db {
    let db = Db::builder().record::<Account>().open(url).unwrap();
    db.create_missing_tables().unwrap();
    db
}

pub(crate) fn fill(db: &Db) {
    let mut batch = db.batch(BatchOptions::new());
    for id in 1..=ACCOUNTS {
        batch.insert(&Account { id: 0, balance: 100, name: format!("{id:060}") }).unwrap();
    }
    batch.finish().unwrap();
}

pub(crate) fn url(path: &Path, settings: &str) -> String {
    format!("sqlite:{}{settings}", path.display())
}

/// Moves money until `stop` is set, so that the sum is the same at every moment; reports its start to `begun`.
fn move_money(db: &Db, stop: &AtomicBool, begun: mpsc::Sender<()>) {
    for moved in 0.. {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        db.transaction(|transaction| {
            let accounts = transaction.table::<Account>()?;
            for (id, amount) in [(moved % ACCOUNTS, -7), (moved * 31 % ACCOUNTS, 7)] {
                let mut account = accounts.require(id + 1)?;
                account.balance += amount;
                accounts.update(&account)?;
            }
            Ok(())
        })
        .unwrap();
        // Only the first message has a receiver.
        let _ = begun.send(());
    }
}

pub(crate) fn check(url: &str) {
    let db = open(url);
    let sum = db.sql::<(i64, i64)>("SELECT count(*), sum(balance) FROM account", ()).unwrap();
    assert_eq!(sum, [(ACCOUNTS, 100 * ACCOUNTS)]);
}

/// In every journal mode: the backup is of one moment, and no writer is rejected.
#[test]
fn a_backup_during_writes_is_of_one_moment() {
    for settings in [
        "?synchronous=normal",
        "?journal_mode=delete&synchronous=off",
        "?journal_mode=delete&synchronous=off&locking=exclusive",
    ] {
        let folder = tempfile::tempdir().unwrap();
        let db = open(&url(&folder.path().join("app.db"), settings));
        fill(&db);
        let file = folder.path().join("backup.db");
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                let (db, stop, (begun, begins)) = (&db, &stop, mpsc::channel());
                scope.spawn(move || move_money(db, stop, begun));
                begins.recv().unwrap();
            }
            let mut phases = Vec::new();
            let report = db
                .backup(&file, &BackupOptions::new(), |step| {
                    assert!(step.done <= step.of);
                    phases.push(step.phase);
                    Ok(())
                })
                .unwrap();
            stop.store(true, Ordering::Relaxed);
            phases.dedup();
            assert_eq!(phases, [BackupPhase::Copy, BackupPhase::Check]);
            assert_eq!(report.tables, [("account".to_owned(), ACCOUNTS as u64)]);
            assert!(report.compared && report.bytes > 100_000, "{report:?}");
        });
        // A single file, which only its owner can read.
        let names = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
        let names: Vec<_> =
            names.filter(|name| name.to_string_lossy().contains("backup")).collect();
        assert_eq!(names, ["backup.db"]);
        check(&url(&file, "?mode=ro&journal_mode=delete"));
        db.backup(folder.path().join("again.db"), &BackupOptions::new(), |_| Ok(())).unwrap();
    }
}

#[test]
fn a_compressed_backup_is_restored() {
    let folder = tempfile::tempdir().unwrap();
    let db = open("sqlite::memory:");
    fill(&db);
    for compression in [Compression::None, Compression::Zstd, Compression::Gzip] {
        let packs = compression != Compression::None;
        let file = folder.path().join(format!("{compression:?}"));
        let options = BackupOptions::new().compression(compression);
        if packs && !cfg!(feature = "compress") {
            let error = db.backup(&file, &options, |_| Ok(())).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unsupported);
            continue;
        }
        let report = db.backup(&file, &options, |_| Ok(())).unwrap();
        let stored = fs::metadata(&file).unwrap().len();
        assert_eq!((report.stored, report.compression), (stored, compression));
        assert_eq!(packs, stored < report.bytes / 2, "{report:?}");
        let mut piped = Vec::new();
        db.backup_to(&mut piped, &options, |_| Ok(())).unwrap();
        assert_eq!(piped.len() as u64, stored);
        let checked = Db::check_backup(&file).unwrap();
        assert_eq!((checked.tables, checked.compared), (report.tables, true));
        assert_eq!((checked.checksum, checked.bytes), (Checksum::Same, report.bytes));
        let place = url(&folder.path().join(format!("{compression:?}.db")), "");
        Db::restore(&file, &place, &RestoreOptions::new()).unwrap();
        check(&place);
    }
}

/// A backup with any byte changed, or truncated anywhere, is rejected and changes nothing.
#[test]
#[cfg(feature = "compress")]
fn damaged_backups_are_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let db = Db::open("sqlite::memory:").unwrap();
    db.execute("CREATE TABLE t AS SELECT 1 AS a, 'text' AS b", ()).unwrap();
    let place = folder.path().join("app.db");
    drop(open(&url(&place, "?journal_mode=delete")));
    let before = fs::read(&place).unwrap();
    let options = RestoreOptions::new().overwrite(true);
    for compression in [Compression::Zstd, Compression::Gzip] {
        let mut good = Vec::new();
        let packed = BackupOptions::new().compression(compression);
        db.backup_to(&mut good, &packed, |_| Ok(())).unwrap();
        let file = folder.path().join("wrong");
        let rejected = |bytes: &[u8], what: &str| {
            fs::write(&file, bytes).unwrap();
            let error = Db::restore(&file, &url(&place, ""), &options).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corrupt, "{what}: {error}");
            assert!(error.message().contains("wrong"), "{error}");
        };
        let mut harmless = 0;
        for place in (0..good.len()).step_by(3) {
            let mut wrong = good.clone();
            wrong[place] ^= 0x10;
            fs::write(&file, &wrong).unwrap();
            // The time in a gzip header and the padding of its last byte have no meaning.
            if compression == Compression::Gzip && Db::check_backup(&file).is_ok() {
                harmless += 1;
                continue;
            }
            rejected(&wrong, &format!("{compression:?}, byte {place}"));
        }
        assert!(harmless < 5, "{harmless}");
        for length in [0, 1, 20, good.len() / 2, good.len() - 1] {
            rejected(&good[..length], &format!("{compression:?}, {length} bytes"));
        }
        rejected(&[&good[..], b"x"].concat(), "more behind");
        rejected(&[&good[..], &good[..]].concat(), "twice");
    }
    assert_eq!(fs::read(&place).unwrap(), before);
    let names: Vec<_> =
        fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names.len(), 2, "{names:?}");
}

/// The number of bytes of a file's pages, according to its header.
fn pages(file: &[u8]) -> usize {
    let number = |at: usize| u32::from_be_bytes(file[at..at + 4].try_into().unwrap()) as usize;
    number(28) * 4096
}

/// A plain backup is a database followed by a checksum: any changed byte, truncation or addition is found.
#[test]
fn plain_backups_are_checked() {
    let folder = tempfile::tempdir().unwrap();
    let db = open("sqlite::memory:");
    fill(&db);
    let file = folder.path().join("backup.db");
    let to = folder.path().join("app.db");
    let report = db.backup(&file, &BackupOptions::new(), |_| Ok(())).unwrap();
    let good = fs::read(&file).unwrap();
    assert_eq!((report.bytes, report.stored), (pages(&good) as u64, good.len() as u64));
    assert_eq!(Db::check_backup(&file).unwrap(), report);
    assert_eq!((report.checksum, report.compared), (Checksum::Same, true));
    let rejected = |bytes: &[u8], what: &str| {
        fs::write(&file, bytes).unwrap();
        let error = Db::restore(&file, &url(&to, ""), &RestoreOptions::new()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{what}: {error}");
        assert!(error.message().contains("backup.db") && !to.exists(), "{what}: {error}");
    };
    let (head, end) = (0..100, good.len() - 4096..good.len());
    for at in (0..good.len()).step_by(971).chain(head).chain(end.step_by(7)) {
        let mut wrong = good.clone();
        wrong[at] ^= 0x10;
        rejected(&wrong, &format!("byte {at}"));
    }
    let plain = &good[..pages(&good)];
    for cut in [0, 1, 70, 100, 4096, plain.len() - 1, plain.len() + 1, good.len() - 1] {
        rejected(&good[..cut], &format!("cut to {cut}"));
    }
    // A page of an index, in a file without a checksum, and lengths that do not match the pages.
    let mut wrong = plain.to_vec();
    wrong[plain.len() - 4096..][..400].fill(0xee);
    rejected(&wrong, "a page");
    for bytes in [&good[..], plain] {
        rejected(&[bytes, b"x"].concat(), "a byte more");
        rejected(&[bytes, &[0; 4096][..]].concat(), "a page more");
        rejected(&[bytes, bytes].concat(), "twice");
    }
    // Older versions wrote no checksum.
    fs::write(&file, plain).unwrap();
    let old = Db::restore(&file, &url(&to, ""), &RestoreOptions::new()).unwrap();
    assert_eq!((old.checksum, old.compared), (Checksum::Missing, false));
    check(&url(&to, ""));
}

/// It opens and accepts writes in every mode, and afterwards reports that it was modified.
#[test]
fn a_plain_backup_stays_a_database() {
    for mode in ["wal", "delete", "persist", "off&locking=exclusive"] {
        let folder = tempfile::tempdir().unwrap();
        let db = open("sqlite::memory:");
        fill(&db);
        let (file, to) = (folder.path().join("backup.db"), folder.path().join("restored.db"));
        db.backup(&file, &BackupOptions::new(), |_| Ok(())).unwrap();
        check(&url(&file, "?mode=ro&journal_mode=delete"));
        assert_eq!(Db::check_backup(&file).unwrap().checksum, Checksum::Same, "it was only read");
        let sound = |file: &Path, sum: &[Checksum]| {
            let report = Db::check_backup(file).unwrap();
            assert!(sum.contains(&report.checksum), "{mode}: {report:?}");
            report.rows()
        };
        let write = |sql: &str| {
            let db = Db::open(&url(&file, &format!("?journal_mode={mode}"))).unwrap();
            db.execute(sql, ()).unwrap();
            assert_eq!(db.sql::<String>("PRAGMA integrity_check", ()).unwrap(), ["ok"]);
        };
        write("UPDATE account SET balance = 7 WHERE id = 3");
        let since = [Checksum::Outdated, Checksum::Missing];
        assert_eq!(sound(&file, &since), ACCOUNTS as u64, "{mode}");
        write("INSERT INTO account (balance, name) SELECT 1, 'more ' || name FROM account");
        assert_eq!(sound(&file, &since), 2 * ACCOUNTS as u64, "{mode}");
        write("DELETE FROM account WHERE id > 3");
        write("VACUUM");
        assert_eq!(sound(&file, &[Checksum::Missing]), 3, "{mode}");
        Db::restore(&file, &url(&to, ""), &RestoreOptions::new()).unwrap();
        let restored = Db::open(&url(&to, "")).unwrap();
        let balances = restored.sql::<i64>("SELECT balance FROM account", ()).unwrap();
        assert_eq!(balances, [100, 100, 7]);
        drop(restored);
        let mut names: Vec<_> =
            fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        names.retain(|name| !name.to_string_lossy().ends_with("-journal"));
        names.sort();
        assert_eq!(names, ["backup.db", "restored.db"], "{mode}");
    }
}

/// Part of a database that is being written may be in its WAL.
#[test]
fn a_backup_that_is_open_for_writing_is_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("backup.db");
    let db = open("sqlite::memory:");
    fill(&db);
    db.backup(&file, &BackupOptions::new(), |_| Ok(())).unwrap();
    let other = Db::open(&url(&file, "")).unwrap();
    other.execute("DELETE FROM account WHERE id > 7", ()).unwrap();
    let error = Db::check_backup(&file).unwrap_err();
    assert!(
        error.kind() == ErrorKind::Busy && error.message().contains("backup.db-wal"),
        "{error}"
    );
    drop(other);
    assert_eq!(Db::check_backup(&file).unwrap().rows(), 7);
}

#[test]
fn invalid_targets_are_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("app.db");
    let db = open(&url(&place, ""));
    fill(&db);
    let options = BackupOptions::new().overwrite(true);
    let kind = |file: &Path| db.backup(file, &options, |_| Ok(())).unwrap_err().kind();
    assert_eq!(kind(&place), ErrorKind::Misuse);
    assert_eq!(kind(&folder.path().join("app.db-wal")), ErrorKind::Misuse);
    // Also by another spelling of the path, even if the file does not exist now.
    let other_words = folder.path().join(".").join("app.db-journal");
    assert!(!other_words.exists());
    assert_eq!(kind(&other_words), ErrorKind::Misuse);
    assert_eq!(kind(folder.path()), ErrorKind::Config);
    assert_eq!(kind(&folder.path().join("gone/backup.db")), ErrorKind::Io);
    let stopped = db.backup(folder.path().join("b"), &options, |_| {
        Err(Error::new(ErrorKind::Interrupted, "enough"))
    });
    assert_eq!(stopped.unwrap_err().kind(), ErrorKind::Interrupted);
    let unknown = db.backup(folder.path().join("b"), &BackupOptions::new().engine("x"), |_| Ok(()));
    assert_eq!(unknown.unwrap_err().kind(), ErrorKind::Config);
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        db.backup(folder.path().join("b"), &options, |_| panic!("of the caller's"))
    }));
    assert!(panicked.is_err());
    // No failed backup leaves a file, and the database still works.
    let names = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(names.into_iter().all(|name| name.to_string_lossy().starts_with("app.db")));
    db.execute("UPDATE account SET balance = 100", ()).unwrap();
}

/// A backup opens its own connection by name, and so would open the file that has that name now.
#[test]
#[cfg(unix)]
fn a_replaced_file_is_not_backed_up_instead_of_the_open_one() {
    let folder = tempfile::tempdir().unwrap();
    let [place, moved, other, file] =
        ["app.db", "moved.db", "other.db", "backup.db"].map(|name| folder.path().join(name));
    drop(open(&url(&other, "?journal_mode=delete")));
    let db = open(&url(&place, ""));
    fill(&db);
    let rejected = || {
        let error = db.backup(&file, &BackupOptions::new(), |_| Ok(())).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
        assert!(error.message().contains(place.to_str().unwrap()), "{error}");
        assert!(!file.exists());
    };
    fs::rename(&place, &moved).unwrap();
    rejected();
    fs::rename(&other, &place).unwrap();
    rejected();
    fs::rename(&moved, &place).unwrap();
    db.backup(&file, &BackupOptions::new(), |_| Ok(())).unwrap();
    check(&url(&file, ""));
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_keeps_the_old_backup() {
    let folder = tempfile::tempdir().unwrap();
    let db = open("sqlite::memory:");
    fill(&db);
    let error =
        db.backup_to(fs::File::create("/dev/full").unwrap(), &BackupOptions::new(), |_| Ok(()));
    assert_eq!(error.unwrap_err().kind(), ErrorKind::Full);
    let file = folder.path().join("backup.db");
    db.backup(&file, &BackupOptions::new(), |_| Ok(())).unwrap();
    let mut permissions = fs::metadata(&file).unwrap().permissions();
    permissions.set_readonly(true);
    fs::set_permissions(&file, permissions).unwrap();
    let again = db.backup(&file, &BackupOptions::new().overwrite(true), |_| Ok(()));
    assert_eq!(again.unwrap_err().kind(), ErrorKind::ReadOnly);
    check(&url(&file, "?mode=ro&journal_mode=delete"));
}

#[test]
fn the_memory_engine_is_backed_up_and_restored() {
    let folder = tempfile::tempdir().unwrap();
    let own = folder.path().join("own");
    let place = format!("memory:{}", own.display());
    let db = open(&place);
    fill(&db);
    let file = folder.path().join("backup");
    let report = db.backup(&file, &BackupOptions::new(), |_| Ok(())).unwrap();
    assert!(report.compared && report.rows() == ACCOUNTS as u64);
    let error = db.backup(&own, &BackupOptions::new().overwrite(true), |_| Ok(()));
    assert!(error.is_ok() || error.unwrap_err().kind() == ErrorKind::Misuse);
    let again = format!("memory:{}", folder.path().join("again").display());
    let good = fs::read(&file).unwrap();
    for wrong in [[&good[..], b"x"].concat(), [&good[..], &good].concat()] {
        fs::write(&file, wrong).unwrap();
        let error = Db::check_backup(&file).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
    }
    fs::write(&file, good).unwrap();
    assert_eq!(Db::check_backup(&file).unwrap().checksum, Checksum::Same);
    Db::restore(&file, &again, &RestoreOptions::new()).unwrap();
    let accounts = open(&again).table::<Account>().unwrap().count(Query::all()).unwrap();
    assert_eq!(accounts, ACCOUNTS as u64);
    let wrong = Db::restore(&file, "memory:", &RestoreOptions::new()).unwrap_err();
    assert_eq!(wrong.kind(), ErrorKind::Unsupported);
    for compression in [Compression::Zstd, Compression::Gzip] {
        let packed = BackupOptions::new().compression(compression).overwrite(true);
        if cfg!(feature = "compress") {
            assert!(db.backup(&file, &packed, |_| Ok(())).unwrap().stored < report.bytes);
            assert_eq!(Db::check_backup(&file).unwrap().rows(), ACCOUNTS as u64);
        }
    }
}

const FOLDER: &str = "BOBAK_TEST_BACKUP_FOLDER";

/// Run in a process that is killed: backs up and restores without end.
#[test]
#[ignore = "run by the test below, in a process of its own"]
fn run_until_killed() {
    let folder = std::path::PathBuf::from(std::env::var_os(FOLDER).unwrap());
    let db = open(&url(&folder.join("app.db"), "?mode=ro"));
    let (file, place) = (folder.join("backup"), folder.join("restored.db"));
    let over = RestoreOptions::new().overwrite(true);
    let compression =
        if cfg!(feature = "compress") { Compression::Zstd } else { Compression::None };
    let options = BackupOptions::new().overwrite(true).pauses(false);
    for round in 0.. {
        let none = round % 2 == 0;
        let compression = if none { Compression::None } else { compression };
        db.backup(&file, &options.clone().compression(compression), |_| Ok(())).unwrap();
        Db::restore(&file, &url(&place, ""), &over).unwrap();
        println!("\nround {round}");
    }
}

/// Killed at many moments, it leaves whole files, and the next run removes its temporary files.
#[test]
fn killed_backups_and_restores_leave_whole_files() {
    use std::io::{BufRead, BufReader};
    let folder = tempfile::tempdir().unwrap();
    let db = open(&url(&folder.path().join("app.db"), ""));
    fill(&db);
    let (file, place) = (folder.path().join("backup"), folder.path().join("restored.db"));
    let left = || {
        let names = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
        names.filter(|name| name.to_string_lossy().ends_with(".new")).count()
    };
    let mut most = 0;
    for moment in 0..12 {
        let mut child = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "backup::run_until_killed", "--ignored", "--nocapture"])
            .env(FOLDER, folder.path())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let said = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut rounds = said.map_while(Result::ok).filter(|line| line.starts_with("round"));
        assert!(rounds.next().is_some(), "it began");
        // At some moment of a round, so during a backup or a restore.
        std::thread::sleep(std::time::Duration::from_millis(moment * 3));
        child.kill().unwrap();
        rounds.for_each(drop);
        child.wait().unwrap();
        most = most.max(left());
        assert_eq!(Db::check_backup(&file).unwrap().rows(), ACCOUNTS as u64);
        check(&url(&place, ""));
    }
    let options = BackupOptions::new().overwrite(true);
    db.backup(&file, &options, |_| Ok(())).unwrap();
    let over = RestoreOptions::new().overwrite(true);
    Db::restore(&file, &url(&place, ""), &over).unwrap();
    assert_eq!(left(), 0, "of {most} that were left none is there");
}

/// Other processes may be using a pipe or a socket by its name.
#[test]
#[cfg(unix)]
fn only_regular_files_are_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("socket");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let db = open("sqlite::memory:");
    let options = BackupOptions::new().overwrite(true);
    let rejected = db.backup(&socket, &options, |_| Ok(())).unwrap_err();
    assert_eq!(rejected.kind(), ErrorKind::Config, "{rejected}");
    assert!(std::os::unix::net::UnixStream::connect(&socket).is_ok());
    let rejected = Db::check_backup(&socket).unwrap_err();
    assert_eq!(rejected.kind(), ErrorKind::Io, "{rejected}");
}
