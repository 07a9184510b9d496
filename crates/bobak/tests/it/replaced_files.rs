//! Replaced files: a backup over an older one, a restored database over an existing one.

use crate::backup::{check, fill, open, url};
use bobak::backup::BackupOptions;
use bobak::prelude::*;
use bobak::restore::RestoreOptions;
use std::fs;
use std::path::Path;

/// A process that wrote to an older backup was killed. Its WAL does not belong to the new backup.
#[test]
fn a_backup_replaces_one_with_a_wal() {
    let folder = tempfile::tempdir().unwrap();
    let db = open("sqlite::memory:");
    fill(&db);
    let file = folder.path().join("backup.db");
    db.backup(&file, &BackupOptions::new(), |_| Ok(())).unwrap();
    let log = folder.path().join("backup.db-wal");
    let copies = [(&file, folder.path().join("1")), (&log, folder.path().join("2"))];
    let old = Db::open(&url(&file, "?journal_mode=wal")).unwrap();
    old.execute("UPDATE account SET name = 'old' || name", ()).unwrap();
    let over = BackupOptions::new().overwrite(true);
    let rejected = db.backup(&file, &over, |_| Ok(())).unwrap_err();
    assert_eq!(rejected.kind(), ErrorKind::Busy, "{rejected}");
    for (from, to) in &copies {
        fs::copy(from, to).unwrap();
    }
    drop(old);
    for (to, from) in &copies {
        fs::copy(from, to).unwrap();
    }

    db.execute("UPDATE account SET balance = 8", ()).unwrap();
    db.backup(&file, &over, |_| Ok(())).unwrap();
    assert!(!log.exists());
    let balances = "SELECT DISTINCT balance FROM account";
    let new = Db::open(&url(&file, "")).unwrap();
    assert_eq!(new.sql::<i64>(balances, ()).unwrap(), [8]);
    assert_eq!(new.sql::<String>("PRAGMA integrity_check", ()).unwrap(), ["ok"]);
    drop(new);
    // Without its file, the WAL still prevents a backup.
    fs::remove_file(&file).unwrap();
    fs::copy(folder.path().join("2"), &log).unwrap();
    let rejected = db.backup(&file, &BackupOptions::new(), |_| Ok(())).unwrap_err();
    assert_eq!(rejected.kind(), ErrorKind::Conflict, "{rejected}");
    db.backup(&file, &over, |_| Ok(())).unwrap();
    let new = Db::open(&url(&file, "")).unwrap();
    assert_eq!(new.sql::<i64>(balances, ()).unwrap(), [8]);
}

/// The WAL of an older backup, with commits that are nowhere else, stays with it: after a kill at any step, there is the
/// older backup with its WAL, or the new one.
#[test]
#[cfg(unix)]
fn an_older_backup_keeps_its_wal_until_it_is_replaced() {
    use bobak_testkit::crash::files::cut_at_each_step;
    let folder = tempfile::tempdir().unwrap();
    let db = open("sqlite::memory:");
    fill(&db);
    let killed = tempfile::tempdir().unwrap();
    let older = killed.path().join("backup.db");
    db.backup(&older, &BackupOptions::new(), |_| Ok(())).unwrap();
    let other = Db::open(&url(&older, "?journal_mode=wal")).unwrap();
    other.execute("UPDATE account SET balance = 7", ()).unwrap();
    for name in ["backup.db", "backup.db-wal"] {
        fs::copy(killed.path().join(name), folder.path().join(name)).unwrap();
    }
    db.execute("UPDATE account SET balance = 8", ()).unwrap();
    let file = folder.path().join("backup.db");
    let over = BackupOptions::new().overwrite(true).pauses(false);
    let states = cut_at_each_step(folder.path(), || {
        db.backup(&file, &over, |_| Ok(())).unwrap();
    });
    let killed = states.unwrap().into_iter().filter(|left| left.what.ends_with("nothing is lost"));
    let mut found = Vec::new();
    for left in killed {
        let after = tempfile::tempdir().unwrap();
        left.lay_out(after.path()).unwrap();
        let db = Db::open(&url(&after.path().join("backup.db"), "")).unwrap();
        let balances: Vec<i64> = db.sql("SELECT DISTINCT balance FROM account", ()).unwrap();
        assert_eq!(db.sql::<String>("PRAGMA integrity_check", ()).unwrap(), ["ok"]);
        assert!(balances == [8] || !left.done && balances == [7], "{balances:?}, {}", left.what);
        found.extend(balances);
    }
    assert!(found.contains(&7) && found.len() >= 4, "{found:?}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no other file is left");
}

#[test]
fn a_database_is_restored_over_an_existing_one() {
    let folder = tempfile::tempdir().unwrap();
    let (place, file) = (folder.path().join("app.db"), folder.path().join("backup.db"));
    let db = open(&url(&place, ""));
    fill(&db);
    db.backup(&file, &BackupOptions::new(), |_| Ok(())).unwrap();
    let restore = |overwrite| {
        Db::restore(
            &file,
            &url(&place, "?busy_timeout=50"),
            &RestoreOptions::new().overwrite(overwrite),
        )
    };
    assert_eq!(restore(false).unwrap_err().kind(), ErrorKind::Conflict);
    let error = restore(true).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Busy, "{error}");
    db.execute("DELETE FROM account WHERE id > 10", ()).unwrap();
    drop(db);
    // Without a WAL, an idle connection holds no lock.
    if cfg!(target_os = "linux") {
        let db = open(&url(&place, "?journal_mode=delete"));
        assert_eq!(restore(true).unwrap_err().kind(), ErrorKind::Busy);
        db.execute("DELETE FROM account WHERE id > 5", ()).unwrap();
    }
    // As a killed process leaves it: the WAL is there, and its changes are not the backup's.
    let killed = tempfile::tempdir().unwrap();
    let other = open(&url(&killed.path().join("app.db"), ""));
    fill(&other);
    other.execute("DELETE FROM account WHERE id > 10", ()).unwrap();
    for name in ["app.db", "app.db-wal"] {
        fs::copy(killed.path().join(name), folder.path().join(name)).unwrap();
    }
    restore(true).unwrap();
    check(&url(&place, ""));
    // A damaged database with a WAL.
    fs::write(&place, "this is no database, whatever its name says").unwrap();
    fs::copy(killed.path().join("app.db-wal"), folder.path().join("app.db-wal")).unwrap();
    restore(true).unwrap();
    check(&url(&place, ""));
    // A removed database that left its WAL.
    fs::remove_file(&place).unwrap();
    fs::copy(killed.path().join("app.db-wal"), folder.path().join("app.db-wal")).unwrap();
    assert_eq!(restore(false).unwrap_err().kind(), ErrorKind::Conflict);
    restore(true).unwrap();
    check(&url(&place, ""));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
}

/// A failed restore leaves the old database with its mode and its WAL.
#[test]
fn a_failed_restore_keeps_the_mode_of_the_old_database() {
    use bobak_testkit::crash::files::fail_step;
    let folder = tempfile::tempdir().unwrap();
    let (place, file) = (folder.path().join("app.db"), folder.path().join("backup.db"));
    let db = open(&url(&place, ""));
    fill(&db);
    db.backup(&file, &BackupOptions::new(), |_| Ok(())).unwrap();
    db.execute("UPDATE account SET balance = 3", ()).unwrap();
    drop(db);
    let over = RestoreOptions::new().overwrite(true);
    for step in 0..3 {
        assert!(fail_step(step, std::io::ErrorKind::StorageFull, || {
            let error = Db::restore(&file, &url(&place, ""), &over).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Full, "{error}");
            assert!(error.message().contains("app.db") && !error.message().contains(".new"));
        }));
        assert_eq!(fs::read(&place).unwrap()[18..20], [2, 2], "its mode is that with a log");
        let db = Db::open(&url(&place, "?mode=ro")).unwrap();
        assert_eq!(db.sql::<i64>("SELECT DISTINCT balance FROM account", ()).unwrap(), [3]);
    }
    Db::restore(&file, &url(&place, ""), &over).unwrap();
    check(&url(&place, ""));
}

/// The WAL of a removed database is kept until the new database is in place, and is never next to it.
#[test]
#[cfg(unix)]
fn a_wal_without_its_database_is_not_applied_to_the_new_one() {
    use bobak_testkit::crash::files::fail_step;
    let killed = tempfile::tempdir().unwrap();
    let other = open(&url(&killed.path().join("app.db"), ""));
    fill(&other);
    other.execute("DELETE FROM account WHERE id > 10", ()).unwrap();
    let backup = killed.path().join("backup.db");
    let source = open("sqlite::memory:");
    fill(&source);
    source.backup(&backup, &BackupOptions::new(), |_| Ok(())).unwrap();
    let over = RestoreOptions::new().overwrite(true);
    let mut there = 0;
    for step in 0.. {
        let folder = tempfile::tempdir().unwrap();
        let (place, log) = (folder.path().join("app.db"), folder.path().join("app.db-wal"));
        fs::copy(killed.path().join("app.db-wal"), &log).unwrap();
        let failed = fail_step(step, std::io::ErrorKind::Other, || {
            let _ = Db::restore(&backup, &url(&place, ""), &over);
        });
        if place.exists() {
            there += 1;
            check(&url(&place, ""));
        } else {
            assert!(log.exists(), "step {step}");
        }
        if !failed {
            assert!(there > 1, "a step fails behind the rename");
            return;
        }
    }
}

/// Temporary files never have wider permissions than the final file.
#[test]
#[cfg(unix)]
fn new_files_are_private_from_the_start() {
    use std::os::unix::fs::PermissionsExt;
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let new_ones = |folder: &Path| {
        let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let files = files.filter(|file| file.extension().is_some_and(|end| end == "new"));
        files.map(|file| mode(&file)).collect::<Vec<_>>()
    };
    let folder = tempfile::tempdir().unwrap();
    let app = folder.path().join("app.db");
    let db = open(&url(&app, "?journal_mode=delete"));
    fill(&db);
    for mode_bits in [0o600, 0o640] {
        fs::set_permissions(&app, fs::Permissions::from_mode(mode_bits)).unwrap();
        let (file, place) = (folder.path().join("b"), folder.path().join("c.db"));
        let mut seen = Vec::new();
        let look = |_| {
            seen.extend(new_ones(folder.path()));
            Ok(())
        };
        db.backup(&file, &BackupOptions::new().overwrite(true), look).unwrap();
        assert!(!seen.is_empty() && seen.iter().all(|seen| *seen == mode_bits), "{seen:?}");
        Db::restore(&file, &url(&place, ""), &RestoreOptions::new()).unwrap();
        assert_eq!((mode(&file), mode(&place)), (mode_bits, mode_bits));
        fs::remove_file(&file).unwrap();
        fs::remove_file(&place).unwrap();
    }
}
