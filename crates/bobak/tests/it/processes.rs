//! Two processes on one file.

use crate::engines::{Person, person};
use bobak::prelude::*;
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
