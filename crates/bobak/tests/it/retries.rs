//! Transactions that conflict and are retried.

use crate::engines::{Person, person};
use bobak::prelude::*;
use bobak_testkit::FaultyEngine;
use std::cell::Cell;

/// A database whose first commits fail, and how often a transaction ran on it.
fn runs(kind: ErrorKind, failures: u64, retries: Option<u32>) -> (u32, bobak::Result<i64>, u64) {
    let engine = FaultyEngine::new(Box::new(bobak_memory::Memory::new()));
    let faults = engine.faults();
    let mut builder = Db::builder().record::<Person>();
    if let Some(retries) = retries {
        builder = builder.retries(retries);
    }
    let db = builder.open_engine(engine).unwrap();
    db.create_missing_tables().unwrap();
    (1..=failures).for_each(|n| faults.fail_commit(n, kind));
    let ran = Cell::new(0);
    let done = db.transaction(|transaction| {
        ran.set(ran.get() + 1);
        transaction.table::<Person>()?.insert(&person("ada", 1))
    });
    (ran.get(), done, db.table::<Person>().unwrap().count(Query::all()).unwrap())
}

#[test]
fn a_conflict_is_retried_up_to_the_limit() {
    let (ran, done, rows) = runs(ErrorKind::Serialization, 3, None);
    assert_eq!((ran, done.is_ok(), rows), (4, true, 1));
    let (ran, done, rows) = runs(ErrorKind::Serialization, 3, Some(2));
    assert_eq!((ran, done.unwrap_err().kind(), rows), (3, ErrorKind::Serialization, 0));
}

#[test]
fn other_errors_are_not_retried() {
    for kind in [ErrorKind::Unknown, ErrorKind::Unreachable, ErrorKind::Busy, ErrorKind::Timeout] {
        let (ran, done, rows) = runs(kind, 1, None);
        assert_eq!((ran, done.unwrap_err().kind(), rows), (1, kind, 0));
    }
}

#[derive(Debug)]
enum OwnError {
    Poor,
    Database(Error),
}

impl From<Error> for OwnError {
    fn from(error: Error) -> Self {
        Self::Database(error)
    }
}

#[test]
fn closures_with_their_own_errors_are_retried_on_any_engine() {
    let engine = FaultyEngine::new(Box::new(bobak_memory::Memory::new()));
    let faults = engine.faults();
    let db = Db::builder()
        .attach_engine("other", engine)
        .record_on::<Person>("other")
        .open("memory:")
        .unwrap();
    db.create_missing_tables().unwrap();
    faults.fail_commit(1, ErrorKind::Serialization);
    let ran = Cell::new(0);
    let done = db.transaction_on("other", |transaction| {
        ran.set(ran.get() + 1);
        Ok::<_, OwnError>(transaction.table::<Person>()?.insert(&person("ada", 1))?)
    });
    assert!(done.is_ok(), "{done:?}");
    assert_eq!(ran.get(), 2);
    let rejected: Result<(), _> = db.transaction_on("other", |transaction| {
        ran.set(ran.get() + 1);
        transaction.table::<Person>()?.insert(&person("bob", 2))?;
        Err(OwnError::Poor)
    });
    assert!(matches!(rejected, Err(OwnError::Poor)));
    assert_eq!((ran.get(), db.table::<Person>().unwrap().count(Query::all()).unwrap()), (3, 1));
    let missing: Result<(), _> = db.transaction_on("nowhere", |_| Err(OwnError::Poor));
    assert!(matches!(missing, Err(OwnError::Database(error)) if error.kind() == ErrorKind::Config));
}
