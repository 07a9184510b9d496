//! Verbs, keys, rules, batches, transactions, schema changes.

use super::*;
use bobak_core::{Assign, BulkChange, ErrorKind, GeneratedKey, TransactionControl};

fn kind(result: Result<impl std::fmt::Debug>) -> ErrorKind {
    result.unwrap_err().kind()
}

#[test]
fn each_verb_follows_the_contract() {
    let table = person();
    let memory = engine(&[&table]);
    let session = &*memory.session().unwrap();
    let given = |id| Outcome::Inserted(Some(GeneratedKey::Int(id)));
    let ann = a_person(None, "Ann", Some("a@x"), Some(30));
    assert_eq!(write(session, &table, Verb::Insert, &ann).unwrap(), given(1));
    let bob = a_person(Some(7), "Bob", None, None);
    assert_eq!(write(session, &table, Verb::Insert, &bob).unwrap(), Outcome::Inserted(None));
    let error = write(session, &table, Verb::Insert, &ann).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Duplicate);
    assert_eq!((error.table(), error.column()), (Some("person"), Some("email")));
    let error = write(session, &table, Verb::Insert, &bob).unwrap_err();
    assert_eq!((error.kind(), error.column()), (ErrorKind::Duplicate, Some("id")));
    let ignored = write(session, &table, Verb::InsertOrIgnore, &ann).unwrap();
    assert_eq!(ignored, Outcome::Ignored);
    let replaced = write(session, &table, Verb::InsertOrReplace, &ann).unwrap();
    assert_eq!(replaced, given(8));
    let ids: Vec<_> = all(session, &table).iter().map(|row| row[0].clone()).collect();
    assert_eq!(ids, [Value::Int(7), Value::Int(8)]);
    let mut row = a_person(Some(7), "Rob", Some("r@x"), Some(1));
    assert_eq!(write(session, &table, Verb::Update, &row).unwrap(), Outcome::Changed(1));
    assert_eq!(kind(write(session, &table, Verb::Update, &row)), ErrorKind::Conflict);
    row[4] = 2.into();
    assert_eq!(write(session, &table, Verb::Update, &row).unwrap(), Outcome::Changed(1));
    assert_eq!(write(session, &table, Verb::Upsert, &row).unwrap(), Outcome::Changed(1));
    row[0] = 9.into();
    assert_eq!(kind(write(session, &table, Verb::Update, &row)), ErrorKind::NotFound);
    assert_eq!(kind(write(session, &table, Verb::Upsert, &row)), ErrorKind::Duplicate);
    assert_eq!(all(session, &table)[0][4], Value::Int(4));
    let key = [Value::Int(7)];
    assert_eq!(write(session, &table, Verb::Delete, &key).unwrap(), Outcome::Changed(1));
    assert_eq!(write(session, &table, Verb::Delete, &key).unwrap(), Outcome::Changed(0));
    assert!(!session.get(&table, &key, &mut |_| Ok(())).unwrap());
    assert!(session.get(&table, &[8.into()], &mut |_| Ok(())).unwrap());
}

#[test]
fn rows_that_break_a_rule_are_rejected_without_a_trace() {
    let table = person();
    let memory = engine(&[&table]);
    let session = &*memory.session().unwrap();
    let good = a_person(Some(1), "A", Some("a"), Some(0));
    write(session, &table, Verb::Insert, &good).unwrap();
    let change = |position: usize, value: Value<'static>| {
        let mut values = a_person(Some(2), "B", Some("b"), Some(0));
        values[position] = value;
        values
    };
    for (values, expected, column) in [
        (change(1, Value::Null), ErrorKind::Constraint, Some("name")),
        (change(3, Value::Int(-1)), ErrorKind::Constraint, Some("age")),
        (change(3, "x".into()), ErrorKind::Mismatch, Some("age")),
        (change(2, "a".into()), ErrorKind::Duplicate, Some("email")),
        (vec![Value::Int(2)], ErrorKind::Mismatch, None),
    ] {
        for verb in [Verb::Insert, Verb::Upsert] {
            let error = write(session, &table, verb, &values).unwrap_err();
            assert_eq!((error.kind(), error.column()), (expected, column), "{error}");
            assert_eq!(error.table(), Some("person"));
        }
    }
    assert_eq!(all(session, &table), [good]);
    let last = a_person(Some(i64::MAX), "Z", None, None);
    write(session, &table, Verb::Insert, &last).unwrap();
    let none_left = write(session, &table, Verb::Insert, &a_person(None, "", None, None));
    assert_eq!(kind(none_left), ErrorKind::Full);
}

#[test]
fn a_batch_stops_and_rolls_back_or_continues() {
    let table = person();
    let memory = engine(&[&table]);
    let session = &*memory.session().unwrap();
    let row = |id: i64| a_person(Some(id), "x", None, None);
    let sent = batch(&table, Verb::Insert, &[row(1), row(2), row(1), row(3)]);
    let (outcomes, result) = run(session, &sent, OnError::Stop);
    let error = result.unwrap_err();
    assert_eq!((error.kind(), error.row(), outcomes.len()), (ErrorKind::Duplicate, Some(2), 2));
    assert!(all(session, &table).is_empty());
    let (outcomes, result) = run(session, &sent, OnError::Continue);
    result.unwrap();
    assert_eq!(outcomes[2].as_ref().unwrap_err().row(), Some(2));
    assert_eq!((outcomes.len(), all(session, &table).len()), (4, 3));
    session.control(TransactionControl::Begin).unwrap();
    write(session, &table, Verb::Insert, &row(9)).unwrap();
    assert!(
        run(session, &batch(&table, Verb::Insert, &[row(10), row(9)]), OnError::Stop).1.is_err()
    );
    session.control(TransactionControl::Commit).unwrap();
    assert_eq!(all(session, &table).len(), 4);
    let unknown = batch(&other("nobody"), Verb::Insert, &[row(1)]);
    assert_eq!(kind(run(session, &unknown, OnError::Stop).1), ErrorKind::Schema);
    let (outcomes, result) = run(session, &unknown, OnError::Continue);
    assert_eq!((outcomes.len(), result.is_ok()), (1, true));
}

fn other(name: &'static str) -> Arc<TableSchema> {
    TableSchema::builder(name)
        .column(ColumnSchema::new("id", Type::I64))
        .key(["id"])
        .build()
        .unwrap()
        .into()
}

#[test]
fn transactions_and_savepoints_roll_back() {
    let table = person();
    let memory = engine(&[&table]);
    let (one, two) = (memory.session().unwrap(), memory.session().unwrap());
    let (one, two) = (&*one, &*two);
    let insert =
        |session, id| write(session, &table, Verb::Insert, &a_person(Some(id), "x", None, None));
    let count = |session| all(session, &table).len();
    for step in [
        TransactionControl::Commit,
        TransactionControl::Rollback,
        TransactionControl::Savepoint("s"),
        TransactionControl::Release("s"),
    ] {
        assert_eq!(kind(one.control(step)), ErrorKind::Misuse);
    }
    one.control(TransactionControl::Begin).unwrap();
    assert_eq!(kind(one.control(TransactionControl::Begin)), ErrorKind::Misuse);
    insert(one, 1).unwrap();
    assert_eq!((count(one), count(two)), (1, 0));
    assert_eq!(kind(insert(two, 2)), ErrorKind::Busy);
    assert_eq!(kind(two.control(TransactionControl::Begin)), ErrorKind::Busy);
    one.control(TransactionControl::Savepoint("a")).unwrap();
    insert(one, 2).unwrap();
    one.control(TransactionControl::Savepoint("a")).unwrap();
    insert(one, 3).unwrap();
    one.control(TransactionControl::RollbackTo("a")).unwrap();
    assert_eq!(count(one), 2);
    insert(one, 3).unwrap();
    one.control(TransactionControl::Release("a")).unwrap();
    assert_eq!(count(one), 3);
    one.control(TransactionControl::RollbackTo("a")).unwrap();
    assert_eq!(count(one), 1);
    assert_eq!(kind(one.control(TransactionControl::RollbackTo("b"))), ErrorKind::Misuse);
    one.control(TransactionControl::Commit).unwrap();
    assert_eq!(count(two), 1);
    two.control(TransactionControl::Begin).unwrap();
    insert(two, 5).unwrap();
    two.control(TransactionControl::Rollback).unwrap();
    insert(one, 5).unwrap();
    {
        let three = memory.session().unwrap();
        three.control(TransactionControl::Begin).unwrap();
        let six = a_person(Some(6), "x", None, None);
        write(&*three, &table, Verb::Insert, &six).unwrap();
    }
    insert(one, 6).unwrap();
    assert_eq!(count(two), 3);
}

#[test]
fn calls_inside_a_row_callback_are_misuse_and_do_not_disturb_cursors() {
    let table = person();
    let memory = engine(&[&table]);
    let session = &*memory.session().unwrap();
    let people: Vec<_> = (1..=5_000).map(|id| a_person(Some(id), "somebody", None, None)).collect();
    run(session, &batch(&table, Verb::Insert, &people), OnError::Stop).1.unwrap();
    let select = Select::all(&table);
    let source = Source::Select(&select);
    session
        .query(&source, &mut |_| {
            assert_eq!(kind(session.control(TransactionControl::Begin)), ErrorKind::Misuse);
            assert_eq!(kind(write(session, &table, Verb::Delete, &[1.into()])), ErrorKind::Misuse);
            Ok(false)
        })
        .unwrap();
    let mut cursor = session.open(&source).unwrap();
    assert_eq!(cursor.columns.len(), 5);
    let mut part = bobak_core::RowBuffer::default();
    let (mut seen, mut parts) = (0, 0);
    loop {
        session.fetch(&mut cursor, &mut part).unwrap();
        if part.rows() == 0 {
            break;
        }
        parts += 1;
        while let Some(row) = part.next_row().unwrap() {
            seen += 1;
            assert_eq!(row.value(0), bobak_core::ValueRef::Int(seen));
            assert_eq!(row.value(4), bobak_core::ValueRef::Int(1));
            // The cursor reads the state of its opening, without the changes of the loop.
            let assign = [Assign::Set { column: 1, value: "changed".into() }];
            let condition = bobak_core::Condition::Compare {
                column: 0,
                comparison: bobak_core::Comparison::Equal,
                value: seen.into(),
            };
            let (condition, assign) = (Some(&condition), Some(&assign[..]));
            let changed = session.change(&BulkChange { table: &table, condition, assign });
            assert_eq!(changed.unwrap(), 1);
        }
    }
    assert!(seen == 5_000 && parts > 3);
    assert!(all(session, &table).iter().all(|row| row[4] == Value::Int(2)));
    session.close(&mut cursor);
    assert_eq!(kind(session.fetch(&mut cursor, &mut part)), ErrorKind::Misuse);
    let sql = Source::Sql { text: "select 1", parameters: &[] };
    assert_eq!(kind(session.open(&sql)), ErrorKind::Unsupported);
    assert_eq!(kind(session.query(&sql, &mut |_| Ok(true))), ErrorKind::Unsupported);
    assert_eq!(kind(session.execute("delete from person", &[])), ErrorKind::Unsupported);
}

#[test]
fn changes_are_atomic_and_raise_versions() {
    let table = person();
    let memory = engine(&[&table]);
    let session = &*memory.session().unwrap();
    let people: Vec<_> =
        (1..=200).map(|id| a_person(Some(id), "x", None, Some(id as i32))).collect();
    run(session, &batch(&table, Verb::Insert, &people), OnError::Stop).1.unwrap();
    let before = all(session, &table);
    let change = |assign: Option<&[Assign]>, condition: Option<&Condition>| {
        session.change(&BulkChange { table: &table, condition, assign })
    };
    let same = [Assign::Set { column: 2, value: "same@x".into() }];
    assert_eq!(kind(change(Some(&same), None)), ErrorKind::Duplicate);
    let add = |number: i64| [Assign::Add { column: 3, value: number.into() }];
    assert_eq!(kind(change(Some(&add(i64::from(i32::MAX))), None)), ErrorKind::OutOfRange);
    assert_eq!(kind(change(Some(&add(-150)), None)), ErrorKind::Constraint);
    assert_eq!(all(session, &table), before);
    assert_eq!(change(Some(&add(1)), None).unwrap(), 200);
    let after = all(session, &table);
    assert!(after.iter().all(|row| row[4] == Value::Int(2)));
    assert_eq!(after[199][3], Value::Int(201));
    let old = Condition::Compare {
        column: 3,
        comparison: bobak_core::Comparison::Greater,
        value: 101.into(),
    };
    assert_eq!(change(None, Some(&old)).unwrap(), 100);
    assert_eq!(change(None, Some(&old)).unwrap(), 0);
    assert_eq!(all(session, &table).len(), 100);
    // Keys that are shifted over each other conflict during the update, as in SQLite.
    let shift = [Assign::Add { column: 0, value: 1.into() }];
    assert_eq!(kind(change(Some(&shift), None)), ErrorKind::Duplicate);
    let shift = [Assign::Add { column: 0, value: (-1).into() }];
    assert_eq!(change(Some(&shift), None).unwrap(), 100);
    assert_eq!(all(session, &table)[0][0], Value::Int(0));
}

#[test]
fn schema_changes_lose_no_data_or_fail() {
    let old = person();
    let memory = engine(&[&old]);
    let session = &*memory.session().unwrap();
    for id in 1..=3 {
        write(session, &old, Verb::Insert, &a_person(Some(id), "same", None, None)).unwrap();
    }
    assert_eq!(kind(create(&memory, &[&other("x"), &old])), ErrorKind::Schema);
    assert_eq!(memory.tables().unwrap().len(), 1);
    let grown = |unique: bool| -> Arc<TableSchema> {
        let mut builder = TableSchema::builder("Person");
        for column in old.columns() {
            builder = builder.column(column.clone());
        }
        builder = builder
            .column(ColumnSchema::new("town", Type::Text).default("Omsk"))
            .column(ColumnSchema::new("born", Type::Date).nullable(true))
            .column(ColumnSchema::new("debt", Type::Currency))
            .key(["id"]);
        builder = if unique {
            builder.unique_index("p_name", ["name"])
        } else {
            builder.index("p_name", ["name"])
        };
        builder.build().unwrap().into()
    };
    let changes = |table: &Arc<TableSchema>| -> Vec<SchemaChange> {
        let index = table.indexes().iter().position(|i| i.name == "p_name").unwrap();
        let column = |column| SchemaChange::AddColumn { table: Arc::clone(table), column };
        let index = SchemaChange::AddIndex { table: Arc::clone(table), index };
        vec![column(5), column(6), column(7), index]
    };
    let (unique, plain) = (grown(true), grown(false));
    assert_eq!(kind(memory.alter(&changes(&unique))), ErrorKind::Duplicate);
    assert_eq!(all(session, &old).len(), 3);
    memory.alter(&changes(&plain)).unwrap();
    assert_eq!(all(session, &plain)[2][5..], [Value::from("Omsk"), Value::Null, Value::Int(0)]);
    assert_eq!(write(session, &old, Verb::Delete, &[1.into()]).unwrap(), Outcome::Changed(1));
    assert_eq!(kind(memory.alter(&changes(&plain))), ErrorKind::Schema);
    // The index that only the old schema had is kept.
    let tables = memory.tables().unwrap();
    assert!(tables[0].indexes().iter().any(|index| index.name == "person_age_name"));
    let bad = TableSchema::builder("bad")
        .column(ColumnSchema::new("id", Type::I64).check("id in (select 1)"))
        .key(["id"])
        .build();
    let error = create(&memory, &[&Arc::new(bad.unwrap())]).unwrap_err();
    assert_eq!((error.kind(), error.table()), (ErrorKind::Unsupported, Some("bad")));
}
