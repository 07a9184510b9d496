//! Readers and writers on several threads.

use super::*;
use bobak_core::{ErrorKind, Expr, TransactionControl};
use std::sync::atomic::{AtomicBool, Ordering};

fn account() -> Arc<TableSchema> {
    TableSchema::builder("account")
        .column(ColumnSchema::new("id", Type::I64))
        .column(ColumnSchema::new("amount", Type::I64))
        .key(["id"])
        .build()
        .unwrap()
        .into()
}

#[test]
fn readers_see_only_committed_states() {
    let table = account();
    let memory = engine(&[&table]);
    let rows_of = |amount: i64| -> Vec<Values> {
        (0..500i64).map(|id| vec![id.into(), amount.into()]).collect()
    };
    let setup = memory.session().unwrap();
    run(&*setup, &batch(&table, Verb::Insert, &rows_of(0)), OnError::Stop).1.unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let session = memory.session().unwrap();
                let columns = vec![Expr::Count, Expr::Min(1), Expr::Max(1)];
                let totals = Query::<()>::all().to_select(&table, columns).unwrap();
                let mut latest = Value::Int(0);
                while !done.load(Ordering::Relaxed) {
                    let found = rows(&*session, &totals).remove(0);
                    assert_eq!((&found[0], &found[1]), (&Value::Int(500), &found[2]));
                    let Value::Int(amount) = found[1] else { panic!("no amount") };
                    assert!(Value::Int(amount) == latest || latest != found[1]);
                    latest = Value::Int(amount);
                }
            });
        }
        let session = memory.session().unwrap();
        for round in 1..60i64 {
            session.control(TransactionControl::Begin).unwrap();
            for row in rows_of(round) {
                write(&*session, &table, Verb::Upsert, &row).unwrap();
            }
            let end = if round % 5 == 0 {
                TransactionControl::Rollback
            } else {
                TransactionControl::Commit
            };
            session.control(end).unwrap();
            run(&*session, &batch(&table, Verb::Upsert, &rows_of(-round)), OnError::Stop)
                .1
                .unwrap();
        }
        done.store(true, Ordering::Relaxed);
    });
}

#[test]
fn writers_wait_for_each_other_and_lose_nothing() {
    let table = account();
    let memory = Memory::new();
    create(&memory, &[&table]).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..4i64 {
            let (memory, table) = (&memory, &table);
            scope.spawn(move || {
                let session = &*memory.session().unwrap();
                for round in 0..250i64 {
                    let in_transaction = round % 2 == 0;
                    if in_transaction {
                        session.control(TransactionControl::Begin).unwrap();
                    }
                    let row = [Value::Null, thread.into()];
                    write(session, table, Verb::Insert, &row).unwrap();
                    if in_transaction {
                        session.control(TransactionControl::Commit).unwrap();
                    }
                }
            });
        }
    });
    let stored = all(&*memory.session().unwrap(), &table);
    let keys: Vec<_> = stored.iter().map(|row| row[0].clone()).collect();
    assert_eq!(keys, (1..=1000).map(Value::Int).collect::<Vec<_>>());
}

#[test]
fn a_writer_fails_after_the_busy_timeout() {
    let table = account();
    let memory = engine(&[&table]);
    let holder = memory.session().unwrap();
    holder.control(TransactionControl::Begin).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let session = &*memory.session().unwrap();
            let row = [Value::Null, 1.into()];
            let error = write(session, &table, Verb::Insert, &row).unwrap_err();
            assert!(error.kind() == ErrorKind::Busy && error.is_retryable());
            assert_eq!(
                session.control(TransactionControl::Begin).unwrap_err().kind(),
                ErrorKind::Busy
            );
            assert!(all(session, &table).is_empty());
        });
    });
    assert_eq!(memory.alter(&[]).unwrap_err().kind(), ErrorKind::Busy);
    drop(holder);
    memory.alter(&[]).unwrap();
}
