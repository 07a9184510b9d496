//! One row written and read, and what is rejected.

use crate::support::*;
use bobak_core::{
    Assign, BulkChange, Comparison, Condition, Engine, ErrorKind, GeneratedKey, Outcome, Select,
    Source, Value, ValueRef, Verb,
};

#[test]
fn values_round_trip() {
    let engine = memory();
    let session = engine.session().unwrap();
    let table = person();
    for (id, name, amount, photo) in [
        (i64::MAX, "Namé\0 1", Value::Float(0.1), Value::Bytes(vec![0, 255].into())),
        (i64::MIN, "", Value::Float(-0.0), Value::Bytes(vec![].into())),
        (7, "x", Value::Null, Value::Null),
        (8, "x", Value::Float(f64::INFINITY), Value::Null),
    ] {
        let row = vec![Value::Int(id), name.into(), Value::Null, amount, photo, Value::Int(1)];
        assert_eq!(insert(&*session, &table, &row), Outcome::Inserted(None));
        assert_eq!(get(&*session, &table, Value::Int(id)).unwrap(), row);
    }
    assert_eq!(get(&*session, &table, Value::Int(9)), None);
    // A text that is not UTF-8 is no text.
    session.execute("UPDATE person SET name = CAST(x'ff41' AS TEXT) WHERE id = 7", &[]).unwrap();
    let row = get(&*session, &table, Value::Int(7)).unwrap();
    assert_eq!(row[1].as_ref(), ValueRef::Bytes(&[0xff, 0x41]));
}

#[test]
fn generated_keys_follow_the_largest() {
    let engine = memory();
    let session = engine.session().unwrap();
    let table = person();
    let made = |id| Outcome::Inserted(Some(GeneratedKey::Int(id)));
    assert_eq!(insert(&*session, &table, &values(0, "a", None)), made(1));
    assert_eq!(insert(&*session, &table, &values(41, "b", None)), Outcome::Inserted(None));
    assert_eq!(insert(&*session, &table, &values(0, "c", None)), made(42));
    assert_eq!(
        write(&*session, &table, Verb::Delete, &[Value::Int(42)]).unwrap(),
        Outcome::Changed(1)
    );
    assert_eq!(
        write(&*session, &table, Verb::Delete, &[Value::Int(42)]).unwrap(),
        Outcome::Changed(0)
    );
    assert_eq!(insert(&*session, &table, &values(0, "d", None)), made(42));
    let upsert = write(&*session, &table, Verb::Upsert, &values(0, "e", None));
    assert_eq!(upsert.unwrap(), made(43));
}

#[test]
fn each_verb_returns_its_outcome() {
    let engine = memory();
    let session = engine.session().unwrap();
    let (person, car) = (person(), car());
    insert(&*session, &person, &values(1, "a", Some("a@x")));
    insert(&*session, &person, &values(2, "b", Some("b@x")));
    let write = |verb, values: &[Value<'_>]| write(&*session, &person, verb, values);

    // The unique column does not tell case apart.
    let error = write(Verb::Insert, &values(0, "c", Some("A@X"))).unwrap_err();
    assert_eq!(place(&error), (ErrorKind::Duplicate, Some("person"), Some("email")));
    let error = write(Verb::Insert, &values(1, "c", None)).unwrap_err();
    assert_eq!(place(&error), (ErrorKind::Duplicate, Some("person"), Some("id")));
    assert_eq!(write(Verb::InsertOrIgnore, &values(1, "c", None)).unwrap(), Outcome::Ignored);
    assert_eq!(
        write(Verb::InsertOrIgnore, &values(0, "c", Some("a@x"))).unwrap(),
        Outcome::Ignored
    );
    let mut bad = values(0, "c", Some("a@x"));
    bad[1] = Value::Null;
    let error = write(Verb::InsertOrIgnore, &bad).unwrap_err();
    assert_eq!(place(&error), (ErrorKind::Constraint, Some("person"), Some("name")));
    bad = values(0, "c", None);
    bad[3] = Value::Float(-1.0);
    assert_eq!(write(Verb::Insert, &bad).unwrap_err().kind(), ErrorKind::Constraint);

    let inserted = Outcome::Inserted(None);
    assert_eq!(write(Verb::InsertOrReplace, &values(3, "r", Some("b@x"))).unwrap(), inserted);
    assert_eq!(one(&*session, "SELECT count(*) FROM person"), Value::Int(2));
    assert_eq!(write(Verb::Upsert, &values(9, "u", None)).unwrap(), inserted);
    assert_eq!(write(Verb::Upsert, &values(9, "v", None)).unwrap(), Outcome::Changed(1));
    let error = write(Verb::Upsert, &values(9, "v", Some("a@x"))).unwrap_err();
    assert_eq!(place(&error), (ErrorKind::Duplicate, Some("person"), Some("email")));

    // The upsert has raised the version.
    let mut row = values(9, "w", None);
    assert_eq!(write(Verb::Update, &row).unwrap_err().kind(), ErrorKind::Conflict);
    row[5] = Value::Int(2);
    assert_eq!(write(Verb::Update, &row).unwrap(), Outcome::Changed(1));
    assert_eq!(get(&*session, &person, Value::Int(9)).unwrap()[5], Value::Int(3));
    assert_eq!(
        write(Verb::Update, &values(77, "w", None)).unwrap_err().kind(),
        ErrorKind::NotFound
    );

    let text_key = |plate: &str, owner| vec![Value::from(plate).into_owned(), owner];
    let cars = |verb, row: Vec<Value<'_>>| crate::support::write(&*session, &car, verb, &row);
    assert_eq!(cars(Verb::Upsert, text_key("A", Value::Int(1))).unwrap(), inserted);
    assert_eq!(cars(Verb::Upsert, text_key("A", Value::Null)).unwrap(), Outcome::Changed(1));
    let error = cars(Verb::InsertOrIgnore, text_key("B", Value::Int(5))).unwrap_err();
    assert_eq!((error.kind(), error.table()), (ErrorKind::Constraint, Some("car")));
    assert_eq!(one(&*session, "SELECT count(*) FROM car"), Value::Int(1));
}

#[test]
fn changes_are_counted_and_overflows_are_errors() {
    let engine = memory();
    let session = engine.session().unwrap();
    let table = person();
    for id in 1..=5 {
        insert(&*session, &table, &values(id, "a", None));
    }
    let condition =
        Condition::Compare { column: 0, comparison: Comparison::Greater, value: Value::Int(2) };
    let change = |assign: Option<&[Assign]>| {
        session.change(&BulkChange { table: &table, condition: Some(&condition), assign })
    };
    assert_eq!(change(Some(&[Assign::Set { column: 1, value: "z".into() }])).unwrap(), 3);
    assert_eq!(one(&*session, "SELECT sum(version) FROM person"), Value::Int(2 + 3 * 2));
    let car = car();
    insert(&*session, &car, &["A".into(), Value::Int(5)]);
    let add = [Assign::Add { column: 1, value: Value::Int(i64::MAX) }];
    let error = session.change(&BulkChange { table: &car, condition: None, assign: Some(&add) });
    assert_eq!(error.unwrap_err().kind(), ErrorKind::OutOfRange);
    assert_eq!(write(&*session, &car, Verb::Delete, &["A".into()]).unwrap(), Outcome::Changed(1));
    assert_eq!(change(None).unwrap(), 3);
    assert_eq!(change(None).unwrap(), 0);
    assert_eq!(session.execute("CREATE TABLE other (x)", &[]).unwrap(), 0);
}

#[test]
fn invalid_sql_is_rejected_with_a_reason() {
    let engine = memory();
    let session = engine.session().unwrap();
    let kind = |sql: &str, values: &[Value<'_>]| query(&*session, sql, values).unwrap_err().kind();
    assert_eq!(kind("SELEC 1", &[]), ErrorKind::Syntax);
    assert_eq!(kind("SELECT 1; SELECT 2", &[]), ErrorKind::Syntax);
    assert_eq!(kind("", &[]), ErrorKind::Syntax);
    assert_eq!(kind("SELECT '\0'", &[]), ErrorKind::Syntax);
    assert_eq!(kind("SELECT 1 FROM missing", &[]), ErrorKind::Schema);
    assert_eq!(kind("SELECT \"nothing\" FROM person", &[]), ErrorKind::Schema);
    assert_eq!(kind("SELECT nofunction()", &[]), ErrorKind::Syntax);
    assert_eq!(kind("SELECT ?", &[]), ErrorKind::Mismatch);
    assert_eq!(kind("SELECT 1", &[Value::Null]), ErrorKind::Mismatch);
    assert_eq!(kind("BEGIN", &[]), ErrorKind::Misuse);
    assert_eq!(session.execute("/**/ commit", &[]).unwrap_err().kind(), ErrorKind::Misuse);
    assert_eq!(query(&*session, "SELECT 1; -- ;\n ;", &[]).unwrap(), [[Value::Int(1)]]);
    let missing = car();
    session.execute("DROP TABLE car", &[]).unwrap();
    let error = write(&*session, &missing, Verb::Delete, &["A".into()]).unwrap_err();
    assert_eq!((error.kind(), error.table()), (ErrorKind::Schema, Some("car")));
}

#[test]
fn session_is_busy_inside_a_callback() {
    let engine = memory();
    let session = engine.session().unwrap();
    let table = person();
    insert(&*session, &table, &values(1, "a", None));
    insert(&*session, &table, &values(2, "a", None));
    let mut seen = 0;
    let other = engine.session().unwrap();
    session
        .query(&Source::Select(&Select::all(&table)), &mut |_| {
            seen += 1;
            let error = write(&*session, &table, Verb::Delete, &[Value::Int(1)]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Misuse);
            // Another session of this thread would wait for itself.
            let error = write(&*other, &table, Verb::Delete, &[Value::Int(1)]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Busy);
            Ok(seen < 1)
        })
        .unwrap();
    assert_eq!(seen, 1);
    // After a panic inside, both go on.
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        session.query(&Source::Select(&Select::all(&table)), &mut |_| panic!("on purpose"))
    }));
    assert!(panicked.is_err());
    assert_eq!(
        write(&*session, &table, Verb::Delete, &[Value::Int(1)]).unwrap(),
        Outcome::Changed(1)
    );
}

#[test]
fn writing_statement_can_return_rows() {
    let engine = memory();
    let session = engine.session().unwrap();
    let sql = "INSERT INTO person (name, version) VALUES (?, 1) RETURNING id, name";
    let rows = query(&*session, sql, &["a".into()]).unwrap();
    assert_eq!(rows, [[Value::Int(1), "a".into()]]);
    let source = Source::Sql { text: sql, parameters: &["b".into()] };
    let error =
        session.query(&source, &mut |_| Err(bobak_core::Error::new(ErrorKind::Engine, "x")));
    assert!(error.is_err());
    assert_eq!(one(&*session, "SELECT count(*) FROM person"), Value::Int(1));
}

/// As SQLite's own of everything else: of texts that are numbers, of floats, over windows, of nothing.
#[test]
fn sums_equal_those_of_sqlite_unless_it_overflows() {
    let engine = bobak_sqlite::Sqlite::open_memory().unwrap();
    let session = engine.session().unwrap();
    session.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, g, x)", &[]).unwrap();
    let most = i64::MAX;
    let rows = format!(
        "INSERT INTO t (g, x) VALUES (1, {most}), (1, 5), (1, -6), (2, '12'), (2, 'x'), (2, x'31'), \
         (3, 0.1), (3, 0.2), (3, {most}), (3, -{most}), (4, NULL), (5, 1e308), (5, 1e308), (5, -1e308), \
         (6, {most}), (6, 1), (7, {most}), (7, 1), (7, 0.0)"
    );
    session.execute(&rows, &[]).unwrap();
    let sum = |group: i64| {
        let found = query(&*session, "SELECT sum(x) FROM t WHERE g = ?", &[Value::Int(group)]);
        found.map(|mut rows| rows.remove(0).remove(0))
    };
    assert_eq!(sum(1).unwrap(), Value::Int(most - 1));
    assert_eq!(sum(2).unwrap(), Value::Float(13.0));
    assert_eq!(sum(3).unwrap(), Value::Float(0.1 + 0.2));
    assert_eq!((sum(4).unwrap(), sum(5).unwrap()), (Value::Null, Value::Float(f64::INFINITY)));
    assert_eq!(sum(6).unwrap_err().kind(), ErrorKind::OutOfRange);
    assert_eq!(sum(7).unwrap(), Value::Float(9.223_372_036_854_776e18));
    let frames = "SELECT sum(x) OVER (ORDER BY id ROWS 1 PRECEDING) FROM t WHERE g IN (4, 1, 3) \
                  AND id <> 2 ORDER BY id";
    let found = query(&*session, frames, &[]).unwrap();
    let found: Vec<_> = found.into_iter().map(|mut row| row.remove(0)).collect();
    assert_eq!(found[..2], [Value::Int(most), Value::Int(most - 6)]);
    assert_eq!(found.last(), Some(&Value::Float(-(most as f64))));
}
