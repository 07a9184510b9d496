//! Queries for the nearest rows always find those that their snapshot stores, from vectors in memory too.

use crate::support::{Rows, create};
use bobak_core::nearest::{Metric, Nearest, distance};
use bobak_core::{
    ColumnSchema, Engine, ErrorKind, Expr, FieldSet, Interrupt, Result, SchemaChange, Select,
    Session, Source, TableSchema, TransactionControl, Value, Vector, Verb, Write, vector_bytes,
};
use bobak_sqlite::{JournalMode, LockingMode, Sqlite, Synchronous};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const NUMBERS: usize = 5;
const ROWS: i64 = 300;

/// `id`, `stamp` and `looks`, a vector that may be NULL.
fn item() -> Arc<TableSchema> {
    let table = TableSchema::builder("item")
        .column(ColumnSchema::of::<i64>("id"))
        .column(ColumnSchema::of::<i64>("stamp"))
        .column(ColumnSchema::of::<Option<Vector<NUMBERS>>>("looks"))
        .key(["id"]);
    Arc::new(table.build().unwrap())
}

/// A vector that a number determines.
fn numbers(seed: i64) -> [f32; NUMBERS] {
    std::array::from_fn(|at| ((seed * 7_919 + at as i64 * 104_729) % 2_003) as f32 / 10.0 - 100.0)
}

fn vector(seed: i64) -> Value<'static> {
    Value::from(vector_bytes(&numbers(seed)))
}

fn write(session: &dyn Session, verb: Verb, id: i64, stamp: i64, looks: Value<'static>) {
    let table = &item();
    let fields = if verb == Verb::Upsert { table.updated_fields() } else { FieldSet::EMPTY };
    let values = [Value::Int(id), Value::Int(stamp), looks];
    session.write(&Write { table, verb, fields, values: &values }).unwrap();
}

fn fill(engine: &Sqlite) {
    let session = engine.session().unwrap();
    session.control(TransactionControl::Begin).unwrap();
    for id in 1..=ROWS {
        let looks = if id % 50 == 0 { Value::Null } else { vector(id / 2) };
        write(&*session, Verb::Insert, id, 0, looks);
    }
    session.control(TransactionControl::Commit).unwrap();
}

/// One engine for each way to open a database, filled.
fn engines(folder: &Path) -> Vec<Sqlite> {
    let file = |name: &str, journal, locking| {
        let builder = Sqlite::builder().journal_mode(journal).locking(locking);
        builder.synchronous(Synchronous::Off).open(folder.join(name)).unwrap()
    };
    let engines = vec![
        Sqlite::open_memory().unwrap(),
        file("wal.db", JournalMode::Wal, LockingMode::Normal),
        file("delete.db", JournalMode::Delete, LockingMode::Normal),
        file("persist.db", JournalMode::Persist, LockingMode::Normal),
        file("wal-exclusive.db", JournalMode::Wal, LockingMode::Exclusive),
        file("delete-exclusive.db", JournalMode::Delete, LockingMode::Exclusive),
        Sqlite::builder().vector_cache_bytes(0).open(folder.join("off.db")).unwrap(),
        Sqlite::builder().vector_cache_bytes(10_000).open(folder.join("small.db")).unwrap(),
    ];
    for engine in &engines {
        create(engine, &[&item()]);
        fill(engine);
    }
    engines
}

fn select(metric: Metric, to: &[f32], rows: u64) -> Select {
    let nearest = Some(Box::new(Nearest { column: 2, metric, to: to.into() }));
    let columns = vec![Expr::Distance, Expr::Column(2), Expr::Column(0), Expr::Column(1)];
    Select { nearest, columns, limit: Some(rows), ..Select::all(&item()) }
}

fn rows_of(session: &dyn Session, select: &Select) -> Result<Rows> {
    let mut rows = Rows::new();
    session.query(&Source::Select(select), &mut |row| {
        rows.push((0..row.len()).map(|place| row.get(place).to_owned()).collect());
        Ok(true)
    })?;
    Ok(rows)
}

/// The nearest rows as they are calculated from all rows.
fn expected(session: &dyn Session, metric: Metric, to: &[f32], rows: usize) -> Rows {
    let all = rows_of(session, &Select::all(&item())).unwrap();
    let mut found: Vec<(f64, i64, Vec<Value<'static>>)> = Vec::new();
    for row in all {
        let (Value::Int(id), Value::Bytes(bytes)) = (&row[0], &row[2]) else { continue };
        let own: Vec<f32> = bobak_core::vector_numbers(bytes).collect();
        let distance = distance(metric, &own, to).unwrap();
        let values = vec![distance.into(), row[2].clone(), row[0].clone(), row[1].clone()];
        found.push((distance, *id, values));
    }
    found.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    found.into_iter().take(rows).map(|(_, _, values)| values).collect()
}

/// Compares the rows of several queries, the later of which find them in memory.
fn check(session: &dyn Session) {
    for round in 0..2 {
        for metric in [Metric::Cosine, Metric::Euclidean, Metric::Dot] {
            let to = numbers(round * 31 + 3);
            let all = expected(session, metric, &to, 40);
            let query = select(metric, &to, 25);
            assert_eq!(rows_of(session, &query).unwrap(), all[..25.min(all.len())], "{round}");
            let page = Select { offset: 30, limit: Some(10), ..query };
            let rest = all.get(30..).unwrap_or_default();
            assert_eq!(rows_of(session, &page).unwrap(), rest);
        }
    }
}

#[test]
fn each_change_is_seen_by_the_next_query() {
    let folder = tempfile::tempdir().unwrap();
    for engine in engines(folder.path()) {
        let session = engine.session().unwrap();
        check(&*session);
        write(&*session, Verb::Upsert, 7, 1, vector(1_000));
        check(&*session);
        write(&*session, Verb::Upsert, ROWS + 1, 1, vector(3));
        check(&*session);
        session.execute("DELETE FROM item WHERE id IN (6, 8)", &[]).unwrap();
        check(&*session);
        session.execute("UPDATE item SET looks = NULL WHERE id = 9", &[]).unwrap();
        check(&*session);
        session.execute("VACUUM", &[]).unwrap();
        check(&*session);
        session.execute("DELETE FROM item", &[]).unwrap();
        check(&*session);
        fill(&engine);
        check(&*session);
    }
}

#[test]
fn a_transaction_sees_its_own_vectors_until_it_is_rolled_back() {
    let folder = tempfile::tempdir().unwrap();
    for engine in engines(folder.path()) {
        let session = engine.session().unwrap();
        check(&*session);
        for end in [TransactionControl::Rollback, TransactionControl::Commit] {
            session.control(TransactionControl::Begin).unwrap();
            check(&*session);
            write(&*session, Verb::Upsert, 7, 1, vector(3));
            write(&*session, Verb::Upsert, ROWS + 1, 1, vector(34));
            check(&*session);
            session.control(TransactionControl::Savepoint("a")).unwrap();
            session.execute("DELETE FROM item WHERE id < 100", &[]).unwrap();
            check(&*session);
            session.control(TransactionControl::RollbackTo("a")).unwrap();
            check(&*session);
            session.control(end).unwrap();
            check(&*session);
        }
    }
}

#[test]
fn an_open_transaction_does_not_change_what_others_find() {
    let folder = tempfile::tempdir().unwrap();
    for engine in engines(folder.path()).into_iter().skip(1) {
        if !engine.capabilities().concurrent_readers {
            continue;
        }
        let (writing, reading) = (engine.session().unwrap(), engine.session().unwrap());
        check(&*reading);
        let first = rows_of(&*reading, &select(Metric::Euclidean, &numbers(3), 9)).unwrap();
        writing.control(TransactionControl::Begin).unwrap();
        writing.execute("DELETE FROM item WHERE id < 100", &[]).unwrap();
        let found = rows_of(&*reading, &select(Metric::Euclidean, &numbers(3), 9)).unwrap();
        assert_eq!(found, first);
        writing.control(TransactionControl::Commit).unwrap();
        let found = rows_of(&*reading, &select(Metric::Euclidean, &numbers(3), 9)).unwrap();
        assert_ne!(found, first);
        check(&*reading);
    }
}

#[test]
fn changes_of_other_connections_and_programs_are_seen() {
    let folder = tempfile::tempdir().unwrap();
    for journal in [JournalMode::Wal, JournalMode::Delete, JournalMode::Truncate] {
        let path = folder.path().join(format!("{}.db", journal.as_str()));
        let open = || {
            let builder = Sqlite::builder().journal_mode(journal).synchronous(Synchronous::Off);
            builder.open(&path).unwrap()
        };
        let (engine, other) = (open(), open());
        create(&engine, &[&item()]);
        fill(&engine);
        let (session, others) = (engine.session().unwrap(), other.session().unwrap());
        for round in 0..6 {
            check(&*session);
            write(&*others, Verb::Upsert, round * 11 + 1, round, vector(round * 31 + 3));
            check(&*session);
            others.control(TransactionControl::Begin).unwrap();
            others.execute("UPDATE item SET looks = NULL WHERE id % 7 = 1", &[]).unwrap();
            check(&*session);
            others.control(TransactionControl::Rollback).unwrap();
            check(&*others);
            if journal == JournalMode::Wal {
                others.execute("PRAGMA wal_checkpoint(TRUNCATE)", &[]).unwrap();
            }
        }
    }
}

#[test]
fn changed_tables_are_read_again() {
    let folder = tempfile::tempdir().unwrap();
    for engine in engines(folder.path()) {
        let session = engine.session().unwrap();
        check(&*session);
        session.execute("ALTER TABLE item RENAME TO old", &[]).unwrap();
        let query = select(Metric::Dot, &numbers(1), 3);
        assert_eq!(rows_of(&*session, &query).unwrap_err().kind(), ErrorKind::Schema);
        create(&engine, &[&item()]);
        check(&*session);
        write(&*session, Verb::Insert, 1, 1, vector(4));
        check(&*session);
        engine.alter(&[SchemaChange::DropTable(item())]).unwrap();
        assert_eq!(rows_of(&*session, &query).unwrap_err().kind(), ErrorKind::Schema);
        session.execute("CREATE VIEW item AS SELECT * FROM old WHERE id > 5", &[]).unwrap();
        check(&*session);
        session.execute("DELETE FROM old WHERE id < 10", &[]).unwrap();
        check(&*session);
        session.execute("DROP VIEW item", &[]).unwrap();
        session.execute("ALTER TABLE old RENAME TO Item", &[]).unwrap();
        check(&*session);
    }
}

#[test]
fn a_temporary_table_of_the_same_name_comes_first() {
    let engine = Sqlite::open_memory().unwrap();
    create(&engine, &[&item()]);
    fill(&engine);
    let session = engine.session().unwrap();
    check(&*session);
    let sql = "CREATE TEMP TABLE ITEM AS SELECT * FROM main.item WHERE id > 100";
    session.execute(sql, &[]).unwrap();
    check(&*session);
    session.execute("DELETE FROM temp.item WHERE id < 200", &[]).unwrap();
    check(&*session);
}

#[test]
fn rows_of_other_programs_without_vectors_or_keys_are_as_without_the_cache() {
    let engine = Sqlite::open_memory().unwrap();
    let session = engine.session().unwrap();
    session.execute("CREATE TABLE item (id INT, stamp INT, looks BLOB)", &[]).unwrap();
    write(&*session, Verb::Insert, 2, 0, vector(3));
    write(&*session, Verb::Insert, 1, 0, vector(3));
    write(&*session, Verb::Insert, 1, 5, vector(3));
    let query = select(Metric::Euclidean, &numbers(3), 3);
    for _ in 0..4 {
        let found = rows_of(&*session, &query).unwrap();
        let keys: Vec<_> = found.iter().map(|row| (&row[2], &row[3])).collect();
        let int = |number| Value::Int(number);
        assert_eq!(keys, [(&int(1), &int(0)), (&int(1), &int(5)), (&int(2), &int(0))]);
    }
    for looks in ["x'0000803f'", "'text'", "1"] {
        session.execute(&format!("UPDATE item SET looks = {looks} WHERE id = 2"), &[]).unwrap();
        for _ in 0..4 {
            let error = rows_of(&*session, &query).unwrap_err();
            assert_eq!((error.kind(), error.table()), (ErrorKind::Mismatch, Some("item")));
        }
    }
}

#[test]
fn an_interrupted_query_leaves_the_cache_usable() {
    let engine = Sqlite::open_memory().unwrap();
    create(&engine, &[&item()]);
    fill(&engine);
    let session = engine.session().unwrap();
    for _ in 0..4 {
        let (interrupt, query) = (Interrupt::new(), select(Metric::Cosine, &numbers(3), 3));
        interrupt.interrupt();
        let error = interrupt.run(|| rows_of(&*session, &query)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Interrupted);
        assert_eq!(rows_of(&*session, &query).unwrap().len(), 3);
    }
    check(&*session);
}

/// Writers give all of their rows a new stamp and vectors at once, and read them back; readers always find rows of one
/// moment.
fn write_and_find(engine: &Sqlite, writer: i64, ends: &AtomicBool) {
    let session = engine.session().unwrap();
    for round in 1..=40 {
        let seed = 100_000 + writer * 1_000 + round;
        if round % 3 == 0 {
            write(&*session, Verb::Upsert, writer, seed, vector(seed));
        } else {
            session.control(TransactionControl::Begin).unwrap();
            write(&*session, Verb::Upsert, writer + 10, 0, Value::Null);
            write(&*session, Verb::Upsert, writer, seed, vector(seed));
            session.control(TransactionControl::Commit).unwrap();
        }
        for _ in 0..5 {
            let found = rows_of(&*session, &select(Metric::Euclidean, &numbers(seed), 40)).unwrap();
            let own = found.iter().find(|row| row[2] == Value::Int(writer));
            let values = [0.0.into(), vector(seed), Value::Int(writer), Value::Int(seed)];
            assert_eq!(own.map(Vec::as_slice), Some(&values[..]));
            std::thread::sleep(std::time::Duration::from_millis(u64::from(round % 4 == 0)));
        }
    }
    ends.store(true, Ordering::Relaxed);
}

/// Finds rows until the writers have ended. The rows of each result fit their distances and stamps.
fn find_meanwhile(engine: &Sqlite, ends: &AtomicBool) {
    let session = engine.session().unwrap();
    let mut round = 0;
    while !ends.load(Ordering::Relaxed) {
        round += 1;
        let to = numbers(round);
        for row in rows_of(&*session, &select(Metric::Euclidean, &to, 20)).unwrap() {
            let (Value::Bytes(bytes), Value::Int(stamp)) = (&row[1], &row[3]) else { panic!() };
            let own: Vec<f32> = bobak_core::vector_numbers(bytes).collect();
            assert_eq!(row[0], Value::Float(distance(Metric::Euclidean, &own, &to).unwrap()));
            assert!(*stamp == 0 || row[1] == vector(*stamp), "{stamp}");
        }
    }
}

#[test]
fn acknowledged_writes_of_many_threads_are_found() {
    let folder = tempfile::tempdir().unwrap();
    for journal in [JournalMode::Wal, JournalMode::Delete] {
        let path = folder.path().join(format!("{}.db", journal.as_str()));
        let open = || {
            let builder = Sqlite::builder().journal_mode(journal).synchronous(Synchronous::Off);
            builder.busy_timeout(std::time::Duration::from_secs(60)).open(&path).unwrap()
        };
        let (engine, other) = (open(), open());
        create(&engine, &[&item()]);
        fill(&engine);
        let ends = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for (writer, engine) in [(1, &engine), (2, &engine), (3, &other)] {
                let ends = &ends;
                scope.spawn(move || write_and_find(engine, writer, ends));
            }
            for engine in [&engine, &other] {
                let ends = &ends;
                scope.spawn(move || find_meanwhile(engine, ends));
            }
        });
    }
}
