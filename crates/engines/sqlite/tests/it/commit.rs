//! Group commit: several threads' writes in one transaction, each with its own result.

use crate::support::{create, person, query, values};
use bobak_core::{
    Engine, Error, ErrorKind, FieldSet, OnError, Outcome, Result, TableSchema, TransactionControl,
    Value, Verb, Write, WriteBatch,
};
use bobak_sqlite::{JournalMode, Sqlite, SqliteBuilder};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

fn open(folder: &std::path::Path, settings: impl Fn(SqliteBuilder) -> SqliteBuilder) -> Sqlite {
    let engine = settings(Sqlite::builder()).open(folder.join("test.db")).unwrap();
    create(&engine, &[&person()]);
    engine
}

fn insert(engine: &Sqlite, table: &Arc<TableSchema>, values: &[Value<'_>]) -> Result<Outcome> {
    engine.write(&Write { table, verb: Verb::Insert, fields: FieldSet::EMPTY, values })
}

fn count(engine: &Sqlite, sql: &str) -> i64 {
    match query(&*engine.session().unwrap(), sql, &[]).unwrap()[0][0] {
        Value::Int(count) => count,
        ref other => panic!("{other:?}"),
    }
}

/// Runs `work` on so many threads, which all wait behind an open transaction until each has begun.
fn together<R: Send>(engine: &Sqlite, threads: u64, work: impl Fn(u64) -> R + Sync) -> Vec<R> {
    let session = engine.session().unwrap();
    session.control(TransactionControl::Begin).unwrap();
    std::thread::scope(|scope| {
        let work = &work;
        let running: Vec<_> =
            (0..threads).map(|number| scope.spawn(move || work(number))).collect();
        std::thread::sleep(Duration::from_millis(50));
        session.control(TransactionControl::Rollback).unwrap();
        running.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

#[test]
fn each_thread_gets_its_own_result() {
    for journal in [JournalMode::Wal, JournalMode::Delete] {
        let folder = tempfile::tempdir().unwrap();
        let engine = open(folder.path(), |builder| builder.journal_mode(journal));
        let table = person();
        let outcomes = together(&engine, 12, |thread| -> Vec<Result<Outcome>> {
            let write = |turn: u64| {
                // Each fifth exists already, or another thread inserts it.
                let email =
                    if turn % 5 == 4 { "same@x".to_owned() } else { format!("{thread}.{turn}@x") };
                insert(&engine, &table, &values(0, "p", Some(&email)))
            };
            (0..20).map(write).collect()
        });
        let mut keys = BTreeSet::new();
        for outcome in outcomes.into_iter().flatten() {
            match outcome {
                Ok(Outcome::Inserted(Some(key))) => assert!(keys.insert(format!("{key:?}"))),
                Ok(other) => panic!("{other:?}"),
                Err(error) => assert_eq!(
                    (error.kind(), error.column()),
                    (ErrorKind::Duplicate, Some("email"))
                ),
            }
        }
        assert_eq!(keys.len(), 12 * 16 + 1);
        assert_eq!(count(&engine, "SELECT count(*) FROM person"), 12 * 16 + 1);
    }
}

#[test]
fn small_batches_share_a_transaction() {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(folder.path(), |builder| builder);
    let table = person();
    let sent = together(&engine, 9, |thread| {
        let mut batch = WriteBatch::new();
        for row in 0..3 {
            // The second row of every third batch is wrong.
            let email = if thread % 3 == 2 && row == 1 {
                format!("{thread}.0@x")
            } else {
                format!("{thread}.{row}@x")
            };
            let values = values(0, "p", Some(&email));
            let (verb, fields) = (Verb::Insert, FieldSet::EMPTY);
            batch.push(&Write { table: &table, verb, fields, values: &values }).unwrap();
        }
        let on_error = if thread == 8 { OnError::Continue } else { OnError::Stop };
        let mut rows = Vec::new();
        let session = engine.session().unwrap();
        let whole = session.batch(&batch, on_error, &mut |row| rows.push(row));
        (whole.map_err(|error| (error.kind(), error.row())), rows.len())
    });
    let stopped = Err((ErrorKind::Duplicate, Some(1)));
    for (thread, (whole, rows)) in sent.into_iter().enumerate() {
        match thread {
            2 | 5 => assert_eq!(whole, stopped),
            _ => assert_eq!((whole, rows), (Ok(()), 3)),
        }
    }
    assert_eq!(count(&engine, "SELECT count(*) FROM person"), 6 * 3 + 2);
}

/// A row that makes SQLite roll the whole transaction back costs nobody else theirs.
#[test]
fn lost_transaction_is_repeated_for_each_thread() {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(folder.path(), |builder| builder);
    let session = engine.session().unwrap();
    let trigger = "CREATE TRIGGER bomb BEFORE INSERT ON person WHEN NEW.name = 'bomb'
                   BEGIN SELECT RAISE(ROLLBACK, 'boom'); END";
    session.execute(trigger, &[]).unwrap();
    let table = person();
    let outcomes = together(&engine, 10, |thread| {
        let name = if thread % 4 == 3 { "bomb" } else { "p" };
        insert(&engine, &table, &values(0, name, None)).map_err(|error| error.to_string())
    });
    for (thread, outcome) in outcomes.into_iter().enumerate() {
        match outcome {
            Ok(_) => assert!(thread % 4 != 3),
            Err(message) => assert!(thread % 4 == 3 && message.contains("boom"), "{message}"),
        }
    }
    assert_eq!(count(&engine, "SELECT count(*) FROM person"), 8);
}

/// A rule that is looked at when the transaction commits fails who broke it.
#[test]
fn failed_commit_is_repeated_for_each_thread() {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(folder.path(), |builder| builder);
    let session = engine.session().unwrap();
    let sql = "CREATE TABLE dog (id INTEGER PRIMARY KEY NOT NULL, owner INTEGER
               REFERENCES person (id) DEFERRABLE INITIALLY DEFERRED)";
    session.execute(sql, &[]).unwrap();
    insert(&engine, &person(), &values(1, "owner", None)).unwrap();
    let tables = engine.tables().unwrap();
    let dog = Arc::new(tables.into_iter().find(|table| table.name() == "dog").unwrap());
    let outcomes = together(&engine, 8, |thread| {
        let owner = if thread == 3 { 99 } else { 1 };
        insert(&engine, &dog, &[Value::Null, Value::Int(owner)]).map_err(|error| error.kind())
    });
    for (thread, outcome) in outcomes.into_iter().enumerate() {
        assert_eq!(outcome.err(), (thread == 3).then_some(ErrorKind::Constraint), "{thread}");
    }
    assert_eq!(count(&engine, "SELECT count(*) FROM dog"), 7);
}

#[test]
fn no_thread_waits_longer_than_the_timeout() {
    let folder = tempfile::tempdir().unwrap();
    let engine = open(folder.path(), |builder| builder.busy_timeout(Duration::from_millis(100)));
    let table = person();
    let session = engine.session().unwrap();
    session.control(TransactionControl::Begin).unwrap();
    let kinds: Vec<_> = std::thread::scope(|scope| {
        let write = || insert(&engine, &table, &values(0, "p", None)).map_err(|e| e.kind());
        let running: Vec<_> = (0..8).map(|_| scope.spawn(write)).collect();
        running.into_iter().map(|thread| thread.join().unwrap().err()).collect()
    });
    assert_eq!(kinds, [Some(ErrorKind::Busy); 8]);
    let error: Error = insert(&engine, &table, &values(0, "p", None)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Busy, "inside one's own transaction, at once");
    session.control(TransactionControl::Rollback).unwrap();
    insert(&engine, &table, &values(0, "p", None)).unwrap();
    assert_eq!(count(&engine, "SELECT count(*) FROM person"), 1);
}

const FILE: &str = "BOBAK_TEST_FILE";
const WRITERS: i64 = 8;
const STRIDE: i64 = 1_000_000;

/// The process that is killed: its threads write rows, one by one and three at a time, and say the
/// last key of each write that was acknowledged.
#[test]
#[ignore = "run by the test below, in a process of its own"]
fn writes_until_it_is_killed() {
    use std::io::Write as _;
    let engine = Sqlite::builder().open(std::env::var(FILE).unwrap()).unwrap();
    let table = person();
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (engine, table) = (&engine, &table);
            scope.spawn(move || {
                let mut next = writer * STRIDE + 1;
                while next < (writer + 1) * STRIDE {
                    if next % 2 == 0 {
                        insert(engine, table, &values(next, "one", None)).unwrap();
                        next += 1;
                    } else {
                        let mut batch = WriteBatch::new();
                        for key in next..next + 3 {
                            let values = values(key, "three", None);
                            let (verb, fields) = (Verb::Insert, FieldSet::EMPTY);
                            batch.push(&Write { table, verb, fields, values: &values }).unwrap();
                        }
                        let session = engine.session().unwrap();
                        session.batch(&batch, OnError::Stop, &mut |_| {}).unwrap();
                        next += 3;
                    }
                    // One write of a whole line: lines of threads do not mix.
                    std::io::stdout().write_all(format!("\n{}\n", next - 1).as_bytes()).unwrap();
                }
            });
        }
    });
}

/// What was acknowledged is there after a kill at any moment; of what was not, all or nothing.
#[test]
fn kill_loses_no_acknowledged_write() {
    use std::io::{BufRead, BufReader};
    for acknowledged in [3, 40, 111, 260] {
        let folder = tempfile::tempdir().unwrap();
        drop(open(folder.path(), |builder| builder));
        let file = folder.path().join("test.db");
        let mut child = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "commit::writes_until_it_is_killed", "--ignored", "--nocapture"])
            .env(FILE, &file)
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let key = |line: std::io::Result<String>| line.ok()?.parse::<i64>().ok();
        let mut said: Vec<i64> = lines.by_ref().filter_map(key).take(acknowledged).collect();
        child.kill().unwrap();
        child.wait().unwrap();
        said.extend(lines.filter_map(key));

        let engine = Sqlite::open(&file).unwrap();
        let rows = query(&*engine.session().unwrap(), "SELECT id FROM person ORDER BY id", &[]);
        let there: BTreeSet<i64> = rows
            .unwrap()
            .into_iter()
            .map(|row| if let Value::Int(key) = row[0] { key } else { panic!("a key") })
            .collect();
        for writer in 0..WRITERS {
            let first = writer * STRIDE + 1;
            let own: Vec<i64> = there.range(first..first + STRIDE - 1).copied().collect();
            let last = own.last().copied().unwrap_or(first - 1);
            assert_eq!(own, (first..=last).collect::<Vec<_>>(), "no row is missing in between");
            // A write of three rows begins with an odd key.
            let whole = last == first - 1 || (last - first) % 4 >= 2;
            assert!(whole, "writer {writer} ends with a part of a write: {last}");
            let acknowledged = said.iter().filter(|key| **key / STRIDE == writer).max();
            assert!(acknowledged.is_none_or(|key| *key <= last), "{acknowledged:?} > {last}");
        }
        assert_eq!(
            count(
                &engine,
                "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check <> 'ok'"
            ),
            0
        );
    }
}
