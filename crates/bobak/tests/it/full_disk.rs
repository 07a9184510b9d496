//! Errors of backups and restores on a full disk name the files that the caller knows.

use crate::backup::{fill, open, url};
use bobak::backup::{BackupOptions, Compression};
use bobak::prelude::*;
use bobak::restore::RestoreOptions;
use std::process::Command;

const FOLDER: &str = "BOBAK_TEST_FULL_FOLDER";

/// Run in a process whose files cannot grow beyond some pages: prints each error.
#[test]
#[ignore = "run by the test below, in a process of its own"]
fn without_room() {
    let folder = std::path::PathBuf::from(std::env::var_os(FOLDER).unwrap());
    let db = Db::open(&url(&folder.join("app.db"), "?mode=ro")).unwrap();
    let to = url(&folder.join("restored.db"), "");
    let tell = |what: &str, result: Result<bobak::backup::BackupReport, Error>| {
        let error = result.unwrap_err();
        println!("\nerror {what}: {:?}: {error}", error.kind());
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
    let db = open(&url(&folder.path().join("app.db"), "?journal_mode=delete"));
    fill(&db);
    for (name, compression) in [("plain", Compression::None), ("packed", Compression::Zstd)] {
        if compression == Compression::None || cfg!(feature = "compress") {
            let options = BackupOptions::new().compression(compression);
            db.backup(folder.path().join(name), &options, |_| Ok(())).unwrap();
        }
    }
    drop(db);
    let temporary = tempfile::tempdir().unwrap();
    // With SIGXFSZ ignored, a write beyond the limit is an error instead of the end of the process.
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
    let errors: Vec<_> = said.lines().filter_map(|line| line.strip_prefix("error ")).collect();
    assert_eq!(errors.len(), if cfg!(feature = "compress") { 8 } else { 4 }, "{said}");
    let (own, temporary) = (folder.path().to_str().unwrap(), temporary.path().to_str().unwrap());
    for line in errors {
        assert!(!line.contains(".new") && !line.contains("bobak."), "{line}");
        let names: &[&str] = match line.split_once(':').unwrap().0 {
            "restore" => &[&format!("{own}/restored.db from {own}/p"), &format!("space in {own},")],
            "check" => &[&format!("check {own}/p"), &format!("space in {temporary},")],
            "backup" => &[&format!("{own}/again")],
            _ => &[temporary],
        };
        assert!(names.iter().all(|name| line.contains(name)), "{line}");
    }
    let names = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(names.into_iter().all(|name| name != "restored.db" && name != "again"));
}

/// Run in a process that may write one page to any file: reading a database with a WAL needs more.
#[test]
#[ignore = "run by the test below, in a process of its own"]
fn opens_without_room() {
    let folder = std::path::PathBuf::from(std::env::var_os(FOLDER).unwrap());
    let opened = Db::open(&url(&folder.join("app.db"), ""));
    let counted = opened.and_then(|db| db.sql::<i64>("SELECT count(*) FROM item", ()));
    println!("\nerror {:?}", counted.map_err(|error| error.kind()));
}

#[test]
#[cfg(target_os = "linux")]
fn opening_a_database_on_a_full_disk_names_the_cause() {
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
    assert!(said.contains("error Err(Full)"), "{said}");
}
