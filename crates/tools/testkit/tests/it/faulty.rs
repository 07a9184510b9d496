//! The engine that fails on request.

use bobak_core::{ErrorKind, OnError, TransactionControl};
use bobak_memory::Memory;
use bobak_testkit::{Entry, FaultyEngine, Fixture, NULL, Probe, create, row, run, tables};

fn faulty() -> FaultyEngine {
    FaultyEngine::new(Box::new(Memory::new()))
}

/// Without a plan it is the engine that it wraps.
#[test]
fn only_the_requested_call_fails() {
    let fresh = || crate::stores::memory()?.wrapped(|engine| Box::new(FaultyEngine::new(engine)));
    let failed = run(&(fresh as fn() -> bobak_core::Result<Fixture>));
    assert!(failed.is_empty(), "{failed:#?}");
}

#[test]
fn the_planned_operation_fails_and_does_nothing() {
    let engine = faulty();
    let person = tables::person().unwrap();
    let probe = Probe::with_tables(&engine, &[&person]).unwrap();
    engine.faults().fail_operation(2, ErrorKind::Io);
    let insert = || probe.insert(&person, row![NULL, "x", NULL, 1]).map_err(|e| e.kind());
    let kinds = [insert(), insert(), insert()].map(Result::err);
    assert_eq!(kinds, [None, Some(ErrorKind::Io), None]);
    assert_eq!(engine.faults().pending(), 0);
    assert_eq!(probe.count(&person).unwrap(), 2);
}

#[test]
fn a_failed_commit_is_a_rollback() {
    let engine = faulty();
    let person = tables::person().unwrap();
    let probe = Probe::with_tables(&engine, &[&person]).unwrap();
    let faults = engine.faults();
    let before = faults.commits();
    faults.fail_commit(1, ErrorKind::Full);
    faults.fail_commit(2, ErrorKind::Io);
    faults.fail_commit(4, ErrorKind::Io);
    let kind = |e: bobak_core::Error| e.kind();

    probe.control(TransactionControl::Begin).unwrap();
    probe.insert(&person, row![NULL, "a", NULL, 1]).unwrap();
    assert_eq!(probe.control(TransactionControl::Commit).map_err(kind), Err(ErrorKind::Full));
    assert_eq!(probe.control(TransactionControl::Commit).map_err(kind), Err(ErrorKind::Misuse));

    let alone = probe.insert(&person, row![NULL, "b", NULL, 1]);
    assert_eq!(alone.map_err(kind), Err(ErrorKind::Io));
    probe.insert(&person, row![NULL, "c", NULL, 1]).unwrap();
    let batch = [Entry::insert(&person, row![NULL, "d", NULL, 1])];
    let sent = probe.batch(&batch, OnError::Stop);
    assert_eq!(sent.whole.map_err(kind), Err(ErrorKind::Io));
    assert_eq!(probe.all(&person).unwrap(), [row![1, "c", NULL, 1]]);
    assert_eq!((faults.commits() - before, faults.pending()), (4, 0));
}

#[test]
fn schema_changes_fail_too() {
    let engine = faulty();
    // The session is the first operation.
    engine.faults().fail_operation(2, ErrorKind::ReadOnly);
    let person = tables::person().unwrap();
    let rejected = create(&engine, &[&person]).map_err(|e| e.kind());
    assert_eq!(rejected, Err(ErrorKind::ReadOnly));
    create(&engine, &[&person]).unwrap();
}
