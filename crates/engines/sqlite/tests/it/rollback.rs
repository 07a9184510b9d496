//! Readers and writers with a rollback journal, where SQLite lets no commit through while anybody
//! reads: one process sees nothing of that.

use crate::support::*;
use bobak_core::{
    Cursor, Engine, ErrorKind, Row, RowBuffer, Select, Session, Source, TransactionControl, Value,
    ValueRef, Verb,
};
use bobak_sqlite::{JournalMode, Sqlite, Synchronous};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Many parts.
const ROWS: i64 = 10_000;

const MODES: [JournalMode; 5] = [
    JournalMode::Delete,
    JournalMode::Truncate,
    JournalMode::Persist,
    JournalMode::Memory,
    JournalMode::Off,
];

/// A filled file.
fn filled(folder: &std::path::Path, journal: JournalMode) -> Sqlite {
    let builder = Sqlite::builder().journal_mode(journal).synchronous(Synchronous::Off);
    let engine = builder.open(folder.join(format!("{}.db", journal.as_str()))).unwrap();
    create(&engine, &[&person()]);
    let session = engine.session().unwrap();
    session.control(TransactionControl::Begin).unwrap();
    for id in 1..=ROWS {
        insert(&*session, &person(), &values(id, "as it was", None));
    }
    session.control(TransactionControl::Commit).unwrap();
    drop(session);
    engine
}

fn open(session: &dyn Session) -> Cursor {
    session.open(&Source::Select(&Select::all(&person()))).unwrap()
}

/// Reads the cursor's rows, which are those of the filling, and calls `between` after each.
fn read_slowly(session: &dyn Session, mut cursor: Cursor, mut between: impl FnMut(i64)) {
    let mut rows = RowBuffer::default();
    let mut last = 0;
    loop {
        session.fetch(&mut cursor, &mut rows).unwrap();
        if rows.rows() == 0 {
            break;
        }
        while let Some(row) = rows.next_row().unwrap() {
            assert_eq!(row.get(0), ValueRef::Int(last + 1));
            assert_eq!(row.get(1), ValueRef::Text("as it was"));
            last += 1;
            between(last);
        }
    }
    assert_eq!(last, ROWS);
}

fn rename(session: &dyn Session, id: i64) {
    let sql = "UPDATE person SET name = 'changed' WHERE id = ?";
    assert_eq!(session.execute(sql, &[id.into()]).unwrap(), 1);
}

#[test]
fn session_can_write_while_its_cursor_reads() {
    let folder = tempfile::tempdir().unwrap();
    for journal in MODES {
        let engine = filled(folder.path(), journal);
        let session = engine.session().unwrap();
        let cursor = open(&*session);
        read_slowly(&*session, cursor, |id| {
            if id % 100 == 0 {
                rename(&*session, id);
            }
        });
        let sql = "SELECT count(*) FROM person WHERE name = 'changed'";
        assert_eq!(one(&*session, sql), Value::Int(ROWS / 100));
    }
}

#[test]
fn slow_reader_does_not_block_a_writer() {
    let folder = tempfile::tempdir().unwrap();
    for journal in MODES {
        let engine = &filled(folder.path(), journal);
        let done = &AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(move || {
                let session = engine.session().unwrap();
                for round in 1.. {
                    if done.load(Ordering::Relaxed) {
                        break;
                    }
                    session.control(TransactionControl::Begin).unwrap();
                    let name = if round % 2 == 0 { "as it was" } else { "half-way" };
                    let sql = "UPDATE person SET name = ? WHERE id > 5000";
                    session.execute(sql, &[name.into()]).unwrap();
                    session.execute("UPDATE person SET name = 'as it was'", &[]).unwrap();
                    session.control(TransactionControl::Commit).unwrap();
                    write(&*session, &person(), Verb::Delete, &[Value::Int(-1)]).unwrap();
                    std::thread::sleep(Duration::from_micros(200));
                }
            });
            let session = engine.session().unwrap();
            for _ in 0..5 {
                let cursors = [open(&*session), open(&*session)];
                for cursor in cursors {
                    read_slowly(&*session, cursor, |id| {
                        if id % 500 == 0 {
                            std::thread::sleep(Duration::from_millis(1));
                        }
                    });
                }
                // Left open, in the midst.
                let mut rows = RowBuffer::default();
                session.fetch(&mut open(&*session), &mut rows).unwrap();
                let mut closed = open(&*session);
                session.close(&mut closed);
            }
            done.store(true, Ordering::Relaxed);
        });
    }
}

#[test]
fn cursor_does_not_block_a_commit() {
    let folder = tempfile::tempdir().unwrap();
    for journal in MODES {
        let engine = filled(folder.path(), journal);
        let (writer, reader) = (engine.session().unwrap(), engine.session().unwrap());
        writer.control(TransactionControl::Begin).unwrap();
        rename(&*writer, 1);
        let beside = open(&*reader);
        rename(&*writer, 2);
        let later = open(&*reader);
        writer.control(TransactionControl::Commit).unwrap();
        read_slowly(&*reader, beside, |_| {});
        read_slowly(&*reader, later, |_| {});
        let sql = "SELECT count(*) FROM person WHERE name = 'changed'";
        assert_eq!(one(&*reader, sql), Value::Int(2));
    }
}

#[test]
fn detached_readers_are_reused() {
    let folder = tempfile::tempdir().unwrap();
    let engine = filled(folder.path(), JournalMode::Delete);
    let session = engine.session().unwrap();
    let cursors: Vec<_> = (0..30)
        .map(|round| {
            let cursor = (round < 20).then(|| open(&*session));
            if round == 19 {
                rename(&*session, ROWS);
            }
            cursor
        })
        .collect();
    engine.flush().unwrap();
    for cursor in cursors.into_iter().flatten() {
        read_slowly(&*session, cursor, |_| {});
    }
    assert_eq!(one(&*session, "SELECT count(*) FROM person"), Value::Int(ROWS));
}

#[test]
fn write_inside_a_query_is_rejected_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let engine = filled(folder.path(), JournalMode::Delete);
    let (reader, other) = (engine.session().unwrap(), engine.session().unwrap());
    let table = person();
    let rejected = |result: bobak_core::Result<()>| {
        let error = result.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Busy);
        assert!(error.message().contains("in its row callback"), "{error}");
    };
    let inside = || {
        let row = values(0, "new", None);
        rejected(write(&*other, &table, Verb::Insert, &row).map(drop));
        rejected(other.control(TransactionControl::Begin));
        rejected(other.execute("DELETE FROM person", &[]).map(drop));
        // Reading goes on.
        assert!(get(&*other, &table, Value::Int(1)).is_some());
        let mut cursor = open(&*other);
        other.close(&mut cursor);
    };
    let select = Select::all(&table);
    let query = Source::Select(&select);
    reader
        .query(&query, &mut |_| {
            inside();
            Ok(false)
        })
        .unwrap();
    reader
        .get(&table, &[Value::Int(7)], &mut |_| {
            inside();
            Ok(())
        })
        .unwrap();
    // A transaction that was open before may write, but not commit.
    other.control(TransactionControl::Begin).unwrap();
    reader
        .query(&query, &mut |_| {
            insert(&*other, &table, &values(0, "new", None));
            Ok(false)
        })
        .unwrap();
    other.control(TransactionControl::Commit).unwrap();
    other.control(TransactionControl::Begin).unwrap();
    reader
        .query(&query, &mut |_| {
            rejected(other.control(TransactionControl::Commit));
            Ok(false)
        })
        .unwrap();
    insert(&*other, &table, &values(0, "afterwards", None));
    assert_eq!(one(&*reader, "SELECT count(*) FROM person"), Value::Int(ROWS + 2));
}

#[test]
fn nested_queries_do_not_wait_for_a_waiting_commit() {
    let folder = tempfile::tempdir().unwrap();
    let engine = &filled(folder.path(), JournalMode::Delete);
    let done = &AtomicBool::new(false);
    std::thread::scope(|scope| {
        for thread in 0..2 {
            scope.spawn(move || {
                let session = engine.session().unwrap();
                while !done.load(Ordering::Relaxed) {
                    let row = values(0, "new", None);
                    if thread == 0 {
                        insert(&*session, &person(), &row);
                    } else {
                        session.control(TransactionControl::Begin).unwrap();
                        insert(&*session, &person(), &row);
                        session.control(TransactionControl::Commit).unwrap();
                    }
                }
            });
        }
        let (outer, inner) = (engine.session().unwrap(), engine.session().unwrap());
        let table = person();
        for _ in 0..10 {
            let mut left = 10;
            let select = Select::all(&table);
            let query = Source::Select(&select);
            let each = outer.query(&query, &mut |_| {
                std::thread::sleep(Duration::from_millis(1));
                assert!(get(&*inner, &table, Value::Int(left)).is_some());
                let mut cursor = open(&*inner);
                inner.close(&mut cursor);
                left -= 1;
                Ok(left > 0)
            });
            each.unwrap();
        }
        done.store(true, Ordering::Relaxed);
    });
}
