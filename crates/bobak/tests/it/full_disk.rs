//! What is said where a backup, or what is made of one, finds no room: names that the caller knows.

use crate::backup::{fill, open, url};
use bobak::backup::{BackupOptions, Compression};
use bobak::prelude::*;
use bobak::restore::RestoreOptions;
use std::process::Command;

const FOLDER: &str = "BOBAK_TEST_FULL_FOLDER";

/// The process whose files can't get longer than some pages: tells each error.
#[test]
#[ignore = "run by the test below, in a process of its own"]
fn without_room() {
    let folder = std::path::PathBuf::from(std::env::var_os(FOLDER).unwrap());
    let db = Db::open(&url(&folder.join("app.db"), "?mode=ro")).unwrap();
    let to = url(&folder.join("restored.db"), "");
    let tell = |what: &str, result: Result<bobak::backup::BackupReport, Error>| {
        let error = result.unwrap_err();
        println!("\ntold {what}: {:?}: {error}", error.kind());
    };
    for name in ["plain", "packed"].into_iter().filter(|name| folder.join(name).exists()) {
        let backup = folder.join(name);
        tell(
            "restore",
            Db::restore(&backup, &to, &RestoreOptions::new()).map(|report| report.backup),
        );
        tell("check", Db::check_backup(&backup));
        let options = BackupOptions::new().compression(match name {
            "plain" => Compression::None,
            _ => Compression::Zstd,
        });
        tell("backup", db.backup(folder.join("again"), &options, |_| Ok(())));
        tell("pipe", db.backup_to(std::io::sink(), &options, |_| Ok(())));
    }
}

#[test]
#[cfg(target_os = "linux")]
fn errors_name_what_the_caller_knows() {
    let folder = tempfile::tempdir().unwrap();
    let db = open(&url(&folder.path().join("app.db"), "?journal=delete"));
    fill(&db);
    for (name, compression) in [("plain", Compression::None), ("packed", Compression::Zstd)] {
        if compression == Compression::None || cfg!(feature = "compress") {
            let options = BackupOptions::new().compression(compression);
            db.backup(folder.path().join(name), &options, |_| Ok(())).unwrap();
        }
    }
    drop(db);
    let temporary = tempfile::tempdir().unwrap();
    // A write beyond the limit is an error, and not the end of the process.
    let limited = "trap '' XFSZ; ulimit -f 100; exec \"$0\" \"$@\"";
    let said = Command::new("sh")
        .args(["-c", limited])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "full_disk::without_room", "--ignored", "--nocapture"])
        .env(FOLDER, folder.path())
        .env("TMPDIR", temporary.path())
        .output()
        .unwrap();
    assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    let said = String::from_utf8_lossy(&said.stdout);
    let told: Vec<_> = said.lines().filter_map(|line| line.strip_prefix("told ")).collect();
    assert_eq!(told.len(), if cfg!(feature = "compress") { 8 } else { 4 }, "{said}");
    let (own, temporary) = (folder.path().to_str().unwrap(), temporary.path().to_str().unwrap());
    for line in told {
        assert!(!line.contains(".new") && !line.contains("bobak."), "{line}");
        let names: &[&str] = match line.split_once(':').unwrap().0 {
            "restore" => &[&format!("{own}/restored.db from {own}/p"), &format!("room in {own},")],
            "check" => &[&format!("check {own}/p"), &format!("room in {temporary},")],
            "backup" => &[&format!("{own}/again")],
            _ => &[temporary],
        };
        assert!(names.iter().all(|name| line.contains(name)), "{line}");
    }
    let names = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(names.into_iter().all(|name| name != "restored.db" && name != "again"));
}

/// The process that may write no more than a page to any file: a database with a log needs more to be read.
#[test]
#[ignore = "run by the test below, in a process of its own"]
fn opens_without_room() {
    let folder = std::path::PathBuf::from(std::env::var_os(FOLDER).unwrap());
    let opened = Db::open(&url(&folder.join("app.db"), ""));
    let counted = opened.and_then(|db| db.sql::<i64>("SELECT count(*) FROM item", ()));
    println!("\ntold {:?}", counted.map_err(|error| error.kind()));
}

#[test]
#[cfg(target_os = "linux")]
fn a_database_that_has_no_room_to_be_opened_says_so() {
    let folder = tempfile::tempdir().unwrap();
    drop(open(&url(&folder.path().join("app.db"), "")));
    let said = Command::new("sh")
        .args(["-c", "trap '' XFSZ; ulimit -f 8; exec \"$0\" \"$@\""])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "full_disk::opens_without_room", "--ignored", "--nocapture"])
        .env(FOLDER, folder.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&said.stdout);
    assert!(said.contains("told Err(Full)"), "{said}");
}
