//! A thread that alone has written of late reads on the writing connection, and nobody waits for it.

use crate::support::*;
use bobak_core::{
    Comparison, Condition, Engine, ErrorKind, Row, SchemaChange, Select, Session, Source,
    TransactionControl, Value,
};
use bobak_fault_vfs::{Disk, DiskCall};
use bobak_sqlite::{Sqlite, Synchronous};
use std::time::Duration;

/// A database with a row. The test's thread has read, so there are two connections that can write.
fn opened(disk: &Disk) -> Sqlite {
    let timeout = Duration::from_secs(60);
    let engine = Sqlite::builder().vfs(disk.vfs()).busy_timeout(timeout).open("a.db").unwrap();
    create(&engine, &[&person()]);
    add(&engine);
    read(&engine, || ());
    engine
}

/// Adds a row, in several writes: after them the thread reads on the writing connection.
fn add(engine: &Sqlite) {
    let session = engine.session().unwrap();
    insert(&*session, &person(), &values(0, "a", None));
    for _ in 0..3 {
        session.execute("DELETE FROM person WHERE id < 0", &[]).unwrap();
    }
}

/// Reads all rows by a typed query, calls `during` at the first one, and returns their number.
fn read(engine: &Sqlite, during: impl FnOnce()) -> usize {
    let (mut rows, mut during) = (0, Some(during));
    let select = Select::all(&person());
    let mut each = |_: &dyn Row| {
        rows += 1;
        during.take().into_iter().for_each(|during| during());
        Ok(true)
    };
    engine.session().unwrap().query(&Source::Select(&select), &mut each).unwrap();
    rows
}

/// Runs `work` in another thread, to its end.
fn elsewhere<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    std::thread::scope(|scope| scope.spawn(work).join().unwrap())
}

#[test]
fn thread_that_wrote_finds_its_pages_in_the_cache() {
    let disk = Disk::new(1).unwrap();
    let engine = opened(&disk);
    let reads = |work: &dyn Fn()| {
        let before = disk.calls(DiskCall::Read);
        work();
        disk.calls(DiskCall::Read) - before
    };
    for rows in 2..6 {
        add(&engine);
        let query = || assert_eq!(read(&engine, || ()), rows);
        let get = || assert!(engine.get(&person(), &[Value::Int(1)], &mut |_| Ok(())).unwrap());
        assert_eq!((reads(&query), reads(&get)), (0, 0));
        // Another connection has to read them again.
        assert!(elsewhere(|| {
            let before = disk.calls(DiskCall::Read);
            assert_eq!(read(&engine, || ()), rows);
            disk.calls(DiskCall::Read) > before
        }));
    }
}

#[test]
fn nobody_waits_for_a_reader_on_the_writing_connection() {
    let disk = Disk::new(1).unwrap();
    let engine = opened(&disk);
    for round in 0..10 {
        add(&engine);
        let before = 2 + 3 * round;
        let seen = read(&engine, || {
            elsewhere(|| add(&engine));
            assert_eq!(read(&engine, || ()), before + 1);
            add(&engine);
            assert_eq!(read(&engine, || ()), before + 2);
        });
        assert_eq!((seen, read(&engine, || ())), (before, before + 2));
    }
}

#[test]
fn transaction_that_reads_rejects_writes_on_the_writing_connection() {
    let disk = Disk::new(1).unwrap();
    let engine = opened(&disk);
    for round in 0..3 {
        let session = engine.session().unwrap();
        session.begin_reading().unwrap();
        let count = || one(&*session, "WITH p AS (SELECT * FROM person) SELECT count(*) FROM p");
        assert_eq!(count(), Value::Int(1 + round));
        let session = &*session;
        let text = |sql| session.execute(sql, &[]).unwrap_err().kind();
        let typed = || write(session, &person(), bobak_core::Verb::Insert, &values(0, "b", None));
        assert_eq!(typed().unwrap_err().kind(), ErrorKind::ReadOnly);
        assert_eq!(text("DELETE FROM person"), ErrorKind::ReadOnly);
        let query_that_writes = query(session, "DELETE FROM person RETURNING id", &[]);
        assert_eq!(query_that_writes.unwrap_err().kind(), ErrorKind::ReadOnly);
        assert_eq!(count(), Value::Int(1 + round));
        session.control(TransactionControl::Rollback).unwrap();
        add(&engine);
        assert_eq!(read(&engine, || ()) as i64, 2 + round);
    }
}

/// Another connection would not have the temporary table.
#[test]
fn connection_that_sql_text_has_changed_stays_the_writing_one() {
    let disk = Disk::new(1).unwrap();
    let engine = opened(&disk);
    let run = |sql: &str| engine.session().unwrap().execute(sql, &[]).unwrap();
    run("CREATE TEMP TABLE kept (a INTEGER)");
    let before = read(&engine, || {
        elsewhere(|| run("INSERT INTO kept VALUES (1)"));
    });
    run("INSERT INTO kept VALUES (2)");
    assert_eq!((before, run("DELETE FROM kept")), (1, 2));
}

/// Change capture has a setting of the connection, which the second one gets, too.
#[test]
fn both_connections_have_the_settings_of_the_schema() {
    let disk = Disk::new(1).unwrap();
    let engine = opened(&disk);
    let setting = |session: &dyn Session| one(session, "SELECT * FROM pragma_recursive_triggers");
    let of_writer = || {
        let session = engine.session().unwrap();
        session.control(TransactionControl::Begin).unwrap();
        setting(&*session)
    };
    assert_eq!((of_writer(), elsewhere(of_writer)), (Value::Int(0), Value::Int(0)));
    add(&engine);
    read(&engine, || {
        elsewhere(|| {
            let track = SchemaChange::Track { table: person(), history: false };
            engine.alter(&[track]).unwrap();
        });
        assert_eq!(of_writer(), Value::Int(1));
    });
    for _ in 0..3 {
        add(&engine);
        read(&engine, || assert_eq!(elsewhere(of_writer), Value::Int(1)));
        assert_eq!(of_writer(), Value::Int(1));
    }
}

/// Each thread sees what it has written, and a state of whole transactions of the others.
#[test]
fn threads_that_write_and_read_share_two_writing_connections() {
    let folder = tempfile::tempdir().unwrap();
    let fast =
        Sqlite::builder().synchronous(Synchronous::Off).busy_timeout(Duration::from_secs(60));
    let engine = fast.open(folder.path().join("a.db")).unwrap();
    create(&engine, &[&person()]);
    let name_of = |thread: i64| format!("thread {thread}");
    let count = |session: &dyn Session, thread: i64| {
        let name = Value::from(name_of(thread));
        let (column, comparison) = (1, Comparison::Equal);
        let condition = Some(Condition::Compare { column, comparison, value: name });
        let (mut rows, select) = (0, Select { condition, ..Select::all(&person()) });
        let mut count = |_: &dyn Row| {
            rows += 1;
            Ok(true)
        };
        session.query(&Source::Select(&select), &mut count).unwrap();
        rows
    };
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let engine = &engine;
            scope.spawn(move || {
                for round in 1..=60 {
                    let session = engine.session().unwrap();
                    session.control(TransactionControl::Begin).unwrap();
                    insert(&*session, &person(), &values(0, &name_of(thread), None));
                    insert(&*session, &person(), &values(0, &name_of(thread), None));
                    session.control(TransactionControl::Commit).unwrap();
                    assert_eq!(count(&*session, thread), 2 * round);
                    session.begin_reading().unwrap();
                    let other = (thread + 1) % 4;
                    let seen = count(&*session, other);
                    assert_eq!((seen % 2, count(&*session, other)), (0, seen));
                    session.control(TransactionControl::Rollback).unwrap();
                }
            });
        }
    });
    let session = engine.session().unwrap();
    assert_eq!((0..4).map(|thread| count(&*session, thread)).sum::<i32>(), 4 * 2 * 60);
}
