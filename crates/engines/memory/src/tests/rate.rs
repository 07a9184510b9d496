//! Measures speed: `cargo test --release -p bobak-memory rate -- --ignored --nocapture`.

use super::*;
use bobak_core::{TransactionControl, Type};
use std::time::Instant;

fn record() -> Arc<TableSchema> {
    TableSchema::builder("sample")
        .column(ColumnSchema::new("id", Type::I64))
        .column(ColumnSchema::new("first_name", Type::Text).max_chars(40))
        .column(ColumnSchema::new("last_name", Type::Text).max_chars(40))
        .column(ColumnSchema::new("amount", Type::Currency))
        .column(ColumnSchema::new("birth_date", Type::DateTime))
        .column(ColumnSchema::new("last_change", Type::Timestamp))
        .column(ColumnSchema::new("created_at", Type::Timestamp))
        .key(["id"])
        .build()
        .unwrap()
        .into()
}

fn timed(name: &str, rows: u64, work: impl FnOnce()) {
    let start = Instant::now();
    work();
    let rate = rows as f64 / start.elapsed().as_secs_f64() / 1e6;
    println!("{name:>24} {rate:8.2} M rows/s");
}

fn texts(rows: u64) -> Vec<(String, String)> {
    (0..rows).map(|i| (format!("Namé {i}"), i.to_string())).collect()
}

fn sample<'a>(i: usize, (first, last): &'a (String, String)) -> [Value<'a>; 7] {
    let i = i as i64;
    let (first, last) = (first.as_str().into(), last.as_str().into());
    [Value::Null, first, last, (i * 100).into(), i.into(), i.into(), i.into()]
}

#[test]
#[ignore = "measures; run it in release"]
fn rate() {
    let rows = std::env::var("ROWS").ok().and_then(|n| n.parse().ok()).unwrap_or(100_000u64);
    let (table, texts) = (record(), texts(rows));
    let fields = FieldSet::EMPTY;
    for transaction in [false, true, false, true, false] {
        let memory = engine(&[&table]);
        let session = &*memory.session().unwrap();
        if transaction {
            session.control(TransactionControl::Begin).unwrap();
        }
        timed(if transaction { "Trans" } else { "Direct" }, rows, || {
            for (i, text) in texts.iter().enumerate() {
                let values = &sample(i, text)[..];
                session
                    .write(&Write { table: &table, verb: Verb::Insert, fields, values })
                    .unwrap();
            }
            if transaction {
                session.control(TransactionControl::Commit).unwrap();
            }
        });
        timed("get", rows, || {
            for key in 1..=rows as i64 {
                let found = session.get(&table, &[key.into()], &mut |row| {
                    assert!(row.get(0) == bobak_core::ValueRef::Int(key));
                    Ok(())
                });
                assert!(found.unwrap());
            }
        });
    }
    small(&table, &texts);
    for part in [10_000, rows, 10_000, rows] {
        let memory = engine(&[&table]);
        let session = &*memory.session().unwrap();
        let mut batch = WriteBatch::new();
        timed(&format!("Batch of {part}"), rows, || {
            for (i, text) in texts.iter().enumerate() {
                let values = &sample(i, text)[..];
                batch.push(&Write { table: &table, verb: Verb::Insert, fields, values }).unwrap();
                if batch.rows() >= part {
                    session.batch(&batch, OnError::Stop, &mut |o| assert!(o.is_ok())).unwrap();
                    batch.clear();
                }
            }
            session.batch(&batch, OnError::Stop, &mut |o| assert!(o.is_ok())).unwrap();
        });
        let select = Select::all(&table);
        let mut sum = 0;
        timed("scan, all columns", rows, || {
            session
                .query(&Source::Select(&select), &mut |row| {
                    for column in 0..row.len() {
                        match row.get(column) {
                            bobak_core::ValueRef::Int(i) => sum += i,
                            bobak_core::ValueRef::Text(text) => sum += text.len() as i64,
                            _ => {}
                        }
                    }
                    Ok(true)
                })
                .unwrap();
        });
        timed("scan", rows, || {
            session.query(&Source::Select(&select), &mut |row| Ok(!row.is_empty())).unwrap();
        });
        assert!(sum > 0);
    }
}

/// The cost of one row in a table that has many rows already.
fn small(table: &Arc<TableSchema>, texts: &[(String, String)]) {
    let memory = engine(&[table]);
    let session = &*memory.session().unwrap();
    let fields = FieldSet::EMPTY;
    let mut batch = WriteBatch::new();
    for (i, text) in texts.iter().enumerate() {
        let values = &sample(i, text)[..];
        batch.push(&Write { table, verb: Verb::Insert, fields, values }).unwrap();
    }
    session.batch(&batch, OnError::Stop, &mut |o| assert!(o.is_ok())).unwrap();
    let count = texts.len().min(2_000);
    let text = &texts[0];
    timed("transactions of one", count as u64, || {
        for i in 0..count {
            session.control(TransactionControl::Begin).unwrap();
            let values = &sample(i, text)[..];
            session.write(&Write { table, verb: Verb::Insert, fields, values }).unwrap();
            session.control(TransactionControl::Commit).unwrap();
        }
    });
    timed("batches of one", count as u64, || {
        for i in 0..count {
            batch.clear();
            let values = &sample(i, text)[..];
            batch.push(&Write { table, verb: Verb::Insert, fields, values }).unwrap();
            session.batch(&batch, OnError::Stop, &mut |o| assert!(o.is_ok())).unwrap();
        }
    });
    timed("changes of one", count as u64, || {
        for i in 1..=count as i64 {
            let (column, comparison) = (0, bobak_core::Comparison::Equal);
            let condition = Condition::Compare { column, comparison, value: i.into() };
            let assign = [bobak_core::Assign::Add { column: 3, value: 1.into() }];
            let (condition, assign) = (Some(&condition), Some(&assign[..]));
            let change = bobak_core::BulkChange { table, condition, assign };
            assert_eq!(session.change(&change).unwrap(), 1);
        }
    });
}
