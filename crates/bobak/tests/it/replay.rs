//! Replays of changes: triggers, keys, and change numbers outside of the archive.

use crate::archive::ship;
use bobak::backup::BackupOptions;
use bobak::changes::TrackOptions;
use bobak::prelude::*;
use bobak::restore::{RecoveryTarget, RestoreOptions};
use std::path::Path;

/// A database made by `schema`, with tracked tables, a backup of it, and an archive of what `live` did afterwards.
fn restored(folder: &Path, schema: &[&str], tracked: &[&str], live: &[&str]) -> (Db, Db) {
    let url = |name: &str| format!("sqlite:{}", folder.join(name).display());
    let db = Db::open(&url("app.db")).unwrap();
    let run = |text: &&str| assert!(db.execute(text, ()).is_ok(), "{text}");
    schema.iter().for_each(run);
    tracked.iter().for_each(|name| db.track_table(name, TrackOptions::new()).unwrap());
    let mut archive = db.archive_to(folder.join("changes")).unwrap();
    db.backup(folder.join("backup.db"), &BackupOptions::new(), |_| Ok(())).unwrap();
    live.iter().for_each(run);
    ship(&mut archive);
    let options = RestoreOptions::new().changes(folder.join("changes"), RecoveryTarget::End);
    Db::restore(folder.join("backup.db"), &url("restored.db"), &options).unwrap();
    let again = Db::open(&url("restored.db")).unwrap();
    (db, again)
}

const TRIGGERS: [&str; 5] = [
    "CREATE TABLE a (id INTEGER PRIMARY KEY, n TEXT)",
    "CREATE TABLE log (id INTEGER PRIMARY KEY, w TEXT)",
    "INSERT INTO a VALUES (1, 'old')",
    "CREATE TRIGGER \"in \"\"a\" AFTER INSERT ON a BEGIN INSERT INTO log (w) VALUES ('in ' || new.n); END",
    "CREATE TRIGGER IF NOT EXISTS main.up BEFORE UPDATE ON a BEGIN INSERT INTO log (w) VALUES ('up'); END",
];

#[test]
fn triggers_do_not_run_during_a_replay() {
    let live = ["UPDATE a SET n = 'changed' WHERE id = 1", "INSERT INTO a VALUES (2, 'new')"];
    let log = |db: &Db| db.sql::<String>("SELECT w FROM log ORDER BY id", ()).unwrap();
    let triggers = |db: &Db| -> Vec<String> {
        db.sql("SELECT sql FROM sqlite_master WHERE type = 'trigger' ORDER BY sql", ()).unwrap()
    };
    for (tracked, expected) in [(&["a", "log"][..], &["up", "in new"][..]), (&["a"], &[])] {
        let folder = tempfile::tempdir().unwrap();
        let (db, again) = restored(folder.path(), &TRIGGERS, tracked, &live);
        assert_eq!(log(&db), ["up", "in new"]);
        // An untracked table stays as it is in the backup.
        assert_eq!(log(&again), expected);
        assert_eq!(triggers(&again), triggers(&db));
        let count = |db: &Db| db.changes().unwrap().iter().count();
        assert_eq!(count(&again), count(&db));
        // Triggers run again afterwards.
        again.execute("INSERT INTO a VALUES (3, 'later')", ()).unwrap();
        assert_eq!(log(&again).last().map(String::as_str), Some("in later"));
    }
}

#[test]
fn no_key_is_generated_twice() {
    let folder = tempfile::tempdir().unwrap();
    let schema = ["CREATE TABLE t (id INTEGER PRIMARY KEY AUTOINCREMENT, n TEXT UNIQUE)"];
    let live = [
        "INSERT INTO t (n) VALUES ('one'), ('two'), ('three')",
        "DELETE FROM t WHERE id > 1",
        "UPDATE t SET n = 'three'",
    ];
    let (db, again) = restored(folder.path(), &schema, &["t"], &live);
    for db in [&db, &again] {
        let rows: Vec<(i64, String)> = db.sql("SELECT id, n FROM t", ()).unwrap();
        assert_eq!(rows, [(1, "three".to_owned())]);
        db.execute("INSERT INTO t (n) VALUES ('next')", ()).unwrap();
        assert_eq!(db.sql::<i64>("SELECT max(id) FROM t", ()).unwrap(), [4]);
    }
}

/// SQLite allows NULL in a key, even in several rows.
#[test]
fn a_change_of_a_row_with_a_null_key_is_not_replayed() {
    let folder = tempfile::tempdir().unwrap();
    let url = |name: &str| format!("sqlite:{}", folder.path().join(name).display());
    let db = Db::open(&url("app.db")).unwrap();
    let run = |text: &str| db.execute(text, ()).unwrap();
    run("CREATE TABLE t (k TEXT, n INTEGER, v TEXT, PRIMARY KEY (k, n))");
    run("INSERT INTO t VALUES ('a', NULL, 'one'), ('a', NULL, 'two'), ('b', 1, 'three')");
    db.track_table("t", TrackOptions::new()).unwrap();
    let changes = folder.path().join("changes");
    let mut archive = db.archive_to(&changes).unwrap();
    let back_up = |name: &str| {
        let file = folder.path().join(name);
        db.backup(&file, &BackupOptions::new(), |_| Ok(())).unwrap();
        file
    };
    let early = back_up("early.db");
    run("UPDATE t SET v = 'THREE' WHERE k = 'b'");
    ship(&mut archive);
    run("UPDATE t SET v = 'TWO' WHERE v = 'two'");
    let late = back_up("late.db");
    run("INSERT INTO t VALUES ('c', 1, 'four')");
    ship(&mut archive);
    let restore = |backup: &Path, until: RecoveryTarget| {
        let options = RestoreOptions::new().overwrite(true).changes(&changes, until);
        Db::restore(backup, &url("restored.db"), &options)
    };
    let error = restore(&early, RecoveryTarget::End).unwrap_err();
    let place = (error.kind(), error.table(), error.column());
    assert_eq!(place, (ErrorKind::Constraint, Some("t"), Some("n")), "{error}");
    assert!(error.message().contains("change 2 is of a row with NULL in its key"), "{error}");
    assert!(!folder.path().join("restored.db").exists());
    // Changes before it and after it are replayed.
    for (backup, until, rows) in
        [(&early, RecoveryTarget::Change(1), 3), (&late, RecoveryTarget::End, 4)]
    {
        restore(backup, until).unwrap();
        let again = Db::open(&url("restored.db")).unwrap();
        assert_eq!(again.sql::<i64>("SELECT count(*) FROM t", ()).unwrap(), [rows]);
    }
    // A replica rejects it, too.
    run("UPDATE t SET n = 0 WHERE n IS NULL AND v = 'one'");
    run("DELETE FROM t WHERE n IS NULL");
    let target = Db::open("memory:").unwrap();
    let mut replica = db.replicate_to(&target, &[]).unwrap();
    replica.begin(|_| {}).unwrap();
    run("INSERT INTO t VALUES ('d', NULL, 'five')");
    let error = replica.step(std::time::Duration::ZERO).unwrap_err();
    assert_eq!((error.kind(), error.table()), (ErrorKind::Constraint, Some("t")), "{error}");
}

#[test]
fn a_change_number_outside_of_the_archive_is_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let schema = ["CREATE TABLE t (id INTEGER PRIMARY KEY, n TEXT)"];
    let live = ["INSERT INTO t (n) VALUES ('one'), ('two')"];
    let (_db, _again) = restored(folder.path(), &schema, &["t"], &live);
    let url = format!("sqlite:{}", folder.path().join("beyond.db").display());
    let restore = |until: RecoveryTarget| {
        let options =
            RestoreOptions::new().overwrite(true).changes(folder.path().join("changes"), until);
        Db::restore(folder.path().join("backup.db"), &url, &options)
    };
    let error = restore(RecoveryTarget::Change(3)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutOfRange, "{error}");
    assert!(error.message().contains("ends with change 2"), "{error}");
    assert!(!folder.path().join("beyond.db").exists());
    let made = |until| restore(until).unwrap().replayed.unwrap();
    assert!(made(RecoveryTarget::Change(2)).is_end && made(RecoveryTarget::End).is_end);
    let error = restore(RecoveryTarget::Change(1)).unwrap_err();
    assert!(error.message().contains("name 0 before it, or 2 after it"), "{error}");
    assert!(made(RecoveryTarget::Moment(Timestamp::now())).is_end);
}
