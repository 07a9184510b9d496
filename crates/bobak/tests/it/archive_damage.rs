//! Folders that are not archives, and damage that is not just an unfinished end.

use crate::archive::{last_file, ship};
use crate::engines::{Person, person};
use bobak::archive::Archive;
use bobak::backup::BackupOptions;
use bobak::changes::TrackOptions;
use bobak::prelude::*;
use bobak::restore::{RecoveryTarget, RestoreOptions};
use std::fs;
use std::path::Path;

fn source(folder: &Path) -> Db {
    let url = format!("sqlite:{}", folder.join("app.db").display());
    let db = Db::builder().track::<Person>(TrackOptions::new()).open(&url).unwrap();
    db.create_missing_tables().unwrap();
    db
}

/// The offsets of the frames in a file.
fn frames(bytes: &[u8]) -> Vec<usize> {
    let (mut at, mut places) = (24, Vec::new());
    while at < bytes.len() {
        places.push(at);
        at += 8 + u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    }
    places
}

/// No checksum covers a length, and a wrong one points beyond the next frame or the end of the file.
#[test]
fn a_wrong_length_is_damage_and_nothing_is_cut() {
    let folder = tempfile::tempdir().unwrap();
    let db = source(folder.path());
    let changes = folder.path().join("changes");
    let mut archive = db.archive_to(&changes).unwrap();
    for round in 0..4 {
        for n in 0..3 {
            db.table().unwrap().insert(&person(&format!("n{round}-{n}"), n)).unwrap();
        }
        ship(&mut archive);
    }
    drop(archive);
    let file = last_file(&changes);
    let bytes = fs::read(&file).unwrap();
    let frames = frames(&bytes);
    assert_eq!(frames.len(), 6, "the layouts, the table, and four pages");
    for place in frames {
        for (byte, flip) in (0..4).flat_map(|byte| [(byte, 1), (byte, 0x80)]) {
            let mut wrong = bytes.clone();
            wrong[place + byte] ^= flip;
            fs::write(&file, &wrong).unwrap();
            let errors = [
                Archive::check(&changes).unwrap_err(),
                db.archive_to(&changes).unwrap_err(),
                db.replay(&changes, RecoveryTarget::End).unwrap_err(),
            ];
            for error in errors {
                assert_eq!(error.kind(), ErrorKind::Corrupt, "{place} + {byte}: {error}");
            }
            assert_eq!(fs::read(&file).unwrap(), wrong, "it is as it was");
        }
    }
}

#[test]
fn an_unfinished_end_is_reported_and_cut_only_after_all_checks() {
    let folder = tempfile::tempdir().unwrap();
    let db = source(folder.path());
    let changes = folder.path().join("changes");
    let mut archive = db.archive_to(&changes).unwrap();
    for n in 0..2 {
        db.table().unwrap().insert(&person(&format!("n{n}"), n)).unwrap();
        ship(&mut archive);
    }
    drop(archive);
    assert_eq!(Archive::check(&changes).unwrap().unfinished, 0);
    let file = last_file(&changes);
    let bytes = fs::read(&file).unwrap();
    let torn = &bytes[..bytes.len() - 5];
    fs::write(&file, torn).unwrap();
    let last = frames(&bytes).pop().unwrap();
    let span = Archive::check(&changes).unwrap();
    assert_eq!((span.to, span.unfinished), (1, (torn.len() - last) as u64));
    // An older state of the database: rejected, and nothing is cut.
    let empty = Db::builder().track::<Person>(TrackOptions::new()).open("sqlite::memory:").unwrap();
    empty.create_missing_tables().unwrap();
    let error = empty.archive_to(&changes).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
    assert_eq!(fs::read(&file).unwrap(), torn);
    ship(&mut db.archive_to(&changes).unwrap());
    assert_eq!(fs::metadata(&file).unwrap().len(), bytes.len() as u64);
}

#[test]
fn a_file_is_not_an_archive_folder() {
    let folder = tempfile::tempdir().unwrap();
    let db = source(folder.path());
    let file = folder.path().join("app.db");
    for error in [db.archive_to(&file).unwrap_err(), Archive::check(&file).unwrap_err()] {
        assert_eq!(error.kind(), ErrorKind::Misuse, "{error}");
        assert!(error.message().contains("app.db is a file: name a folder"), "{error}");
    }
}

/// Otherwise the archive would write to a file that has been removed.
#[cfg(unix)]
#[test]
fn a_removed_folder_is_reported_at_the_next_step() {
    let folder = tempfile::tempdir().unwrap();
    let (db, changes) = (source(folder.path()), folder.path().join("changes"));
    let people = db.table().unwrap();
    people.insert(&person("kept", 1)).unwrap();
    let mut archive = db.archive_to(&changes).unwrap();
    ship(&mut archive);
    let is_reported = |archive: &mut Archive| {
        let error = archive.step(std::time::Duration::ZERO).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound, "{error}");
        assert!(error.message().contains(changes.to_str().unwrap()), "{error}");
    };
    // Moved away, and back.
    let moved = folder.path().join("moved");
    fs::rename(&changes, &moved).unwrap();
    is_reported(&mut archive);
    people.insert(&person("later", 1)).unwrap();
    is_reported(&mut archive);
    // Another folder in its place is not the same one.
    fs::create_dir(&changes).unwrap();
    fs::copy(last_file(&moved), changes.join(last_file(&moved).file_name().unwrap())).unwrap();
    is_reported(&mut archive);
    fs::remove_dir_all(&changes).unwrap();
    fs::rename(&moved, &changes).unwrap();
    ship(&mut archive);
    assert_eq!(Archive::check(&changes).unwrap().changes, 2);
    // Removed: a new archive starts with the whole change log.
    fs::remove_dir_all(&changes).unwrap();
    is_reported(&mut archive);
    drop(archive);
    ship(&mut db.archive_to(&changes).unwrap());
    let span = Archive::check(&changes).unwrap();
    assert_eq!((span.from, span.changes), (0, 2));
}

/// Two databases that were one and then diverged: their change numbers are the same.
#[test]
fn an_archive_of_a_diverged_database_is_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let db = source(folder.path());
    let url = format!("sqlite:{}", folder.path().join("app.db").display());
    let backup = folder.path().join("backup.db");
    db.table().unwrap().insert(&person("both", 1)).unwrap();
    db.backup(&backup, &BackupOptions::new(), |_| Ok(())).unwrap();
    let changes = folder.path().join("changes");
    let target = Db::open("memory:").unwrap();
    db.table().unwrap().insert(&person("first", 1)).unwrap();
    ship(&mut db.archive_to(&changes).unwrap());
    db.replicate_to(&target, &[]).unwrap().begin(|_| {}).unwrap();
    drop(db);
    let restore = |options: &RestoreOptions| {
        Db::restore(&backup, &url, &options.clone().overwrite(true)).unwrap();
        Db::open(&url).unwrap()
    };
    // With all changes replayed the history is the same, and the archive continues.
    let db = restore(&RestoreOptions::new().changes(&changes, RecoveryTarget::End));
    db.table().unwrap().insert(&person("goes on", 1)).unwrap();
    ship(&mut db.archive_to(&changes).unwrap());
    db.replicate_to(&target, &[]).unwrap().check().unwrap();
    drop(db);
    let db = restore(&RestoreOptions::new());
    for name in ["second", "third", "fourth"] {
        // Later than the last change in the folder.
        std::thread::sleep(std::time::Duration::from_millis(2));
        db.table().unwrap().insert(&person(name, 1)).unwrap();
    }
    let mut replica = db.replicate_to(&target, &[]).unwrap();
    let errors = [
        db.archive_to(&changes).unwrap_err(),
        replica.step(std::time::Duration::ZERO).unwrap_err(),
    ];
    for error in errors {
        assert_eq!(error.kind(), ErrorKind::Conflict, "{error}");
        assert!(error.message().contains("a backup was restored over it"), "{error}");
    }
}

/// A backup of one database with the changes of another, or with those from before an older state was restored.
#[test]
fn changes_of_another_history_are_not_replayed_on_a_backup() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    for (name, rows) in [("one", 3), ("two", 5)] {
        fs::create_dir(path(name)).unwrap();
        let db = source(&path(name));
        for row in 0..rows {
            db.table().unwrap().insert(&person(&format!("{name} {row}"), 1)).unwrap();
            if row == 2 {
                db.backup(path(&format!("{name}.bak")), &BackupOptions::new(), |_| Ok(())).unwrap();
            }
        }
        ship(&mut db.archive_to(path(&format!("{name}.changes"))).unwrap());
    }
    let (url, place) = (format!("sqlite:{}", path("new.db").display()), path("new.db"));
    let restore = |backup: &str, changes: &str| {
        let options = RestoreOptions::new().changes(path(changes), RecoveryTarget::End);
        Db::restore(path(backup), &url, &options)
    };
    let rejected = restore("one.bak", "two.changes").unwrap_err();
    assert_eq!(rejected.kind(), ErrorKind::Conflict, "{rejected}");
    assert!(!place.exists(), "nothing was put there");
    restore("two.bak", "two.changes").unwrap();
    assert_eq!(Db::open(&url).unwrap().sql::<i64>("SELECT count(*) FROM person", ()).unwrap(), [5]);
}
