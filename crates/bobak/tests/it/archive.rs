//! Changes archived to a folder, and replayed on a backup.

use crate::engines::{Note, Person, person};
use crate::replication::disturb;
use bobak::archive::Archive;
use bobak::backup::BackupOptions;
use bobak::changes::{Keep, TrackOptions};
use bobak::prelude::*;
use bobak::restore::{RecoveryTarget, RestoreOptions};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

struct Place {
    folder: tempfile::TempDir,
    db: Db,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite:{}", folder.path().join("app.db").display());
        let db = crate::change_capture::tracked().open(&url).unwrap();
        db.create_missing_tables().unwrap();
        Self { folder, db }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn url(&self, name: &str) -> String {
        format!("sqlite:{}", self.path(name).display())
    }

    fn backup(&self, name: &str) {
        self.db.backup(self.path(name), &BackupOptions::new(), |_| Ok(())).unwrap();
    }

    /// The restored backup, with the changes replayed.
    fn restored(&self, backup: &str, until: RecoveryTarget) -> Result<Db, Error> {
        let url = self.url("restored.db");
        Db::restore(self.path(backup), &url, &RestoreOptions::new().overwrite(true))?;
        let db = Db::open(&url)?;
        db.replay(self.path("changes"), until)?;
        Ok(db)
    }
}

/// Creates a database that a restore will replace.
fn create_old_database(url: &str) {
    let db = Db::builder().record::<Person>().open(url).unwrap();
    db.create_missing_tables().unwrap();
    db.table().unwrap().insert(&person("old", 1)).unwrap();
}

fn names(url: &str) -> Vec<String> {
    Db::open(url).unwrap().sql("SELECT name FROM person ORDER BY id", ()).unwrap()
}

pub fn ship(archive: &mut Archive) {
    while archive.step(Duration::ZERO).unwrap().changes > 0 {}
}

/// All rows, and the whole history.
fn dump(db: &Db) -> (Vec<Person>, Vec<Note>, Vec<String>) {
    let changes = db.changes().unwrap().iter().map(|change| {
        let change = change.unwrap();
        format!("{} {:?} {} {:?}", change.id, change.kind, change.at, change.actor)
    });
    let changes = changes.collect();
    let all = (db.table::<Person>().unwrap(), db.table::<Note>().unwrap());
    (all.0.list(Query::all()).unwrap(), all.1.list(Query::all()).unwrap(), changes)
}

#[test]
fn a_backup_is_replayed_to_any_moment() {
    let place = Place::new();
    let mut archive = place.db.archive_to(place.path("changes")).unwrap().segment_bytes(4_000);
    let mut moments = Vec::new();
    for seed in 0..8 {
        let caller = place.db.with_actor(&format!("caller {seed}")).unwrap();
        disturb(&caller, seed);
        ship(&mut archive);
        if seed == 3 {
            place.backup("backup.db");
        }
        // Later changes get a later time.
        std::thread::sleep(Duration::from_millis(3));
        moments.push((place.db.changes().unwrap().last_id().unwrap(), dump(&place.db)));
    }
    let span = Archive::check(place.path("changes")).unwrap();
    assert_eq!((span.from, span.to), (0, archive.position()));
    assert!(span.files > 5, "{span:?}");
    for (id, expected) in moments.iter().skip(3) {
        let db = place.restored("backup.db", RecoveryTarget::Change(*id)).unwrap();
        assert_eq!(dump(&db), *expected, "up to {id}");
        let last = db.changes().unwrap().since(id - 1).page().unwrap().changes.remove(0);
        drop(db);
        let db = place.restored("backup.db", RecoveryTarget::Moment(last.at)).unwrap();
        assert_eq!(dump(&db), *expected, "up to {}", last.at);
    }
    let db = place.restored("backup.db", RecoveryTarget::End).unwrap();
    assert_eq!(dump(&db), moments.last().unwrap().1);
    let again = db.replay(place.path("changes"), RecoveryTarget::End).unwrap();
    assert_eq!((again.changes, again.position), (0, archive.position()), "nothing is made twice");
    // The database continues as the source would: change numbers, keys, foreign keys.
    let id = db.table().unwrap().insert(&person("next", 1)).unwrap();
    let orphan = db.table().unwrap().insert(&crate::engines::note(id + 1_000, "nobody's"));
    assert_eq!(orphan.unwrap_err().kind(), ErrorKind::Constraint);
    assert_eq!(db.changes().unwrap().last_id().unwrap(), archive.position() + 1);
    drop(db);
    // A moment before the backup cannot be reached.
    let error = place.restored("backup.db", RecoveryTarget::Change(moments[1].0)).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::OutOfRange, "{error}");
    let error =
        place.restored("backup.db", RecoveryTarget::Moment(Timestamp::UNIX_EPOCH)).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::OutOfRange, "{error}");
}

/// Changes are replayed before the database is put in place: if anything is wrong with them, the create_old_database database stays.
#[test]
fn a_database_is_replaced_after_the_replay() {
    let place = Place::new();
    let changes = place.path("changes");
    let mut archive = place.db.archive_to(&changes).unwrap().segment_bytes(2_000);
    disturb(&place.db, 1);
    ship(&mut archive);
    place.backup("backup.db");
    for seed in 2..5 {
        disturb(&place.db, seed);
        ship(&mut archive);
    }
    drop(archive);
    let (keep, empty) = (place.url("keep.db"), place.url("empty.db"));
    create_old_database(&keep);
    let rejected = |folder: &Path, until: RecoveryTarget, kind: ErrorKind| {
        for url in [&keep, &empty] {
            let options = RestoreOptions::new().overwrite(true).changes(folder, until);
            let error = Db::restore(place.path("backup.db"), url, &options).unwrap_err();
            assert_eq!(error.kind(), kind, "{error}");
        }
        assert_eq!(names(&keep), ["old"]);
        assert!(!place.path("empty.db").exists());
    };
    rejected(&changes, RecoveryTarget::Moment(Timestamp::UNIX_EPOCH), ErrorKind::OutOfRange);
    rejected(&changes, RecoveryTarget::Change(1), ErrorKind::OutOfRange);
    rejected(&place.path("nowhere"), RecoveryTarget::End, ErrorKind::Io);
    // The archive of another database.
    let other = Db::open("sqlite::memory:").unwrap();
    other.execute("CREATE TABLE person (id INTEGER PRIMARY KEY, other TEXT)", ()).unwrap();
    other.track_table("person", TrackOptions::new()).unwrap();
    let rows = "WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500) \
                INSERT INTO person (other) SELECT 'x' FROM n";
    other.execute(rows, ()).unwrap();
    ship(&mut other.archive_to(place.path("others")).unwrap());
    rejected(&place.path("others"), RecoveryTarget::End, ErrorKind::Conflict);
    // An archive that starts after the backup, and a damaged one.
    let first = changes.join(FIRST);
    let bytes = fs::read(&first).unwrap();
    fs::remove_file(&first).unwrap();
    let behind = Archive::check(&changes).unwrap().from;
    assert!(behind > 0);
    fs::write(&first, [&bytes[..bytes.len() / 2], b"x", &bytes[bytes.len() / 2 + 1..]].concat())
        .unwrap();
    rejected(&changes, RecoveryTarget::End, ErrorKind::Corrupt);
    fs::write(&first, bytes).unwrap();

    let options = RestoreOptions::new().overwrite(true).changes(&changes, RecoveryTarget::End);
    let report = Db::restore(place.path("backup.db"), &keep, &options).unwrap();
    let last = place.db.changes().unwrap().last_id().unwrap();
    assert_eq!(report.replayed.map(|made| made.position), Some(last));
    let db = crate::change_capture::tracked().open(&keep).unwrap();
    assert_eq!(dump(&db), dump(&place.db));
    let files = fs::read_dir(place.folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(files.into_iter().all(|file| !file.to_string_lossy().contains(".new")));
}

/// Run in a process that is killed: restore_until_killed a backup and its changes over a database.
#[test]
#[ignore = "run by the test below, in a process of its own"]
fn restore_until_killed() {
    let folder = PathBuf::from(std::env::var_os(FOLDER).unwrap());
    let options =
        RestoreOptions::new().overwrite(true).changes(folder.join("changes"), RecoveryTarget::End);
    println!("\nbegins");
    Db::restore(folder.join("backup.db"), &std::env::var(FILE).unwrap(), &options).unwrap();
    println!("\ndone");
}

#[test]
fn a_killed_restore_leaves_the_old_database_or_the_restored_one() {
    let place = Place::new();
    let mut archive = place.db.archive_to(place.path("changes")).unwrap();
    disturb(&place.db, 1);
    place.backup("backup.db");
    for seed in 2..12 {
        disturb(&place.db, seed);
    }
    ship(&mut archive);
    drop(archive);
    let expected = names(&place.url("app.db"));
    assert_ne!(expected, names(&place.url("backup.db")));
    let mut finished = 0;
    for moment in 0..12 {
        let (file, url) = (place.path("keep.db"), place.url("keep.db?journal_mode=delete"));
        let _ = fs::remove_file(&file);
        create_old_database(&url);
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "archive::restore_until_killed", "--ignored", "--nocapture"])
            .env(FILE, &url)
            .env(FOLDER, place.folder.path())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let said = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut said = said.map_while(Result::ok).filter(|line| !line.is_empty());
        assert!(said.by_ref().any(|line| line == "begins"));
        std::thread::sleep(Duration::from_millis(moment * moment));
        child.kill().unwrap();
        let done = said.any(|line| line == "done");
        child.wait().unwrap();
        let found = names(&url);
        assert!(found == expected || !done && found == ["old"], "{found:?}, done: {done}");
        finished += usize::from(found == expected);
    }
    println!("{finished} of 12 were in their place");
}

#[test]
fn a_torn_end_after_a_kill_or_a_full_disk_is_cut_off() {
    let place = Place::new();
    let folder = place.path("changes");
    let mut archive = place.db.archive_to(&folder).unwrap();
    disturb(&place.db, 1);
    ship(&mut archive);
    let (file, whole) = (last_file(&folder), fs::metadata(last_file(&folder)).unwrap().len());
    let before = archive.position();
    disturb(&place.db, 2);
    ship(&mut archive);
    drop(archive);
    let bytes = fs::read(&file).unwrap();
    let lengths = (whole..bytes.len() as u64).step_by(97).chain([whole, whole + 3, whole + 9]);
    for length in lengths {
        fs::write(&file, &bytes[..length as usize]).unwrap();
        assert_eq!(Archive::check(&folder).unwrap().to, before, "cut to {length}");
        let mut archive = place.db.archive_to(&folder).unwrap();
        assert_eq!(archive.position(), before);
        ship(&mut archive);
        drop(archive);
        // The result is the same but for the time of reading.
        assert_eq!(fs::metadata(&file).unwrap().len(), bytes.len() as u64, "cut to {length}");
    }
    // Zeros: the file had grown, but the bytes were never written.
    let mut zeros = bytes.clone();
    zeros[whole as usize + 8..].fill(0);
    fs::write(&file, &zeros).unwrap();
    assert_eq!(place.db.archive_to(&folder).unwrap().position(), before);
    // A file without a complete header is started again.
    fs::write(&file, &bytes[..20]).unwrap();
    let mut archive = place.db.archive_to(&folder).unwrap();
    assert_eq!(archive.position(), 0);
    ship(&mut archive);
    assert_eq!(Archive::check(&folder).unwrap().to, archive.position());
}

pub fn last_file(folder: &Path) -> PathBuf {
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    files.filter(|file| file.extension().is_some_and(|end| end == "changes")).max().unwrap()
}

#[test]
fn damage_gaps_and_files_of_other_archives_are_rejected() {
    let place = Place::new();
    let folder = place.path("changes");
    let check = |kind: ErrorKind, words: &str| {
        let error = Archive::check(&folder).unwrap_err();
        assert!(error.kind() == kind && error.to_string().contains(words), "{error:?}");
    };
    fs::create_dir(&folder).unwrap();
    check(ErrorKind::NotFound, "no changes in");
    let mut archive = place.db.archive_to(&folder).unwrap().segment_bytes(1_000);
    let error = place.db.archive_to(&folder).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Busy, "{error}");
    for seed in 0..5 {
        disturb(&place.db, seed);
        ship(&mut archive);
    }
    place.backup("backup.db");
    drop(archive);

    // Each flipped byte is found in a file that is not the last.
    let mut files: Vec<_> = fs::read_dir(&folder).unwrap().map(|e| e.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some());
    files.sort();
    let bytes = fs::read(&files[1]).unwrap();
    for at in (0..bytes.len()).step_by(31) {
        let mut wrong = bytes.clone();
        wrong[at] ^= 0x10;
        fs::write(&files[1], &wrong).unwrap();
        let kind = Archive::check(&folder).unwrap_err().kind();
        assert!(matches!(kind, ErrorKind::Corrupt | ErrorKind::Unsupported), "{at}: {kind:?}");
    }
    fs::write(&files[1], &bytes).unwrap();
    let moved = place.path("moved");
    fs::rename(&files[1], &moved).unwrap();
    check(ErrorKind::Corrupt, "where the one before ends");
    fs::rename(&moved, &files[1]).unwrap();
    fs::rename(&files[0], &moved).unwrap();
    let other = Db::builder().track::<Person>(TrackOptions::new()).open("sqlite::memory:").unwrap();
    other.create_missing_tables().unwrap();
    let error = other.replay(&folder, RecoveryTarget::End).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
    fs::rename(&moved, &files[0]).unwrap();
    let error = other.archive_to(&folder).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
    let error = other.replay(&folder, RecoveryTarget::End).unwrap_err();
    assert_eq!((error.kind(), error.table()), (ErrorKind::Schema, Some("note")), "{error}");

    // Changes that were pruned before they were archived.
    disturb(&place.db, 9);
    place.db.prune_changes(Keep::Last(1)).unwrap();
    let error = place.db.archive_to(&folder).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
    let began = place.db.archive_to(place.path("new")).unwrap();
    assert_eq!(began.position(), place.db.changes().unwrap().last_id().unwrap() - 1);
}

#[test]
fn a_memory_snapshot_is_replayed_if_no_table_has_references() {
    let folder = tempfile::tempdir().unwrap();
    let open = |name: &str| {
        let url = format!("memory:{}", folder.path().join(name).display());
        let db = Db::builder().track::<Person>(TrackOptions::new()).open(&url).unwrap();
        db.create_missing_tables().unwrap();
        db
    };
    let db = open("store.bobak");
    let mut archive = db.archive_to(folder.path().join("changes")).unwrap();
    let id = db.table().unwrap().insert(&person("ada", 1)).unwrap();
    db.backup(folder.path().join("backup.bobak"), &BackupOptions::new(), |_| Ok(())).unwrap();
    db.table::<Person>().unwrap().set(id, [Person::AGE.set(2)]).unwrap();
    ship(&mut archive);
    let restored = open("backup.bobak");
    let replayed = restored.replay(folder.path().join("changes"), RecoveryTarget::End).unwrap();
    assert_eq!((replayed.changes, replayed.position), (1, 2));
    assert_eq!(restored.table::<Person>().unwrap().require(id).unwrap().age, 2);

    let [db, linked] = ["memory:", "memory:"].map(|url| {
        let db = crate::change_capture::tracked().open(url).unwrap();
        db.create_missing_tables().unwrap();
        db
    });
    let mut archive = db.archive_to(folder.path().join("linked")).unwrap();
    db.table().unwrap().insert(&person("ada", 1)).unwrap();
    ship(&mut archive);
    let error = linked.replay(folder.path().join("linked"), RecoveryTarget::End).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
}

const FILE: &str = "BOBAK_TEST_ARCHIVE_FILE";
const FOLDER: &str = "BOBAK_TEST_ARCHIVE_FOLDER";

/// Run in a process that is killed: archives without end.
#[test]
#[ignore = "run by the test below, in a process of its own"]
fn archive_until_killed() {
    let db = Db::open(&std::env::var(FILE).unwrap()).unwrap();
    let archive = db.archive_to(std::env::var(FOLDER).unwrap()).unwrap();
    let mut archive = archive.segment_bytes(20_000);
    loop {
        println!("\nat {}", archive.step(Duration::from_millis(1)).unwrap().position);
    }
}

#[test]
fn changes_that_a_killed_process_reported_as_archived_are_there() {
    let place = Place::new();
    place.backup("backup.db");
    for round in 0..5 {
        let mut other = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "archive::archive_until_killed", "--ignored", "--nocapture"])
            .env(FILE, place.url("app.db"))
            .env(FOLDER, place.path("changes"))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let said = BufReader::new(other.stdout.take().unwrap()).lines();
        let mut said = said.filter_map(|line| line.unwrap().strip_prefix("at ")?.parse().ok());
        let mut place_said: u64 = said.next().unwrap();
        for step in 0..4 {
            disturb(&place.db, round * 10 + step);
            place_said = said.next().unwrap();
        }
        other.kill().unwrap();
        other.wait().unwrap();
        place_said = said.last().unwrap_or(place_said);
        let span = Archive::check(place.path("changes")).unwrap();
        assert!(span.to >= place_said, "{span:?}, {place_said} was said");
    }
    ship(&mut place.db.archive_to(place.path("changes")).unwrap());
    let db = place.restored("backup.db", RecoveryTarget::End).unwrap();
    assert_eq!(dump(&db), dump(&place.db));
}

/// The tracked databases and archives of released versions.
const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tools/testkit/tests/fixtures");
/// The archive file that starts with the first change.
const FIRST: &str = "00000000000000000000.changes";

/// Their content: one person is inserted, changed twice and deleted, another one stays. The backups were taken after the
/// first change.
fn live(db: &Db, behind_the_first: impl FnOnce()) {
    let ada = db.table().unwrap().insert(&person("ada", 1)).unwrap();
    behind_the_first();
    let named = db.with_actor("ann").unwrap();
    named.table::<Person>().unwrap().set(ada, [Person::AGE.set(2)]).unwrap();
    db.table().unwrap().insert(&person("bob", 3)).unwrap();
    db.table::<Person>().unwrap().set(ada, [Person::AGE.set(4)]).unwrap();
    db.table::<Person>().unwrap().delete(ada).unwrap();
}

/// Makes the fixtures of this version.
#[test]
#[ignore = "run by `cargo xtask fixtures`, before a release"]
fn make_fixtures() {
    let folder = PathBuf::from(std::env::var_os("BOBAK_FIXTURES").unwrap());
    let moved = tempfile::tempdir().unwrap();
    for (name, url) in [("feed.backup", "sqlite::memory:"), ("feed.bobak", "memory:")] {
        let db =
            Db::builder().track::<Person>(TrackOptions::new().history(true)).open(url).unwrap();
        db.create_missing_tables().unwrap();
        let changes = moved.path().join(name);
        let mut archive = db.archive_to(&changes).unwrap();
        let options = BackupOptions::new();
        live(&db, || drop(db.backup(folder.join(name), &options, |_| Ok(())).unwrap()));
        ship(&mut archive);
        fs::copy(changes.join(FIRST), folder.join(format!("{name}.changes"))).unwrap();
    }
}

#[test]
fn tracked_databases_and_archives_of_older_versions_are_replayed() {
    let mut files = 0;
    for version in fs::read_dir(FIXTURES).unwrap().map(|entry| entry.unwrap().path()) {
        for (name, scheme) in [("feed.backup", "sqlite"), ("feed.bobak", "memory")] {
            if !version.join(name).exists() {
                continue;
            }
            let folder = tempfile::tempdir().unwrap();
            let changes = folder.path().join("changes");
            fs::create_dir(&changes).unwrap();
            fs::copy(version.join(format!("{name}.changes")), changes.join(FIRST)).unwrap();
            let url = format!("{scheme}:{}", folder.path().join(name).display());
            Db::restore(version.join(name), &url, &RestoreOptions::new()).unwrap();
            let db = Db::builder().record::<Person>().open(&url).unwrap();
            assert_eq!(db.tracked_tables().unwrap(), ["person"]);
            assert_eq!(db.changes().unwrap().last_id().unwrap(), 1);
            let is_old = version.ends_with("0.1.0-without-borders");
            // A page without transaction boundaries may be cut anywhere.
            let inside = db.replay(&changes, RecoveryTarget::Change(3));
            assert_eq!(inside.is_ok_and(|made| made.position == 3 && !made.whole), is_old);
            let replayed = db.replay(&changes, RecoveryTarget::End).unwrap();
            let left = if is_old { 2 } else { 4 };
            assert_eq!((replayed.changes, replayed.position), (left, 5), "{name} of {version:?}");
            assert_eq!(replayed.whole, !is_old);
            let people = db.table::<Person>().unwrap();
            let names: Vec<_> = people.list(Query::all()).unwrap();
            assert_eq!(names, [Person { id: 2, ..person("bob", 3) }]);
            let history = people.history(1).unwrap();
            let ages: Vec<_> = history.iter().map(|r| r.after.as_ref().map(|p| p.age)).collect();
            assert_eq!(ages, [Some(1), Some(2), Some(4), None]);
            assert_eq!(history[1].actor.as_deref(), Some("ann"));
            // Capture and archive continue.
            people.set(2, [Person::AGE.set(5)]).unwrap();
            let mut archive = db.archive_to(&changes).unwrap();
            assert_eq!(archive.position(), 5);
            ship(&mut archive);
            assert_eq!((archive.position(), Archive::check(&changes).unwrap().changes), (6, 6));
            files += 1;
        }
    }
    assert!(files >= 4, "{files}");
}
