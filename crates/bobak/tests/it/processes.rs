//! Two processes on one file.

use crate::engines::{Person, person};
use bobak::backup::BackupOptions;
use bobak::prelude::*;
use bobak::restore::RestoreOptions;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio};

const FILE: &str = "BOBAK_TEST_FILE";

/// Run in another process: begins a transaction, prints a line, and commits when a byte arrives on stdin.
#[test]
#[ignore = "run by the test below, in a process of its own"]
fn hold_a_transaction() {
    let db = Db::builder().record::<Person>().open(&std::env::var(FILE).unwrap()).unwrap();
    let transaction = db.begin().unwrap();
    transaction.table::<Person>().unwrap().insert(&person("theirs", 1)).unwrap();
    println!("\nholding");
    std::io::stdin().read_exact(&mut [0]).unwrap();
    transaction.commit().unwrap();
}

#[test]
fn a_writer_waits_for_another_process_until_the_busy_timeout() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}?busy_timeout=50", folder.path().join("app.db").display());
    let db = Db::builder().record::<Person>().open(&url).unwrap();
    db.create_missing_tables().unwrap();
    let people = db.table::<Person>().unwrap();

    let mut other = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "processes::hold_a_transaction", "--ignored", "--nocapture"])
        .env(FILE, &url)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(other.stdout.take().unwrap()).lines();
    assert!(said.any(|line| line.unwrap() == "holding"), "the other process began");

    let error = people.insert(&person("ours", 2)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Busy, "{error}");
    assert!(error.is_retryable());
    assert_eq!(people.count(Query::all()).unwrap(), 0, "readers are not kept waiting");

    other.stdin.take().unwrap().write_all(b"!").unwrap();
    assert!(other.wait().unwrap().success());
    people.insert(&person("ours", 2)).unwrap();
    assert_eq!(people.count(Query::all()).unwrap(), 2);
}

/// The system drops a process's locks on a file when it closes any handle of it. Another program that opens and closes the
/// database then assumes that it is the last one, and removes the WAL with the commits in it.
#[test]
#[cfg(target_os = "linux")]
fn an_open_database_that_is_read_as_a_file_keeps_its_locks() {
    use std::os::unix::fs::MetadataExt;
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let (file, url) = (path("app.db"), format!("sqlite:{}", path("app.db").display()));
    let db = Db::builder().record::<Person>().open(&url).unwrap();
    db.create_missing_tables().unwrap();
    db.table::<Person>().unwrap().insert(&person("ours", 1)).unwrap();
    let backup = path("backup.db");
    db.backup(&backup, &BackupOptions::new(), |_| Ok(())).unwrap();
    let inode = format!(":{} ", std::fs::metadata(&file).unwrap().ino());
    let locks = || {
        let all = std::fs::read_to_string("/proc/locks").unwrap();
        all.lines().filter(|line| line.contains(&inode)).count()
    };
    let before = locks();
    assert!(before > 0, "with a log there is always one");
    let copy = format!("sqlite:{}", path("copy.db").display());
    drop(Db::check_backup(&file));
    assert_eq!(locks(), before);
    drop(Db::restore(&file, &copy, &RestoreOptions::new()));
    assert_eq!(locks(), before);
    let over = RestoreOptions::new().overwrite(true);
    let rejected = Db::restore(&backup, &url, &over).unwrap_err();
    assert_eq!((rejected.kind(), locks()), (ErrorKind::Busy, before), "{rejected}");
    let rejected = Db::open(&format!("memory:{}", file.display())).map(drop).unwrap_err();
    assert_eq!((rejected.kind(), locks()), (ErrorKind::Corrupt, before), "{rejected}");
}
