//! Tracked tables that are altered while they are archived or replicated: what a restore or a replica has is complete, or
//! the archive, the restore and the replica fail.

use crate::archive::ship;
use bobak::archive::Archive;
use bobak::backup::BackupOptions;
use bobak::changes::TrackOptions;
use bobak::migration::NextMigration;
use bobak::prelude::*;
use bobak::restore::{RecoveryTarget, RestoreOptions};
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

pub struct Place {
    folder: tempfile::TempDir,
    pub db: Db,
}

/// What other programs do to a table, each with a write behind it.
const ALTERATIONS: [(&str, &[&str]); 6] = [
    (
        "add",
        &["ALTER TABLE t ADD COLUMN c TEXT DEFAULT 'x'", "INSERT INTO t (n, c) VALUES (9, 'y')"],
    ),
    ("add and no write", &["ALTER TABLE t ADD COLUMN c TEXT DEFAULT 'x'"]),
    ("rename", &["ALTER TABLE t RENAME COLUMN n TO m", "UPDATE t SET m = 7 WHERE id = 1"]),
    (
        "retype",
        &[
            "PRAGMA writable_schema = on",
            "UPDATE sqlite_schema SET sql = 'CREATE TABLE t (id INTEGER PRIMARY KEY, n TEXT)' \
             WHERE name = 't'",
            "PRAGMA schema_version = 1000",
            "PRAGMA writable_schema = reset",
            "UPDATE t SET n = CAST(n AS TEXT)",
            "UPDATE t SET n = 'text' WHERE id = 1",
        ],
    ),
    (
        "recreate",
        &[
            "DROP TABLE t",
            "CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER)",
            "INSERT INTO t (n) VALUES (5)",
        ],
    ),
    ("drop", &["DROP TABLE t", "INSERT INTO other (n) VALUES (1)"]),
];

impl Place {
    /// Two tracked tables with a row each, a backup named `old.db`, and a change after it.
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let db = Db::open(&format!("sqlite:{}", folder.path().join("app.db").display())).unwrap();
        for table in ["t", "other"] {
            let text = format!("CREATE TABLE {table} (id INTEGER PRIMARY KEY, n INTEGER)");
            db.execute(&text, ()).unwrap();
            db.track_table(table, TrackOptions::new()).unwrap();
            db.execute(&format!("INSERT INTO {table} (n) VALUES (1)"), ()).unwrap();
        }
        Self { folder, db }
    }

    pub fn url(&self, name: &str) -> String {
        format!("sqlite:{}", self.path(name).display())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn run(&self, text: &str) {
        self.db.execute(text, ()).unwrap_or_else(|error| panic!("{text}: {error}"));
    }

    pub fn backup(&self, name: &str) {
        self.db.backup(self.path(name), &BackupOptions::new(), |_| Ok(())).unwrap();
    }

    pub fn archive(&self, name: &str) -> Result<Archive, Error> {
        self.db.archive_to(self.path(name))
    }

    pub fn restore(&self, backup: &str, folder: &str, until: RecoveryTarget) -> Result<Db, Error> {
        static RESTORED: AtomicUsize = AtomicUsize::new(0);
        let name = format!("restored-{}.db", RESTORED.fetch_add(1, Ordering::Relaxed));
        let url = format!("sqlite:{}", self.path(&name).display());
        let options = RestoreOptions::new().changes(self.path(folder), until);
        Db::restore(self.path(backup), &url, &options)?;
        Db::open(&url)
    }
}

/// All rows of `t`, with the names of its columns.
fn dump(db: &Db) -> String {
    let columns: Vec<String> = db.sql("SELECT name FROM pragma_table_info('t')", ()).unwrap();
    let quoted: Vec<_> = columns.iter().map(|column| format!("quote({column})")).collect();
    let list = quoted.join(" || '|' || ");
    let rows: Vec<String> = db.sql(&format!("SELECT {list} FROM t ORDER BY id"), ()).unwrap();
    format!("{columns:?} {rows:?}")
}

pub fn kind<T>(result: Result<T, Error>) -> ErrorKind {
    result.err().expect("fails").kind()
}

#[test]
fn an_archive_goes_on_after_a_table_is_renamed_and_altered() {
    const RENAME: &str = "rename table t to tt\n";
    const ADD: &str = r#"add column NAME {"name":"c","type":"i64","nullable":true}"#;
    for steps in [
        format!("{RENAME}{}", ADD.replace("NAME", "tt")),
        format!("{}\n{RENAME}", ADD.replace("NAME", "t")),
    ] {
        let place = Place::new();
        ship(&mut place.archive("changes").unwrap());
        place.backup("old.db");
        place.run("UPDATE t SET n = 2");
        ship(&mut place.archive("changes").unwrap());
        let engine = place.db.engine().unwrap();
        let next = NextMigration::prepare(&*engine, engine.tables().unwrap(), "change", &steps);
        next.unwrap().run(&*engine).unwrap();
        place.backup("new.db");
        place.run("INSERT INTO tt (n, c) VALUES (3, 4)");
        ship(&mut place.archive("changes").unwrap());
        let restored = place.restore("new.db", "changes", RecoveryTarget::End).unwrap();
        let rows = restored.sql::<(i64, i64, Option<i64>)>("SELECT * FROM tt ORDER BY id", ());
        assert_eq!(rows.unwrap(), [(1, 2, None), (2, 3, Some(4))], "{steps}");
    }
}

#[test]
fn what_other_programs_alter_ends_an_archive() {
    for (what, texts) in ALTERATIONS {
        // The archive runs on, is opened afterwards, or is opened after the table was tracked again.
        for case in 0..3 {
            eprintln!("{what}, case {case}");
            let place = Place::new();
            let mut archive = place.archive("changes").unwrap();
            ship(&mut archive);
            place.backup("old.db");
            place.run("INSERT INTO t (n) VALUES (2)");
            ship(&mut archive);
            let (before, position) = (dump(&place.db), archive.position());
            texts.iter().for_each(|text| place.run(text));
            let is_gone = what == "drop";
            match case {
                0 => {
                    let error = archive.step(Duration::ZERO).unwrap_err();
                    assert_eq!((error.kind(), error.table()), (ErrorKind::Schema, Some("t")));
                    drop(archive);
                }
                1 => {
                    drop(archive);
                    assert_eq!(kind(place.archive("changes")), ErrorKind::Schema);
                }
                _ => {
                    drop(archive);
                    let again = || place.db.track_table("t", TrackOptions::new());
                    if is_gone || again().is_err() {
                        place.db.untrack_table("t").unwrap();
                    }
                    if !is_gone {
                        again().unwrap();
                    }
                    // Either it is not continued, or it says that the table was altered.
                    if let Ok(mut archive) = place.archive("changes") {
                        ship(&mut archive);
                    }
                }
            }
            let restored = place.restore("old.db", "changes", RecoveryTarget::End);
            assert_eq!(kind(restored), ErrorKind::Schema, "{what}, case {case}");
            let later = RecoveryTarget::Moment(Timestamp::now());
            assert_eq!(kind(place.restore("old.db", "changes", later)), ErrorKind::Schema);
            let db = place.restore("old.db", "changes", RecoveryTarget::Change(position)).unwrap();
            assert_eq!(dump(&db), before, "{what}, case {case}");
            if case < 2 {
                assert!(Archive::check(place.path("changes")).unwrap().is_stopped);
                assert_eq!(kind(place.archive("changes")), ErrorKind::Schema);
            }
            if is_gone {
                continue;
            }
            // With another folder and another backup it goes on.
            if place.db.track_table("t", TrackOptions::new()).is_err() {
                place.db.untrack_table("t").unwrap();
                place.db.track_table("t", TrackOptions::new()).unwrap();
            }
            let mut archive = place.archive("more").unwrap();
            ship(&mut archive);
            place.backup("new.db");
            place.run("INSERT INTO t DEFAULT VALUES");
            ship(&mut archive);
            let db = place.restore("new.db", "more", RecoveryTarget::End).unwrap();
            assert_eq!(dump(&db), dump(&place.db), "{what}, case {case}");
        }
    }
}

/// SQLite rejects to drop a column that the log captures; a program that drops the triggers first ends the archive.
#[test]
fn a_dropped_column_ends_an_archive() {
    let place = Place::new();
    let mut archive = place.archive("changes").unwrap();
    ship(&mut archive);
    place.backup("old.db");
    place.run("UPDATE t SET n = 3");
    ship(&mut archive);
    let (before, position) = (dump(&place.db), archive.position());
    assert!(place.db.execute("ALTER TABLE t DROP COLUMN n", ()).is_err());
    assert_eq!(dump(&place.db), before);
    let triggers: Vec<String> = place
        .db
        .sql("SELECT name FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 't'", ())
        .unwrap();
    assert!(!triggers.is_empty());
    triggers.iter().for_each(|name| place.run(&format!("DROP TRIGGER \"{name}\"")));
    place.run("ALTER TABLE t DROP COLUMN n");
    place.run("INSERT INTO t DEFAULT VALUES");
    let error = archive.step(Duration::ZERO).unwrap_err();
    assert_eq!((error.kind(), error.table()), (ErrorKind::Schema, Some("t")), "{error}");
    drop(archive);
    assert_eq!(kind(place.restore("old.db", "changes", RecoveryTarget::End)), ErrorKind::Schema);
    let db = place.restore("old.db", "changes", RecoveryTarget::Change(position)).unwrap();
    assert_eq!(dump(&db), before);
}

#[derive(Record, Debug, PartialEq)]
#[record(table = "t")]
struct Wider {
    id: i64,
    n: Option<i64>,
    #[record(default = "x")]
    c: String,
}

#[test]
fn a_column_that_bobak_adds_ends_no_archive() {
    let place = Place::new();
    let mut archive = place.archive("changes").unwrap();
    ship(&mut archive);
    place.backup("old.db");
    place.run("UPDATE t SET n = 3");
    let (before, position) = (dump(&place.db), place.db.changes().unwrap().last_id().unwrap());
    let url = format!("sqlite:{}", place.path("app.db").display());
    let db = Db::builder().record::<Wider>().open(&url).unwrap();
    db.create_missing_tables().unwrap();
    place.backup("new.db");
    db.table().unwrap().insert(&Wider { id: 0, n: Some(4), c: "z".into() }).unwrap();
    ship(&mut archive);
    drop(archive);
    ship(&mut place.archive("changes").unwrap());
    let restored = place.restore("old.db", "changes", RecoveryTarget::End);
    let error = restored.err().unwrap();
    assert_eq!((error.kind(), error.table()), (ErrorKind::Schema, Some("t")), "{error}");
    // The archiver was behind: the changes before the new column are replayed without it.
    let db = place.restore("old.db", "changes", RecoveryTarget::Change(position)).unwrap();
    assert_eq!(dump(&db), before);
    let db = place.restore("new.db", "changes", RecoveryTarget::End).unwrap();
    assert_eq!(dump(&db), dump(&place.db));
    assert!(!Archive::check(place.path("changes")).unwrap().is_stopped);
}

const FILE: &str = "BOBAK_TEST_FILE";
const ALTERATION: &str = "BOBAK_TEST_ALTERATION";

/// Statements that drop a column: SQLite rejects that as long as triggers capture it.
fn drop_column(db: &Db) -> Vec<String> {
    let triggers = "SELECT name FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 't'";
    let triggers: Vec<String> = db.sql(triggers, ()).unwrap();
    let mut all: Vec<_> = triggers.iter().map(|name| format!("DROP TRIGGER \"{name}\"")).collect();
    all.extend(["ALTER TABLE t DROP COLUMN n", "INSERT INTO t DEFAULT VALUES"].map(str::to_owned));
    all
}

/// Run in another process: writes, alters the table, and writes until it is killed.
#[test]
#[ignore = "run by the test below, in a process of its own"]
fn alter_until_killed() {
    let url = std::env::var(FILE).unwrap();
    let what = std::env::var(ALTERATION).unwrap();
    let db = Db::builder().record::<Wider>().open(&url).unwrap();
    println!("\nbegun");
    for _ in 0..20 {
        db.execute("INSERT INTO t (n) VALUES (2)", ()).unwrap();
    }
    let run = |text: &String| assert!(db.execute(text, ()).is_ok(), "{text}");
    let mut insert = "INSERT INTO t DEFAULT VALUES";
    match what.as_str() {
        "add by Bobak" => {
            db.create_missing_tables().unwrap();
            insert = "INSERT INTO t (n, c) VALUES (9, 'y')";
        }
        "drop" => drop_column(&db).iter().for_each(run),
        _ => {
            let (_, texts) = ALTERATIONS.iter().find(|(name, _)| *name == what).unwrap();
            texts.iter().for_each(|text| run(&(*text).to_owned()));
        }
    }
    loop {
        db.execute(insert, ()).unwrap();
    }
}

/// Whether the archive is up to date; otherwise it has stopped.
fn ship_or_stop(archive: &mut Archive) -> bool {
    loop {
        match archive.step(Duration::ZERO) {
            Ok(step) if step.changes == 0 => return true,
            Ok(_) => {}
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Schema, "{error}");
                return false;
            }
        }
    }
}

/// A program that alters a tracked table is killed at some moment, while another one archives: a restore has all rows and
/// columns, or fails.
#[test]
fn killed_alterations_lose_no_column() {
    let (mut restored, mut stopped) = (0, 0);
    for what in ["add by Bobak", "add", "rename", "drop"] {
        for moment in 0..6 {
            let place = Place::new();
            let mut archive = place.archive("changes").unwrap();
            ship(&mut archive);
            place.backup("old.db");
            let mut other = Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "altered_tables::alter_until_killed", "--ignored", "--nocapture"])
                .env(FILE, format!("sqlite:{}", place.path("app.db").display()))
                .env(ALTERATION, what)
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            let mut lines = BufReader::new(other.stdout.take().unwrap()).lines();
            assert!(lines.any(|line| line.unwrap() == "begun"), "the other process began");
            // Half of the archivers run meanwhile.
            let mut runs = true;
            for _ in 0..moment * 4 {
                std::thread::sleep(Duration::from_millis(1));
                runs = runs && (moment % 2 == 0 || ship_or_stop(&mut archive));
            }
            other.kill().unwrap();
            other.wait().unwrap();
            drop(archive);
            runs = match place.archive("changes") {
                Ok(mut archive) => runs && ship_or_stop(&mut archive),
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Schema, "{what}, {moment}: {error}");
                    false
                }
            };
            match place.restore("old.db", "changes", RecoveryTarget::End) {
                Ok(db) => {
                    assert_eq!(dump(&db), dump(&place.db), "{what}, moment {moment}");
                    restored += 1;
                }
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Schema, "{what}, {moment}: {error}");
                    assert!(!runs || what == "add by Bobak", "{what}, {moment}: {error}");
                    stopped += 1;
                }
            }
        }
    }
    // The first moment is before most alterations, the last one after them.
    assert!(restored > 0 && stopped > 0, "{restored} restored, {stopped} stopped");
}

#[test]
fn tables_that_were_not_tracked_for_a_while_end_a_replay() {
    let place = Place::new();
    let mut archive = place.archive("changes").unwrap();
    ship(&mut archive);
    place.backup("old.db");
    place.db.untrack_table("t").unwrap();
    place.run("INSERT INTO t (n) VALUES (2)");
    place.db.track_table("t", TrackOptions::new()).unwrap();
    place.run("INSERT INTO t (n) VALUES (3)");
    ship(&mut archive);
    assert_eq!(kind(place.restore("old.db", "changes", RecoveryTarget::End)), ErrorKind::Schema);
    place.db.untrack_table("t").unwrap();
    place.backup("untracked.db");
    place.run("INSERT INTO other (n) VALUES (2)");
    ship(&mut archive);
    let db = place.restore("untracked.db", "changes", RecoveryTarget::End).unwrap();
    assert_eq!(dump(&db), dump(&place.db));
}

#[test]
fn a_replica_gets_a_column_that_bobak_adds() {
    for (from, to) in pairs() {
        let place = from;
        let source = Db::open(&place.url).unwrap();
        let target = Db::open(&to.url).unwrap();
        create(&source);
        let mut replica = source.replicate_to(&target, &[]).unwrap();
        replica.begin(|_| {}).unwrap();
        // The replica is behind when the column is added, with changes on both sides.
        source.execute("UPDATE t SET n = 3 WHERE id = 1", ()).unwrap();
        let wider = Db::builder().record::<Wider>().open(&place.url).unwrap();
        wider.create_missing_tables().unwrap();
        wider.table().unwrap().insert(&Wider { id: 5, n: Some(4), c: "z".into() }).unwrap();
        while replica.step(Duration::ZERO).unwrap().changes > 0 {}
        assert_eq!(replica.check().unwrap().tables[0].rows, 3);
        let rows: Vec<String> = target.sql("SELECT c FROM t ORDER BY id", ()).unwrap();
        assert_eq!(rows, ["x", "x", "z"]);
        // A column that another program adds stops it.
        source.execute("ALTER TABLE t ADD COLUMN d INTEGER", ()).unwrap();
        let error = replica.step(Duration::ZERO).unwrap_err();
        assert_eq!((error.kind(), error.table()), (ErrorKind::Schema, Some("t")), "{error}");
        source.execute("UPDATE t SET d = 1", ()).unwrap();
        assert_eq!(kind(replica.step(Duration::ZERO)), ErrorKind::Schema);
        source.track_table("t", TrackOptions::new()).unwrap();
        assert_eq!(kind(replica.step(Duration::ZERO)), ErrorKind::NotFound);
    }
}

/// A database, and what goes away with it.
struct Store {
    url: String,
    _keep: Box<dyn std::any::Any>,
}

fn file() -> Store {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", folder.path().join("app.db").display());
    Store { url, _keep: Box::new(folder) }
}

/// Sources and targets: files, and where servers are tested, those.
fn pairs() -> Vec<(Store, Store)> {
    #[allow(unused_mut, reason = "servers are a feature")]
    let mut pairs = vec![(file(), file())];
    #[cfg(all(feature = "mysql", feature = "postgres"))]
    if ["BOBAK_TEST_POSTGRES", "BOBAK_TEST_MARIADB"].iter().all(|v| std::env::var_os(v).is_some()) {
        let postgres = bobak_servers::Postgres::start().unwrap();
        pairs.push((Store { url: postgres.url(), _keep: Box::new(postgres) }, file()));
        let mariadb = bobak_servers::MariaDb::start().unwrap();
        pairs.push((Store { url: mariadb.url(), _keep: Box::new(mariadb) }, file()));
    }
    pairs
}

fn create(db: &Db) {
    for text in [
        "CREATE TABLE t (id BIGINT PRIMARY KEY, n BIGINT)",
        "INSERT INTO t (id, n) VALUES (1, 1)",
        "INSERT INTO t (id, n) VALUES (2, 2)",
    ] {
        db.execute(text, ()).unwrap();
    }
    db.track_table("t", TrackOptions::new()).unwrap();
}

/// What SQL does to a tracked table of a server is found at the next step, or the server rejects it.
#[cfg(all(feature = "mysql", feature = "postgres"))]
#[test]
fn a_replica_of_a_server_stops_at_what_sql_alters() {
    for (source, _) in pairs().into_iter().skip(1) {
        for text in [
            "ALTER TABLE t ADD COLUMN c INTEGER",
            "ALTER TABLE t RENAME COLUMN n TO m",
            "ALTER TABLE t DROP COLUMN n",
            "ALTER TABLE t ALTER COLUMN n TYPE text",
            "ALTER TABLE t MODIFY COLUMN n VARCHAR(20)",
            "DROP TABLE t",
        ] {
            let db = Db::open(&source.url).unwrap();
            create(&db);
            let (target, folder) = (file(), tempfile::tempdir().unwrap());
            let target = Db::open(&target.url).unwrap();
            let mut replica = db.replicate_to(&target, &[]).unwrap();
            replica.begin(|_| {}).unwrap();
            let mut archive = db.archive_to(folder.path()).unwrap();
            ship(&mut archive);
            match db.execute(text, ()) {
                // Of the other server's dialect.
                Err(error) => assert_eq!(error.kind(), ErrorKind::Syntax, "{text}: {error}"),
                Ok(_) => {
                    let error = replica.step(Duration::ZERO).unwrap_err();
                    assert_eq!(error.kind(), ErrorKind::Schema, "{text}: {error}");
                    let error = archive.step(Duration::ZERO).unwrap_err();
                    assert_eq!(error.kind(), ErrorKind::Schema, "{text}: {error}");
                    drop(archive);
                    assert!(Archive::check(folder.path()).unwrap().is_stopped, "{text}");
                }
            }
            db.untrack_table("t").unwrap();
            db.execute("DROP TABLE IF EXISTS t", ()).unwrap();
        }
    }
}
