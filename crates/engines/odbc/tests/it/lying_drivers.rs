//! Drivers that say more of themselves than is true. The fault cannot be had otherwise, so these are made for the tests: see
//! `drivers/lying.c`.

use bobak_core::TransactionControl::{Begin, Rollback};
use bobak_core::{Engine, Error, ErrorKind, OnError};
use bobak_odbc::Odbc;
use bobak_testkit::{Entry, Probe, row, tables};
use std::path::Path;
use std::process::Command;

/// The name by which the system finds the real driver.
const REAL: &str = "libsqlite3odbc.so";

/// Compiles a driver with these lies, and opens a new database with it.
fn open(folder: &Path, lies: &[&str]) -> Result<Odbc, Error> {
    let driver = folder.join("liblying.so");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/drivers/lying.c");
    let real = real_driver();
    let compiled = Command::new("cc")
        .args(["-shared", "-fPIC", "-Wall", "-o"])
        .arg(&driver)
        .arg(source)
        .arg(format!("-DREAL=\"{real}\""))
        .args(lies)
        // What it does not have is found in what it is linked with.
        .args(["-Wl,--no-as-needed", &real, "-ldl"])
        .arg(format!("-Wl,-rpath,{}", Path::new(&real).parent().unwrap().display()))
        .output()
        .unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let (driver, file) = (driver.display(), folder.join("shop.db"));
    Odbc::builder(format!("Driver={driver};Database={}", file.display())).connect()
}

/// The path of the real driver, as unixODBC's list or the system's folder of drivers has it.
fn real_driver() -> String {
    let list = std::fs::read_to_string("/etc/odbcinst.ini").unwrap();
    let section = list.split("[SQLite3]").nth(1).expect("odbcinst.ini has SQLite3");
    let named = section.lines().find_map(|line| line.trim().strip_prefix("Driver="));
    let named = named.unwrap_or(REAL).to_owned();
    let folders =
        ["/usr/lib/x86_64-linux-gnu/odbc", "/usr/lib/aarch64-linux-gnu/odbc", "/usr/lib/odbc"];
    let found = folders.iter().map(|folder| format!("{folder}/{named}"));
    found.into_iter().find(|path| Path::new(path).exists()).unwrap_or(named)
}

/// Creates the table by the real driver, since a database that Bobak does not know gets no tables.
fn create(folder: &Path) {
    let file = folder.join("shop.db");
    let text = format!("Driver={};Database={}", real_driver(), file.display());
    let engine = Odbc::builder(text).connect().unwrap();
    Probe::with_tables(&engine, &[&tables::tag().unwrap()]).map(drop).unwrap();
}

/// Rows with keys, as one batch.
fn tags(rows: usize) -> Vec<Entry> {
    let tag = tables::tag().unwrap();
    (0..rows).map(|n| Entry::insert(&tag, row![format!("t{n}"), 0.5])).collect()
}

#[test]
fn arrays_that_lose_rows_are_noticed() {
    for name in [r#"-DLIE_NAME="SQLite""#, r#"-DLIE_NAME="Other""#] {
        let folder = tempfile::tempdir().unwrap();
        let engine = open(folder.path(), &["-DLIE_ARRAYS", name]).unwrap();
        let tag = tables::tag().unwrap();
        create(folder.path());
        let probe = Probe::new(&engine).unwrap();
        let outcomes = probe.batch(&tags(2_500), OnError::Stop).outcomes().unwrap();
        assert_eq!((outcomes.len() as u64, probe.count(&tag).unwrap()), (2_500, 2_500), "{name}");
    }
}

#[test]
fn a_wrong_name_of_the_database_is_an_error() {
    for name in [r#"-DLIE_NAME="PostgreSQL""#, r#"-DLIE_NAME="MariaDB""#, r#"-DLIE_NAME="MySQL""#] {
        let folder = tempfile::tempdir().unwrap();
        let error = open(folder.path(), &[name]).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Config, "{error}");
    }
}

#[test]
fn transactions_that_do_not_begin_are_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(folder.path(), &["-DLIE_TRANSACTIONS", r#"-DLIE_NAME="Other""#]).unwrap();
    let tag = tables::tag().unwrap();
    create(folder.path());
    let probe = Probe::new(&engine).unwrap();
    let sent = probe.batch(&tags(3), OnError::Stop);
    let error = sent.whole.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
    assert_eq!(probe.count(&tag).unwrap(), 0);
    assert_eq!(probe.control(Begin).unwrap_err().kind(), ErrorKind::Unsupported);
    assert!(probe.control(Rollback).is_err(), "none is open");
    // A write that commits by itself needs none.
    probe.insert(&tag, row!["a", 1.0]).unwrap();
    assert_eq!(probe.count(&tag).unwrap(), 1);
    let _ = engine.tables();
}
