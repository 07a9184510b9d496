//! Tables that are created and tracked while an archive runs: a restore of an earlier backup has them.

use crate::altered_tables::{Place, kind};
use crate::archive::ship;
use bobak::archive::Archive;
use bobak::changes::TrackOptions;
use bobak::prelude::*;
use bobak::restore::{RecoveryTarget, ReplayOptions, RestoreOptions};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

/// All of a database: definitions, rows, used keys, the change log.
fn dump(db: &Db) -> Vec<String> {
    let text = "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name";
    let mut all: Vec<String> = db.sql(text, ()).unwrap();
    all.extend(db.tracked_tables().unwrap());
    let text = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT IN ('bobak_layout', \
                'bobak_tracked') AND name NOT LIKE 'sqlite_stat%' ORDER BY name";
    let names: Vec<String> = db.sql(text, ()).unwrap();
    for name in names {
        let columns = format!("SELECT name FROM pragma_table_info('{name}')");
        let columns: Vec<String> = db.sql(&columns, ()).unwrap();
        let columns: Vec<_> = columns.iter().map(|column| format!("quote(\"{column}\")")).collect();
        let list = columns.join(" || '|' || ");
        let text = format!("SELECT '{name}: ' || {list} AS line FROM \"{name}\" ORDER BY line");
        all.extend(db.sql::<String>(&text, ()).unwrap());
    }
    all
}

fn track_all(db: &Db) -> Vec<String> {
    db.track_all_tables(TrackOptions::new()).unwrap()
}

/// What only SQLite's own SQL says: generated columns, partial and expression indexes, triggers, collations.
const RICH: [&str; 9] = [
    "CREATE TABLE rich (id INTEGER PRIMARY KEY AUTOINCREMENT, n TEXT COLLATE NOCASE UNIQUE, \
     m INTEGER DEFAULT 3 CHECK (m > 0), double INTEGER AS (m * 2), t INTEGER REFERENCES t(id)) STRICT",
    "CREATE INDEX rich_part ON rich (m) WHERE m > 5",
    "CREATE INDEX rich_of ON rich (lower(n))",
    "CREATE TABLE pair (a TEXT, b INTEGER, PRIMARY KEY (a, b)) WITHOUT ROWID",
    "CREATE TRIGGER paired AFTER INSERT ON rich BEGIN INSERT INTO pair VALUES (new.n, new.m); END",
    "INSERT INTO rich (n, m, t) VALUES ('one', 1, 1), ('two', 8, NULL), ('three', 9, 1)",
    "DELETE FROM rich WHERE n = 'three'",
    "INSERT INTO pair VALUES ('of its own', 7)",
    "UPDATE other SET n = 5",
];

#[test]
fn tables_created_after_the_backup_are_restored_with_all_that_they_are() {
    let place = Place::new();
    let mut archive = place.archive("changes").unwrap();
    ship(&mut archive);
    place.backup("old.db");
    let begin = place.db.changes().unwrap().last_id().unwrap();
    RICH.iter().for_each(|text| place.run(text));
    ship(&mut archive);
    let before = Timestamp::now();
    std::thread::sleep(Duration::from_millis(2));
    assert_eq!(track_all(&place.db), ["rich", "pair"]);
    place.run("INSERT INTO rich (n) VALUES ('four'), ('five')");
    place.run("UPDATE rich SET n = 'two' || n WHERE n = 'four'");
    place.run("DELETE FROM pair WHERE a = 'five'");
    ship(&mut archive);
    let (middle, all) = (place.db.changes().unwrap().last_id().unwrap(), dump(&place.db));
    place.run("DELETE FROM rich WHERE n = 'five'");
    place.run("UPDATE t SET n = 2");
    ship(&mut archive);
    let restored = |until| place.restore("old.db", "changes", until).unwrap();
    let db = restored(RecoveryTarget::End);
    assert_eq!(dump(&db), dump(&place.db));
    assert_eq!(dump(&restored(RecoveryTarget::Change(middle))), all);
    for until in [RecoveryTarget::Change(begin), RecoveryTarget::Moment(before)] {
        assert!(restored(until).sql::<i64>("SELECT m FROM rich", ()).is_err(), "not there yet");
    }
    // Triggers run again, and foreign keys are enforced.
    db.execute("INSERT INTO rich (n) VALUES ('later')", ()).unwrap();
    assert_eq!(db.sql::<i64>("SELECT b FROM pair WHERE a = 'later'", ()).unwrap(), [3]);
    assert_eq!(kind(db.execute("INSERT INTO rich (t) VALUES (77)", ())), ErrorKind::Constraint);
    // It continues with the same archive, which restores what follows.
    drop(archive);
    ship(&mut db.archive_to(place.path("changes")).unwrap());
    let again = restored(RecoveryTarget::End);
    assert_eq!(dump(&again), dump(&db));
}

/// The archiver comes late: the rows are those of that moment, and no target lies before it.
#[test]
fn a_table_that_was_tracked_long_before_the_archiver_came() {
    let place = Place::new();
    ship(&mut place.archive("changes").unwrap());
    place.backup("old.db");
    let begin = place.db.changes().unwrap().last_id().unwrap();
    place.run("CREATE TABLE late (id INTEGER PRIMARY KEY, n INTEGER UNIQUE)");
    place.run("INSERT INTO late (n) VALUES (1), (2), (3)");
    // A later backup has it, not tracked yet and with other rows.
    place.backup("untracked.db");
    place.run("UPDATE t SET n = 9");
    place.run("DELETE FROM late WHERE n = 3");
    track_all(&place.db);
    // Values that wander between rows.
    place.run("UPDATE late SET n = 30 WHERE id = 1");
    place.run("UPDATE late SET n = 1 WHERE id = 2");
    place.run("DELETE FROM late WHERE id = 1");
    place.run("INSERT INTO late (n) VALUES (2), (30)");
    place.backup("tracked.db");
    place.run("UPDATE late SET n = 31 WHERE n = 30");
    let all = place.db.changes().unwrap().last_id().unwrap();
    ship(&mut place.archive("changes").unwrap());
    place.run("UPDATE late SET n = 32 WHERE n = 31");
    ship(&mut place.archive("changes").unwrap());
    for backup in ["old.db", "untracked.db", "tracked.db"] {
        let db = place.restore(backup, "changes", RecoveryTarget::End).unwrap();
        assert_eq!(dump(&db), dump(&place.db), "{backup}");
    }
    let db = place.restore("old.db", "changes", RecoveryTarget::Change(all)).unwrap();
    assert_eq!(db.sql::<i64>("SELECT max(n) FROM late", ()).unwrap(), [31]);
    for until in begin + 2..all {
        let until = RecoveryTarget::Change(until);
        let restored = place.restore("old.db", "changes", until);
        assert_eq!(kind(restored), ErrorKind::OutOfRange, "{until:?}");
        let partial = ReplayOptions::new(until).partial(true);
        let options = RestoreOptions::new().changes(place.path("changes"), partial);
        let restored = Db::restore(place.path("old.db"), &place.url("partial.db"), &options);
        assert_eq!(kind(restored), ErrorKind::OutOfRange, "{until:?}");
    }
}

/// More rows than one frame has, more changes than one page has, and several tables, in small files.
#[test]
fn large_new_tables_are_archived_in_parts() {
    let place = Place::new();
    let mut archive = place.archive("changes").unwrap().segment_bytes(100_000);
    ship(&mut archive);
    place.backup("old.db");
    let numbers =
        "WITH RECURSIVE c (n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM c WHERE n < 900)";
    for table in ["second", "first"] {
        place.run(&format!("CREATE TABLE {table} (id INTEGER PRIMARY KEY, n BLOB)"));
        place.run(&format!("INSERT INTO {table} (n) {numbers} SELECT zeroblob(20000) FROM c"));
        track_all(&place.db);
        place.run(&format!("INSERT INTO {table} (n) {numbers} SELECT n FROM c"));
        place.run(&format!("INSERT INTO other (n) {numbers} SELECT n FROM c"));
    }
    ship(&mut archive);
    let db = place.restore("old.db", "changes", RecoveryTarget::End).unwrap();
    assert_eq!(dump(&db), dump(&place.db));
    assert!(Archive::check(place.path("changes")).unwrap().files > 2);
}

#[derive(Record, Clone, Debug, PartialEq)]
struct Item {
    id: i64,
    #[record(unique)]
    name: String,
}

#[derive(Record, Clone, Debug, PartialEq)]
struct Tag {
    id: i64,
}

fn item(name: &str) -> Item {
    Item { id: 0, name: name.into() }
}

/// A memory database with a tracked table, a row of it, and a file.
fn in_memory(place: &Place, name: &str) -> Db {
    let url = format!("memory:{}", place.path(name).display());
    let db = Db::builder().track::<Tag>(TrackOptions::new()).record::<Item>().open(&url).unwrap();
    db.create_missing_tables().unwrap();
    db
}

#[test]
fn a_memory_database_gets_tables_created_after_the_backup() {
    let place = Place::new();
    let url = format!("memory:{}", place.path("app.bobak").display());
    let db = Db::builder().track::<Tag>(TrackOptions::new()).open(&url).unwrap();
    db.create_missing_tables().unwrap();
    db.table().unwrap().insert(&Tag { id: 0 }).unwrap();
    let mut archive = db.archive_to(place.path("more")).unwrap();
    ship(&mut archive);
    db.backup(place.path("old.bobak"), &bobak::backup::BackupOptions::new(), |_| Ok(())).unwrap();
    db.flush().unwrap();
    drop((db, archive));
    let db = in_memory(&place, "app.bobak");
    let items = db.table::<Item>().unwrap();
    items.insert(&item("before")).unwrap();
    assert_eq!(track_all(&db), ["item"]);
    let mut archive = db.archive_to(place.path("more")).unwrap();
    items.insert(&item("after")).unwrap();
    ship(&mut archive);
    items.delete(1).unwrap();
    ship(&mut archive);
    let options = RestoreOptions::new().changes(place.path("more"), RecoveryTarget::End);
    let to = format!("memory:{}", place.path("restored.bobak").display());
    Db::restore(place.path("old.bobak"), &to, &options).unwrap();
    let again = in_memory(&place, "restored.bobak");
    let restored = again.table::<Item>().unwrap().list(Query::all()).unwrap();
    assert_eq!(restored, items.list(Query::all()).unwrap());
    assert!(again.is_tracked("item").unwrap());
    assert_eq!(kind(again.table().unwrap().insert(&item("after"))), ErrorKind::Duplicate);
}

const FILE: &str = "BOBAK_TEST_CREATED_FILE";
const FOLDER: &str = "BOBAK_TEST_CREATED_FOLDER";

/// Run in another process: archives all tables without end.
#[test]
#[ignore = "run by the test below, in a process of its own"]
fn archive_all_until_killed() {
    let db = Db::open(&std::env::var(FILE).unwrap()).unwrap();
    let mut archive = db.archive_to(std::env::var(FOLDER).unwrap()).unwrap().segment_bytes(50_000);
    println!("\nbegun");
    loop {
        track_all(&db);
        archive.step(Duration::from_millis(1)).unwrap();
    }
}

/// The archiver is killed at some moment while tables are created and written: what continues has them all.
#[test]
fn killed_archivers_of_all_tables_lose_none() {
    let place = Place::new();
    ship(&mut place.archive("changes").unwrap());
    place.backup("old.db");
    for round in 0..8 {
        let mut other = Command::new(std::env::current_exe().unwrap())
            .args([
                "--exact",
                "created_tables::archive_all_until_killed",
                "--ignored",
                "--nocapture",
            ])
            .env(FILE, place.url("app.db"))
            .env(FOLDER, place.path("changes"))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(other.stdout.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap() == "begun"), "the other process began");
        let table = format!("created{round}");
        place.run(&format!("CREATE TABLE {table} (id INTEGER PRIMARY KEY, n BLOB)"));
        let rows =
            "WITH RECURSIVE c (n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM c WHERE n < 400)";
        place.run(&format!("INSERT INTO {table} (n) {rows} SELECT zeroblob(1000) FROM c"));
        for moment in 0..round * 2 {
            place.run(&format!("INSERT INTO {table} (n) VALUES ({moment})"));
            std::thread::sleep(Duration::from_millis(1));
        }
        other.kill().unwrap();
        other.wait().unwrap();
        if round % 3 == 2 {
            // What it has by now is a whole state, or not there yet.
            let db = place.restore("old.db", "changes", RecoveryTarget::End).unwrap();
            assert_eq!(db.sql::<String>("PRAGMA integrity_check", ()).unwrap(), ["ok"]);
        }
    }
    track_all(&place.db);
    ship(&mut place.archive("changes").unwrap());
    let db = place.restore("old.db", "changes", RecoveryTarget::End).unwrap();
    assert_eq!(dump(&db), dump(&place.db));
}

/// The power is cut at each step of writing a new table to the archive: an archiver that continues completes it.
#[test]
#[cfg(unix)]
fn a_power_cut_while_a_table_is_archived_loses_nothing() {
    let place = Place::new();
    let mut archive = place.archive("changes").unwrap();
    ship(&mut archive);
    place.backup("old.db");
    place.run("CREATE TABLE new (id INTEGER PRIMARY KEY, n INTEGER)");
    place.run("INSERT INTO new (n) VALUES (1), (2)");
    track_all(&place.db);
    place.run("UPDATE new SET n = 3 WHERE id = 1");
    let step = || assert_eq!(archive.step(Duration::ZERO).unwrap().changes, 1);
    let images =
        bobak_testkit::crash::files::cut_at_each_step(&place.path("changes"), step).unwrap();
    assert!(images.len() > 12, "{}", images.len());
    let whole = dump(&place.db);
    for left in images {
        let after = tempfile::tempdir_in(place.path("")).unwrap();
        left.lay_out(after.path()).unwrap();
        let folder = after.path().to_str().unwrap();
        // What was acknowledged is there without another step.
        let restored = place.restore("old.db", folder, RecoveryTarget::End).unwrap();
        assert!(!left.done || dump(&restored) == whole, "{}", left.what);
        ship(&mut place.db.archive_to(after.path()).unwrap());
        let restored = place.restore("old.db", folder, RecoveryTarget::End).unwrap();
        assert_eq!(dump(&restored), whole, "{}", left.what);
    }
}
