//! Transactions: valid and invalid steps, and which thread waits for which.

use crate::support::*;
use bobak_core::{Engine, ErrorKind, TransactionControl, Value, Verb};
use bobak_sqlite::{JournalMode, LockingMode, Sqlite};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

fn count(engine: &Sqlite) -> Value<'static> {
    one(&*engine.session().unwrap(), "SELECT count(*) FROM person")
}

#[test]
fn invalid_transaction_steps_are_misuse() {
    let engine = memory();
    let session = engine.session().unwrap();
    let step = |step| session.control(step).map_err(|error| error.kind());
    for wrong in [
        TransactionControl::Commit,
        TransactionControl::Rollback,
        TransactionControl::Savepoint("a"),
        TransactionControl::Release("a"),
    ] {
        assert_eq!(step(wrong), Err(ErrorKind::Misuse));
    }
    assert_eq!(step(TransactionControl::Begin), Ok(()));
    for wrong in [
        TransactionControl::Begin,
        TransactionControl::Release("a"),
        TransactionControl::RollbackTo("a"),
        TransactionControl::Savepoint("a b"),
    ] {
        assert_eq!(step(wrong), Err(ErrorKind::Misuse));
    }
    assert_eq!(step(TransactionControl::Commit), Ok(()));
    assert_eq!(step(TransactionControl::Commit), Err(ErrorKind::Misuse));
}

#[test]
fn savepoints_nest_and_the_latest_name_counts() {
    let engine = memory();
    let session = engine.session().unwrap();
    let table = person();
    let add = |id| {
        insert(&*session, &table, &values(id, "a", None));
    };
    let step = |step| session.control(step).unwrap();
    step(TransactionControl::Begin);
    add(1);
    step(TransactionControl::Savepoint("s"));
    add(2);
    step(TransactionControl::Savepoint("s"));
    add(3);
    step(TransactionControl::RollbackTo("s"));
    add(4);
    step(TransactionControl::RollbackTo("s"));
    step(TransactionControl::Release("s"));
    assert_eq!(one(&*session, "SELECT group_concat(id) FROM person"), "1,2".into());
    step(TransactionControl::RollbackTo("s"));
    step(TransactionControl::Commit);
    assert_eq!(one(&*session, "SELECT group_concat(id) FROM person"), "1".into());
}

#[test]
fn dropped_session_rolls_back() {
    let folder = tempfile::tempdir().unwrap();
    for engine in [memory(), {
        let engine = Sqlite::open(folder.path().join("a.db")).unwrap();
        create(&engine, &[&person()]);
        engine
    }] {
        let session = engine.session().unwrap();
        session.control(TransactionControl::Begin).unwrap();
        insert(&*session, &person(), &values(1, "a", None));
        drop(session);
        assert_eq!(count(&engine), Value::Int(0));
    }
}

#[test]
fn uncommitted_changes_are_invisible_to_others() {
    let folder = tempfile::tempdir().unwrap();
    let engine = Sqlite::open(folder.path().join("a.db")).unwrap();
    create(&engine, &[&person()]);
    let session = engine.session().unwrap();
    session.control(TransactionControl::Begin).unwrap();
    insert(&*session, &person(), &values(1, "a", None));
    assert!(get(&*session, &person(), Value::Int(1)).is_some());
    assert_eq!(count(&engine), Value::Int(0));
    session.control(TransactionControl::Commit).unwrap();
    assert_eq!(count(&engine), Value::Int(1));
}

#[test]
fn thread_does_not_wait_for_its_own_transaction() {
    let engine = memory();
    let (session, other) = (engine.session().unwrap(), engine.session().unwrap());
    session.control(TransactionControl::Begin).unwrap();
    // The default timeout would be five seconds each.
    for _ in 0..1000 {
        let error = other.control(TransactionControl::Begin).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Busy);
        let error = write(&*other, &person(), Verb::Delete, &[Value::Int(1)]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Busy);
    }
    session.control(TransactionControl::Rollback).unwrap();
    other.control(TransactionControl::Begin).unwrap();
}

#[test]
fn other_thread_waits_for_the_timeout() {
    let timeout = Duration::from_millis(50);
    let engine = Sqlite::builder().busy_timeout(timeout).open_memory().unwrap();
    create(&engine, &[&person()]);
    let session = engine.session().unwrap();
    session.control(TransactionControl::Begin).unwrap();
    std::thread::scope(|scope| {
        let other = scope.spawn(|| {
            let error = engine.session().unwrap().control(TransactionControl::Begin).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Busy);
            assert!(error.is_retryable());
        });
        other.join().unwrap();
    });
}

#[test]
fn other_engines_on_the_file_wait() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    for journal in [JournalMode::Wal, JournalMode::Delete] {
        let open = || {
            let builder = Sqlite::builder().journal_mode(journal);
            builder.busy_timeout(Duration::from_millis(50)).open(&path).unwrap()
        };
        let (first, second) = (open(), open());
        if journal == JournalMode::Wal {
            create(&first, &[&person()]);
        }
        let session = first.session().unwrap();
        session.control(TransactionControl::Begin).unwrap();
        insert(&*session, &person(), &values(0, "a", None));
        let other = second.session().unwrap();
        assert_eq!(other.control(TransactionControl::Begin).unwrap_err().kind(), ErrorKind::Busy);
        let row = values(0, "b", None);
        let error = write(&*other, &person(), Verb::Insert, &row).unwrap_err();
        assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::Busy, true));
        session.control(TransactionControl::Commit).unwrap();
        insert(&*other, &person(), &row);
    }
}

#[test]
fn exclusive_engine_locks_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let engine = Sqlite::builder().locking(LockingMode::Exclusive).open(&path).unwrap();
    create(&engine, &[&person()]);
    let timeout = Duration::from_millis(50);
    let error = Sqlite::builder().busy_timeout(timeout).open(&path).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Busy, "{error}");
    drop(engine);
    assert_eq!(count(&Sqlite::open(&path).unwrap()), Value::Int(0));
}

/// Threads that take the writing connection again as soon as they have returned it do not overtake a waiting thread: a
/// transaction starts, and a single write is done, long before the timeout.
#[test]
fn waiting_thread_is_not_overtaken() {
    let engine = Sqlite::builder().busy_timeout(Duration::from_secs(60)).open_memory().unwrap();
    create(&engine, &[&person()]);
    let (done, turns) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    let session = engine.session().unwrap();
                    session.control(TransactionControl::Begin).unwrap();
                    insert(&*session, &person(), &values(0, "again", None));
                    session.control(TransactionControl::Commit).unwrap();
                    turns.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        for number in 0..20 {
            // RecoveryTarget the others are at it.
            let before = turns.load(Ordering::Relaxed);
            while turns.load(Ordering::Relaxed) < before + 10 {
                std::thread::yield_now();
            }
            let session = engine.session().unwrap();
            if number % 2 == 0 {
                session.control(TransactionControl::Begin).unwrap();
                session.control(TransactionControl::Rollback).unwrap();
            } else {
                insert(&*session, &person(), &values(0, "once", None));
            }
        }
        done.store(true, Ordering::Relaxed);
    });
}

/// Writers and readers on one file. Each writer moves one from one row to another in a
/// transaction, so the sum tells whether a reader saw half of one.
fn many_threads(engine: &Sqlite, rounds: i64) {
    create(engine, &[&person()]);
    let session = engine.session().unwrap();
    for id in 1..=8 {
        insert(&*session, &person(), &values(id, "a", None));
    }
    session.execute("UPDATE person SET amount = 1000", &[]).unwrap();
    drop(session);
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let done = &done;
        let writers: Vec<_> = (0..4)
            .map(|thread| {
                scope.spawn(move || {
                    for round in 0..rounds {
                        let session = engine.session().unwrap();
                        session.control(TransactionControl::Begin).unwrap();
                        let sql = "UPDATE person SET amount = amount + ? WHERE id = ?";
                        let id = (thread + round) % 8 + 1;
                        session.execute(sql, &[1.into(), id.into()]).unwrap();
                        let id = (thread * 3 + round * 5) % 8 + 1;
                        session.execute(sql, &[(-1).into(), id.into()]).unwrap();
                        session.control(TransactionControl::Commit).unwrap();
                        let row = values(0, "autocommit", None);
                        insert(&*session, &person(), &row);
                    }
                })
            })
            .collect();
        for _ in 0..4 {
            scope.spawn(move || {
                while !done.load(Ordering::Relaxed) {
                    let session = engine.session().unwrap();
                    let sum = one(&*session, "SELECT sum(amount) FROM person");
                    assert_eq!(sum, Value::Float(8000.0));
                }
            });
        }
        for writer in writers {
            writer.join().unwrap();
        }
        done.store(true, Ordering::Relaxed);
    });
    let session = engine.session().unwrap();
    assert_eq!(one(&*session, "SELECT count(*) FROM person"), Value::Int(8 + 4 * rounds));
}

#[test]
fn threads_never_see_a_locked_database() {
    let folder = tempfile::tempdir().unwrap();
    let off = || Sqlite::builder().synchronous(bobak_sqlite::Synchronous::Off);
    many_threads(&off().open_memory().unwrap(), 200);
    many_threads(&off().open(folder.path().join("wal.db")).unwrap(), 200);
    let delete = off().journal_mode(JournalMode::Delete);
    many_threads(&delete.open(folder.path().join("delete.db")).unwrap(), 50);
    let exclusive = off().locking(LockingMode::Exclusive);
    many_threads(&exclusive.open(folder.path().join("exclusive.db")).unwrap(), 200);
}

#[test]
fn concurrently_opened_engines_share_a_new_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = &folder.path().join("new.db");
    std::thread::scope(|scope| {
        for thread in 0..6 {
            scope.spawn(move || {
                let engine = Sqlite::open(path).unwrap();
                let session = engine.session().unwrap();
                session.execute("CREATE TABLE IF NOT EXISTS t (x)", &[]).unwrap();
                for _ in 0..20 {
                    session.execute("INSERT INTO t VALUES (?)", &[thread.into()]).unwrap();
                }
            });
        }
    });
    let engine = Sqlite::open(path).unwrap();
    assert_eq!(one(&*engine.session().unwrap(), "SELECT count(*) FROM t"), Value::Int(120));
}
