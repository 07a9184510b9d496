//! Two processes on one file.

use crate::engines::{Person, person};
use bobak::prelude::*;
use bobak::{BackupOptions, RestoreOptions};
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio};

const FILE: &str = "BOBAK_TEST_FILE";

/// The other process: begins a transaction, says so, and commits when it is told to.
#[test]
#[ignore = "run by the test below, in a process of its own"]
fn holds_a_transaction() {
    let db = Db::builder().record::<Person>().open(&std::env::var(FILE).unwrap()).unwrap();
    let transaction = db.begin().unwrap();
    transaction.table::<Person>().unwrap().insert(&person("theirs", 1)).unwrap();
    println!("\nholding");
    std::io::stdin().read_exact(&mut [0]).unwrap();
    transaction.commit().unwrap();
}

#[test]
fn another_process_keeps_a_writer_waiting_for_the_busy_timeout_only() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}?busy_timeout=50", folder.path().join("app.db").display());
    let db = Db::builder().record::<Person>().open(&url).unwrap();
    db.create_missing_tables().unwrap();
    let people = db.table::<Person>().unwrap();

    let mut other = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "processes::holds_a_transaction", "--ignored", "--nocapture"])
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

/// The other process: one that opens the database, looks, and closes it.
#[test]
#[ignore = "run by the test below, in a process of its own"]
fn looks_and_goes() {
    let db = Db::builder().record::<Person>().open(&std::env::var(FILE).unwrap()).unwrap();
    println!("\nrows: {}", db.table::<Person>().unwrap().count(Query::all()).unwrap());
}

/// The system drops a process's locks on a file when it closes any handle of it: who is the last with the database open
/// then removes its log, and the commits in that are lost.
#[test]
fn an_open_database_that_is_read_as_a_file_keeps_its_locks() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let (file, url) = (path("app.db"), format!("sqlite:{}", path("app.db").display()));
    let db = Db::builder().record::<Person>().open(&url).unwrap();
    db.create_missing_tables().unwrap();
    let people = db.table::<Person>().unwrap();
    people.insert(&person("ours", 1)).unwrap();
    // What others see once they have opened and closed it.
    let looked = || {
        let run = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "processes::looks_and_goes", "--ignored", "--nocapture"])
            .env(FILE, &url)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&run.stdout).into_owned();
        said.lines().find_map(|line| line.strip_prefix("rows: ")?.parse::<i32>().ok())
    };
    let backup = path("backup.db");
    db.backup(&backup, &BackupOptions::new(), |_| Ok(())).unwrap();
    let copy = format!("sqlite:{}", path("copy.db").display());
    type Look<'a> = Box<dyn Fn() + 'a>;
    let looks: Vec<Look<'_>> = vec![
        Box::new(|| drop(Db::check_backup(&file))),
        Box::new(|| drop(Db::restore(&file, &copy, &RestoreOptions::new()))),
        Box::new(|| {
            let over = RestoreOptions::new().overwrite(true);
            let refused = Db::restore(&backup, &url, &over).unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::Busy, "{refused}");
        }),
        Box::new(|| {
            let refused = Db::open(&format!("memory:{}", file.display())).map(drop).unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::Corrupt, "{refused}");
        }),
    ];
    for (number, look) in looks.iter().enumerate() {
        let rows = i32::try_from(number).unwrap() + 1;
        look();
        assert_eq!(looked(), Some(rows), "{number}");
        assert!(path("app.db-wal").exists(), "{number}: the log was removed");
        people.insert(&person(&format!("more {number}"), 1)).unwrap();
        assert_eq!(looked(), Some(rows + 1), "{number}");
    }
}
