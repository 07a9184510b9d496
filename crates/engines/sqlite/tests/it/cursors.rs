//! Cursors see the state of the moment in which they were opened.

use crate::support::*;
use bobak_core::{
    Cursor, Engine, ErrorKind, ResultColumn, Row, RowBuffer, Select, Session, Source,
    TransactionControl, Type, Value, Verb,
};
use bobak_sqlite::{LockingMode, Sqlite};

/// More than fits one part.
const ROWS: i64 = 3000;

/// A file with readers, one without, and memory; each filled.
fn engines(folder: &std::path::Path) -> Vec<Sqlite> {
    let engines = vec![
        Sqlite::open(folder.join("pool.db")).unwrap(),
        Sqlite::builder().locking(LockingMode::Exclusive).open(folder.join("single.db")).unwrap(),
        Sqlite::open_memory().unwrap(),
    ];
    for engine in &engines {
        create(engine, &[&person(), &car()]);
        let session = engine.session().unwrap();
        session.control(TransactionControl::Begin).unwrap();
        for id in 1..=ROWS {
            insert(&*session, &person(), &values(id, &format!("name {id}"), None));
        }
        session.control(TransactionControl::Commit).unwrap();
    }
    engines
}

fn open(session: &dyn Session) -> Cursor {
    session.open(&Source::Select(&Select::all(&person()))).unwrap()
}

/// The ids of all rows that are left.
fn rest(session: &dyn Session, mut cursor: Cursor) -> Vec<i64> {
    let mut ids = Vec::new();
    let mut rows = RowBuffer::default();
    loop {
        session.fetch(&mut cursor, &mut rows).unwrap();
        if rows.rows() == 0 {
            return ids;
        }
        while let Some(row) = rows.next_row().unwrap() {
            match (row.get(0), row.get(1)) {
                (bobak_core::ValueRef::Int(id), bobak_core::ValueRef::Text(name)) => {
                    assert_eq!(name, format!("name {id}"));
                    ids.push(id);
                }
                other => panic!("{other:?}"),
            }
        }
    }
}

fn all() -> Vec<i64> {
    (1..=ROWS).collect()
}

#[test]
fn parts_are_about_64_kib_and_have_column_names() {
    let folder = tempfile::tempdir().unwrap();
    for engine in engines(folder.path()) {
        let session = engine.session().unwrap();
        let mut cursor = open(&*session);
        assert_eq!([&*cursor.columns[0].name, &*cursor.columns[1].name], ["id", "name"]);
        let mut rows = RowBuffer::default();
        session.fetch(&mut cursor, &mut rows).unwrap();
        assert!(rows.bytes() >= 64 * 1024 && rows.bytes() < 70 * 1024, "{}", rows.bytes());
        session.close(&mut cursor);
        let error = session.fetch(&mut cursor, &mut rows).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Misuse);
        session.close(&mut cursor);
        let sql = Source::Sql { text: "SELECT 1 AS one WHERE 0", parameters: &[] };
        let mut cursor = session.open(&sql).unwrap();
        assert_eq!(*cursor.columns, [ResultColumn::new("one", Type::Any)]);
        session.fetch(&mut cursor, &mut rows).unwrap();
        assert_eq!(rows.rows(), 0);
        // The session is as usable as before.
        assert_eq!(one(&*session, "SELECT count(*) FROM person"), Value::Int(ROWS));
    }
}

#[test]
fn later_writes_and_rollbacks_do_not_change_cursor_rows() {
    let folder = tempfile::tempdir().unwrap();
    for engine in engines(folder.path()) {
        let session = engine.session().unwrap();
        let table = person();
        let before = open(&*session);
        session.control(TransactionControl::Begin).unwrap();
        write(&*session, &table, Verb::Delete, &[Value::Int(2000)]).unwrap();
        let inside = open(&*session);
        session.control(TransactionControl::Savepoint("a")).unwrap();
        session.execute("UPDATE person SET name = 'other' WHERE id > 1000", &[]).unwrap();
        let mut changed = session
            .open(&Source::Sql { text: "SELECT name FROM person", parameters: &[] })
            .unwrap();
        session.control(TransactionControl::RollbackTo("a")).unwrap();
        let mut without = all();
        without.retain(|&id| id != 2000);
        assert_eq!(rest(&*session, inside), without);
        session.control(TransactionControl::Rollback).unwrap();
        assert_eq!(rest(&*session, before), all());
        let mut rows = RowBuffer::default();
        let mut other = 0;
        loop {
            session.fetch(&mut changed, &mut rows).unwrap();
            if rows.rows() == 0 {
                break;
            }
            while let Some(row) = rows.next_row().unwrap() {
                other += i64::from(row.get(0) == bobak_core::ValueRef::Text("other"));
            }
        }
        assert_eq!(other, ROWS - 1001);
    }
}

#[test]
fn writes_of_other_sessions_do_not_change_cursor_rows() {
    let folder = tempfile::tempdir().unwrap();
    for engine in engines(folder.path()) {
        let (reader, writer) = (engine.session().unwrap(), engine.session().unwrap());
        let cursors = [open(&*reader), open(&*reader), open(&*reader)];
        writer.execute("DELETE FROM person WHERE id % 2 = 0", &[]).unwrap();
        writer.execute("UPDATE person SET name = 'x'", &[]).unwrap();
        for cursor in cursors.into_iter().take(2) {
            assert_eq!(rest(&*reader, cursor), all());
        }
        // The third is left open: the session closes it.
        drop(reader);
        assert_eq!(one(&*writer, "SELECT count(*) FROM person"), Value::Int(ROWS / 2));
        writer.execute("DROP TABLE person", &[]).unwrap();
    }
}

#[test]
fn more_cursors_than_readers_do_not_deadlock() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("few.db");
    let engine = Sqlite::builder().readers(1).open(path).unwrap();
    create(&engine, &[&person()]);
    let session = engine.session().unwrap();
    session.control(TransactionControl::Begin).unwrap();
    for id in 1..=ROWS {
        insert(&*session, &person(), &values(id, &format!("name {id}"), None));
    }
    session.control(TransactionControl::Commit).unwrap();
    let cursors: Vec<_> = (0..5).map(|_| open(&*session)).collect();
    for cursor in cursors {
        assert_eq!(rest(&*session, cursor), all());
    }
}

#[test]
fn writing_cursor_has_written_when_opened() {
    let folder = tempfile::tempdir().unwrap();
    for engine in engines(folder.path()) {
        let session = engine.session().unwrap();
        let sql = "DELETE FROM person WHERE id <= ? RETURNING id, name";
        let source = Source::Sql { text: sql, parameters: &[2500.into()] };
        let cursor = session.open(&source).unwrap();
        assert_eq!(one(&*session, "SELECT count(*) FROM person"), Value::Int(ROWS - 2500));
        assert_eq!(rest(&*session, cursor).len(), 2500);
        let source = Source::Sql { text: "BEGIN", parameters: &[] };
        assert_eq!(session.open(&source).unwrap_err().kind(), ErrorKind::Misuse);
    }
}

#[test]
fn buffered_cursor_rows_are_limited() {
    let folder = tempfile::tempdir().unwrap();
    let builder =
        |name: &str| Sqlite::builder().max_ahead_bytes(100_000).open(folder.path().join(name));
    let engine = builder("bound.db").unwrap();
    create(&engine, &[&person()]);
    let endless =
        "WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n) SELECT i FROM n";
    for (id, step) in [(1, TransactionControl::Commit), (2, TransactionControl::Rollback)] {
        let session = engine.session().unwrap();
        session.control(TransactionControl::Begin).unwrap();
        insert(&*session, &person(), &values(id, "ada", None));
        let mut cursor = session.open(&Source::Sql { text: endless, parameters: &[] }).unwrap();
        session.control(step).unwrap();
        let mut rows = RowBuffer::default();
        session.fetch(&mut cursor, &mut rows).unwrap();
        assert!(rows.rows() > 0, "the first part was read when it was opened");
        let error = session.fetch(&mut cursor, &mut rows).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::OutOfRange);
        assert!(error.message().contains("100000 bytes"), "{error}");
    }
    let session = engine.session().unwrap();
    assert_eq!(one(&*session, "SELECT count(*) FROM person"), Value::Int(1), "it was committed");
    // A statement that writes fails as a whole.
    session.execute("CREATE TABLE many (a)", &[]).unwrap();
    let sql = "INSERT INTO many SELECT i FROM (
               WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n LIMIT 20000) SELECT i FROM n
               ) RETURNING a";
    let error = session.open(&Source::Sql { text: sql, parameters: &[] }).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutOfRange);
    assert_eq!(one(&*session, "SELECT count(*) FROM many"), Value::Int(0));
    // Who goes away in the middle leaves nothing to read to its end.
    session.control(TransactionControl::Begin).unwrap();
    session.open(&Source::Sql { text: endless, parameters: &[] }).unwrap();
    let unbound = Sqlite::open_memory().unwrap();
    let theirs = unbound.session().unwrap();
    theirs.control(TransactionControl::Begin).unwrap();
    theirs.open(&Source::Sql { text: endless, parameters: &[] }).unwrap();
    drop((session, theirs));
}

#[test]
#[cfg(unix)]
fn new_reader_belongs_to_the_open_file() {
    let folder = tempfile::tempdir().unwrap();
    let [place, moved] = ["app.db", "moved.db"].map(|name| folder.path().join(name));
    let engine = Sqlite::open(&place).unwrap();
    create(&engine, &[&person()]);
    // One reader is there; a second one is opened while that has a cursor.
    let (first, second) = (engine.session().unwrap(), engine.session().unwrap());
    for id in 1..=ROWS {
        insert(&*first, &person(), &values(id, &format!("name {id}"), None));
    }
    let cursor = open(&*first);
    std::fs::rename(&place, &moved).unwrap();
    std::fs::write(&place, b"").unwrap();
    let source = Source::Select(&Select::all(&person()));
    let error = second.open(&source).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Conflict);
    assert!(error.message().contains("app.db"), "{error}");
    assert_eq!(rest(&*first, cursor).len(), ROWS as usize);
}

/// SQLite compares the schema that a connection knows with the file's only when a statement runs, which an explained one
/// does not.
#[test]
fn explain_knows_what_another_connection_has_changed() {
    let folder = tempfile::tempdir().unwrap();
    for engine in engines(folder.path()) {
        let (reader, writer) = (engine.session().unwrap(), engine.session().unwrap());
        let explain = "EXPLAIN QUERY PLAN SELECT id FROM person WHERE name = 'a'";
        let plan = || format!("{:?}", query(&*reader, explain, &[]).unwrap());
        let through_cursor = || {
            let mut cursor = reader.open(&Source::Sql { text: explain, parameters: &[] }).unwrap();
            let mut rows = RowBuffer::default();
            reader.fetch(&mut cursor, &mut rows).unwrap();
            format!("{:?}", rows.next_row().unwrap().map(|row| row.get(3).to_owned()))
        };
        assert!(!plan().contains("by_name"));
        assert!(!through_cursor().contains("by_name"));
        query(&*writer, "CREATE INDEX by_name ON person (name)", &[]).unwrap();
        assert!(plan().contains("by_name"), "{}", plan());
        assert!(through_cursor().contains("by_name"), "{}", through_cursor());
        query(&*writer, "DROP INDEX by_name", &[]).unwrap();
        assert!(!plan().contains("by_name"));
    }
}
