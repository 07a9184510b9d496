//! A batch does what row by row does.

use crate::support::*;
use bobak_core::{
    ColumnSchema, Engine, Error, ErrorKind, FieldSet, GeneratedKey, OnDelete, OnError, Outcome,
    Session, TableSchema, Value, Verb, Write, WriteBatch,
};
use std::sync::Arc;

fn push(batch: &mut WriteBatch, table: &Arc<TableSchema>, verb: Verb, values: &[Value<'_>]) {
    let fields = match verb {
        Verb::Update | Verb::Upsert => table.updated_fields(),
        _ => FieldSet::EMPTY,
    };
    batch.push(&Write { table, verb, fields, values }).unwrap();
}

fn send(
    session: &dyn Session,
    batch: &WriteBatch,
    on_error: OnError,
) -> (Vec<Result<Outcome, Error>>, Option<Error>) {
    let mut outcomes = Vec::new();
    let result = session.batch(batch, on_error, &mut |outcome| outcomes.push(outcome));
    (outcomes, result.err())
}

#[test]
fn batch_returns_generated_keys_in_order() {
    let engine = memory();
    let session = engine.session().unwrap();
    let table = person();
    insert(&*session, &table, &values(10, "a", None));
    let mut batch = WriteBatch::new();
    for at in 0..1000 {
        // One given key between those that are made.
        push(
            &mut batch,
            &table,
            Verb::Insert,
            &values(if at == 500 { 5000 } else { 0 }, "b", None),
        );
    }
    let (outcomes, error) = send(&*session, &batch, OnError::Stop);
    assert!(error.is_none(), "{error:?}");
    for (at, outcome) in outcomes.into_iter().enumerate() {
        let at = at as i64;
        let key = match at {
            500 => None,
            0..500 => Some(GeneratedKey::Int(11 + at)),
            _ => Some(GeneratedKey::Int(4500 + at)),
        };
        assert_eq!(outcome.unwrap(), Outcome::Inserted(key), "row {at}");
    }
    assert_eq!(one(&*session, "SELECT count(*) FROM person"), Value::Int(1001));
}

#[test]
fn invalid_row_is_reported_and_undoes_the_batch() {
    let engine = memory();
    let session = engine.session().unwrap();
    let table = person();
    let mut batch = WriteBatch::new();
    for at in 0..600 {
        let email = format!("{}@x", if at == 555 { 20 } else { at });
        push(&mut batch, &table, Verb::Insert, &values(0, "b", Some(&email)));
    }
    let (_, error) = send(&*session, &batch, OnError::Stop);
    let error = error.unwrap();
    assert_eq!(place(&error), (ErrorKind::Duplicate, Some("person"), Some("email")));
    assert_eq!(error.row(), Some(555));
    assert_eq!(one(&*session, "SELECT count(*) FROM person"), Value::Int(0));
    let (outcomes, error) = send(&*session, &batch, OnError::Continue);
    assert!(error.is_none());
    assert_eq!(outcomes.len(), 600);
    assert_eq!(outcomes[555].as_ref().unwrap_err().row(), Some(555));
    assert_eq!(outcomes.iter().filter(|o| o.is_ok()).count(), 599);
    assert_eq!(*outcomes[599].as_ref().unwrap(), Outcome::Inserted(Some(GeneratedKey::Int(599))));
}

/// Numbers that look random and are the same each time.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % limit
    }
}

struct Planned {
    table: Arc<TableSchema>,
    verb: Verb,
    values: Vec<Value<'static>>,
}

/// Runs of writes, most long enough for the fast way, some with rows that are rejected.
fn plan(numbers: &mut Numbers, tables: &[Arc<TableSchema>; 2]) -> Vec<Planned> {
    let mut planned = Vec::new();
    for _ in 0..=numbers.below(4) {
        let verb = [
            Verb::Insert,
            Verb::Insert,
            Verb::InsertOrIgnore,
            Verb::InsertOrReplace,
            Verb::Upsert,
            Verb::Update,
            Verb::Delete,
        ][numbers.below(7) as usize];
        let cars = numbers.below(4) == 0;
        // How often a row is like another, or wrong: in one run of three never.
        let odds = [0, 3, 100][numbers.below(3) as usize];
        let generated_keys = numbers.below(3) > 0;
        for _ in 0..numbers.below(700) {
            let wrong = numbers.below(1000) < odds;
            let table = Arc::clone(&tables[usize::from(cars)]);
            let values = if cars {
                car_values(numbers, wrong)
            } else {
                person_values(numbers, generated_keys, wrong)
            };
            let values = if verb == Verb::Delete { values[..1].to_vec() } else { values };
            planned.push(Planned { table, verb, values });
        }
    }
    planned
}

fn person_values(numbers: &mut Numbers, generated_keys: bool, wrong: bool) -> Vec<Value<'static>> {
    let mixed = numbers.below(200) == 0;
    let id = match numbers.below(1 << 40) as i64 {
        _ if generated_keys != mixed => 0,
        id if wrong => id % 300 + 1,
        id => id - (1 << 39),
    };
    let email = match numbers.below(1 << 40) {
        n if wrong => format!("{}@x", n % 50),
        n => format!("{n}@X\0é"),
    };
    let mut row = values(id, &"né\0".repeat(numbers.below(4) as usize), Some(&email));
    row[4] = Value::Bytes(vec![0; numbers.below(3) as usize].into());
    row[5] = Value::Int(numbers.below(2) as i64 + 1);
    if wrong {
        match numbers.below(4) {
            0 => row[1] = Value::Null,
            1 => row[3] = Value::Float(-1.0),
            _ => {}
        }
    }
    row
}

fn car_values(numbers: &mut Numbers, wrong: bool) -> Vec<Value<'static>> {
    let plate = if wrong { numbers.below(30) } else { numbers.below(1 << 40) };
    let owner = match numbers.below(20) {
        0 if wrong => Value::Int(-9),
        _ => Value::Null,
    };
    vec![plate.to_string().into(), owner]
}

type RowResults = Vec<Result<Outcome, String>>;

/// The result of a batch, with errors as texts.
fn results(
    (outcomes, error): (Vec<Result<Outcome, Error>>, Option<Error>),
) -> Result<RowResults, String> {
    let text = |error: Error| format!("{error:?}");
    let outcomes = outcomes.into_iter().map(|outcome| outcome.map_err(text)).collect();
    error.map_or(Ok(outcomes), |error| Err(text(error)))
}

/// The meaning of a batch, in single writes.
fn row_by_row(
    session: &dyn Session,
    planned: &[Planned],
    on_error: OnError,
) -> Result<RowResults, String> {
    use bobak_core::TransactionControl;
    let mut results = Vec::new();
    session.control(TransactionControl::Begin).unwrap();
    for (number, row) in planned.iter().enumerate() {
        match write(session, &row.table, row.verb, &row.values) {
            Ok(outcome) => results.push(Ok(outcome)),
            Err(error) => {
                let error = format!("{:?}", error.at_row(number as u64));
                if on_error == OnError::Stop {
                    session.control(TransactionControl::Rollback).unwrap();
                    return Err(error);
                }
                results.push(Err(error));
            }
        }
    }
    session.control(TransactionControl::Commit).unwrap();
    Ok(results)
}

#[test]
fn random_batches_equal_row_by_row() {
    let mut fast_errors = 0;
    for seed in 1..=60_u64 {
        let mut numbers = Numbers(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let (fast, slow) = (memory(), memory());
        let (fast, slow) = (fast.session().unwrap(), slow.session().unwrap());
        let tables = [person(), car()];
        for _ in 0..4 {
            let planned = plan(&mut numbers, &tables);
            let on_error = if numbers.below(2) == 0 { OnError::Stop } else { OnError::Continue };
            let mut batch = WriteBatch::new();
            for row in &planned {
                push(&mut batch, &row.table, row.verb, &row.values);
            }
            let done = results(send(&*fast, &batch, on_error));
            fast_errors += usize::from(done.is_err());
            let expected = row_by_row(&*slow, &planned, on_error);
            if let (Ok(done), Ok(expected)) = (&done, &expected) {
                for (number, (done, expected)) in done.iter().zip(expected).enumerate() {
                    let row = &planned[number];
                    assert_eq!(done, expected, "seed {seed}, row {number}: {:?}", row.values);
                }
            }
            assert_eq!(done, expected, "seed {seed}");
            for table in ["person", "car"] {
                let sql = format!("SELECT rowid, * FROM {table} ORDER BY rowid");
                let rows = [&fast, &slow].map(|session| query(&**session, &sql, &[]).unwrap());
                assert!(rows[0] == rows[1], "seed {seed}, table {table}");
            }
        }
    }
    assert!(fast_errors > 5, "the plans must have errors in them");
}

#[test]
fn foreign_constraints_act_as_row_by_row() {
    let tables = [
        "(id INTEGER PRIMARY KEY, number INTEGER UNIQUE ON CONFLICT IGNORE)",
        "(id INTEGER PRIMARY KEY, number INTEGER UNIQUE ON CONFLICT REPLACE)",
        "(id INTEGER PRIMARY KEY, number INTEGER UNIQUE ON CONFLICT FAIL)",
        "(id INTEGER PRIMARY KEY, number INTEGER UNIQUE)",
        "(id INTEGER PRIMARY KEY, number INTEGER CHECK (number <> 70))",
        // Fails with an error of the expression, while the statement runs.
        "(id INTEGER PRIMARY KEY, number INTEGER CHECK (number <> 70 OR abs(-1 << 63) > 0))",
        "(id INTEGER PRIMARY KEY, number INTEGER REFERENCES t (id) ON DELETE CASCADE)",
    ];
    for columns in tables {
        for on_error in [OnError::Stop, OnError::Continue] {
            let engines = [(); 2].map(|()| bobak_sqlite::Sqlite::open_memory().unwrap());
            let [fast, slow] = engines.each_ref().map(|engine| {
                let session = engine.session().unwrap();
                session.execute(&format!("CREATE TABLE t {columns}"), &[]).unwrap();
                session
            });
            let table = Arc::new(engines[0].tables().unwrap().remove(0));
            let numbers = (1..=150_i64).map(|at| if at == 100 { 70 } else { at });
            let planned: Vec<_> = numbers
                .map(|number| Planned {
                    table: Arc::clone(&table),
                    verb: Verb::Insert,
                    values: vec![Value::Null, number.into()],
                })
                .collect();
            let mut batch = WriteBatch::new();
            for row in &planned {
                push(&mut batch, &row.table, row.verb, &row.values);
            }
            let done = results(send(&*fast, &batch, on_error));
            let expected = row_by_row(&*slow, &planned, on_error);
            assert!(done == expected, "{columns} {on_error:?}: {done:?}");
            let rows = [&fast, &slow]
                .map(|session| query(&**session, "SELECT * FROM t ORDER BY id", &[]).unwrap());
            assert!(rows[0] == rows[1], "{columns} {on_error:?}");
        }
    }
}

#[test]
fn non_consecutive_keys_are_reported_correctly() {
    let engine = memory();
    let session = engine.session().unwrap();
    let table = person();
    let mut batch = WriteBatch::new();
    for _ in 0..300 {
        push(&mut batch, &table, Verb::Insert, &values(0, "b", None));
    }
    let check = |sql: &str| {
        let (outcomes, error) = send(&*session, &batch, OnError::Stop);
        assert!(error.is_none(), "{error:?}");
        let made = outcomes.into_iter().map(|outcome| match outcome {
            Ok(Outcome::Inserted(Some(GeneratedKey::Int(key)))) => vec![Value::Int(key)],
            other => panic!("{other:?}"),
        });
        let mut made: Vec<_> = made.collect();
        made.sort_by_key(|key| format!("{key:?}"));
        let mut there = query(&*session, sql, &[]).unwrap();
        there.sort_by_key(|key| format!("{key:?}"));
        assert_eq!(made, there);
        session.execute("DELETE FROM person", &[]).unwrap();
    };
    // A trigger that takes keys of its own.
    let trigger = "CREATE TRIGGER t AFTER INSERT ON person WHEN new.name = 'b' BEGIN \
                   INSERT INTO person (name, version) VALUES ('extra', 1); END";
    session.execute(trigger, &[]).unwrap();
    check("SELECT id FROM person WHERE name = 'b'");
    session.execute("DROP TRIGGER t", &[]).unwrap();
    check("SELECT id FROM person WHERE name = 'b'");
    session.execute(&trigger.replace("TRIGGER", "TEMP TRIGGER"), &[]).unwrap();
    check("SELECT id FROM person WHERE name = 'b'");
    session.execute("DROP TRIGGER t", &[]).unwrap();
    insert(&*session, &table, &values(-1000, "negative", None));
    check("SELECT id FROM person WHERE name = 'b'");
    // SQLite would continue with random keys if the largest is in use.
    insert(&*session, &table, &values(i64::MAX - 100, "last", None));
    let (_, error) = send(&*session, &batch, OnError::Stop);
    let error = error.unwrap();
    assert_eq!((error.kind(), error.row()), (ErrorKind::Full, Some(100)));
    assert_eq!(one(&*session, "SELECT count(*) FROM person"), Value::Int(1));
}

#[test]
fn autoincrement_keys_are_reported_correctly() {
    let engine = bobak_sqlite::Sqlite::open_memory().unwrap();
    let session = engine.session().unwrap();
    let sql = "CREATE TABLE counted (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL)";
    session.execute(sql, &[]).unwrap();
    let table = Arc::new(engine.tables().unwrap().remove(0));
    let mut batch = WriteBatch::new();
    for _ in 0..100 {
        push(&mut batch, &table, Verb::Insert, &[Value::Null, "a".into()]);
    }
    for first in [1, 101] {
        let (outcomes, _) = send(&*session, &batch, OnError::Stop);
        let results: Vec<_> = outcomes.into_iter().map(Result::unwrap).collect();
        let expected =
            (first..first + 100).map(|key| Outcome::Inserted(Some(GeneratedKey::Int(key))));
        assert!(results.into_iter().eq(expected));
        session.execute("DELETE FROM counted", &[]).unwrap();
    }
}

#[test]
fn row_cannot_reference_a_later_row() {
    let engine = memory();
    let session = engine.session().unwrap();
    let tree = TableSchema::builder("tree")
        .column(ColumnSchema::of::<i64>("id"))
        .column(ColumnSchema::of::<Option<i64>>("parent").references(
            "tree",
            "id",
            OnDelete::Restrict,
        ))
        .key(["id"])
        .build();
    let tree = Arc::new(tree.unwrap());
    create(&engine, &[&tree]);
    let mut batch = WriteBatch::new();
    for id in 1..=100 {
        push(&mut batch, &tree, Verb::Insert, &[Value::Int(id), Value::Int((id + 1).min(100))]);
    }
    let (_, error) = send(&*session, &batch, OnError::Stop);
    let error = error.unwrap();
    assert_eq!((error.kind(), error.row()), (ErrorKind::Constraint, Some(0)));
}

#[test]
fn failed_batch_in_a_transaction_is_undone_alone() {
    let engine = memory();
    let session = engine.session().unwrap();
    let table = person();
    session.control(bobak_core::TransactionControl::Begin).unwrap();
    insert(&*session, &table, &values(1, "before", Some("a@x")));
    let mut batch = WriteBatch::new();
    for at in 0..100 {
        push(&mut batch, &table, Verb::Insert, &values(0, "b", (at == 99).then_some("A@X")));
    }
    let (_, error) = send(&*session, &batch, OnError::Stop);
    assert_eq!(error.unwrap().row(), Some(99));
    assert_eq!(one(&*session, "SELECT group_concat(name) FROM person"), "before".into());
    session.control(bobak_core::TransactionControl::Commit).unwrap();
    assert_eq!(one(&*session, "SELECT count(*) FROM person"), Value::Int(1));
}

#[test]
fn full_disk_undoes_the_batch() {
    let folder = tempfile::tempdir().unwrap();
    let engine = bobak_sqlite::Sqlite::open(folder.path().join("a.db")).unwrap();
    create(&engine, &[&person()]);
    let session = engine.session().unwrap();
    session.execute("PRAGMA max_page_count = 30", &[]).unwrap();
    let mut batch = WriteBatch::new();
    for _ in 0..500 {
        push(&mut batch, &person(), Verb::Insert, &values(0, &"x".repeat(500), None));
    }
    for on_error in [OnError::Stop, OnError::Continue] {
        let (_, error) = send(&*session, &batch, on_error);
        assert_eq!(error.unwrap().kind(), ErrorKind::Full);
        assert_eq!(one(&*session, "SELECT count(*) FROM person"), Value::Int(0));
    }
    session.control(bobak_core::TransactionControl::Begin).unwrap();
    insert(&*session, &person(), &values(1, "before", None));
    let (_, error) = send(&*session, &batch, OnError::Continue);
    assert_eq!(error.unwrap().kind(), ErrorKind::Full);
    session.control(bobak_core::TransactionControl::Rollback).unwrap();
    assert_eq!(one(&*session, "SELECT count(*) FROM person"), Value::Int(0));
}
