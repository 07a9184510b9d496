//! Rows per second on the server that `BOBAK_TEST_POSTGRES` names: a batch in a transaction, all rows
//! straight from the engine, and rows by their keys. For a rough look; `bobak bench` measures.

use bobak_core::{
    ColumnSchema, Currency, DateTime, Engine, FieldSet, OnError, Result, SchemaChange, Select,
    Source, TableSchema, TransactionControl, Value, Verb, Write, WriteBatch,
};
use bobak_postgres::Postgres;
use std::sync::Arc;
use std::time::Instant;

const ROWS: i64 = 100_000;

fn main() -> Result<()> {
    let Ok(url) = std::env::var("BOBAK_TEST_POSTGRES") else {
        println!("BOBAK_TEST_POSTGRES names no server");
        return Ok(());
    };
    let engine = Postgres::open(&url)?;
    let table = Arc::new(
        TableSchema::builder("bobak_rates")
            .column(ColumnSchema::of::<i64>("id"))
            .column(ColumnSchema::of::<String>("first_name").max_chars(40))
            .column(ColumnSchema::of::<String>("last_name").max_chars(40))
            .column(ColumnSchema::of::<Currency>("amount"))
            .column(ColumnSchema::of::<DateTime>("birth_date"))
            .column(ColumnSchema::of::<i64>("last_change"))
            .column(ColumnSchema::of::<i64>("created_at"))
            .key(["id"])
            .build()?,
    );
    let session = engine.session()?;
    for _ in 0..5 {
        session.execute("DROP TABLE IF EXISTS bobak_rates", &[])?;
        session.alter(&[SchemaChange::CreateTable(Arc::clone(&table))])?;
        let begun = Instant::now();
        session.control(TransactionControl::Begin)?;
        let mut batch = WriteBatch::new();
        for n in 0..ROWS {
            let (first, last) = (format!("Namé {n}"), n.to_string());
            let values = [
                Value::Null,
                first.as_str().into(),
                last.as_str().into(),
                Value::Int(n * 100),
                Value::Int(-2_208_988_800_000_000 + n * 86_400_000_000),
                Value::Int(n),
                Value::Int(n),
            ];
            let (verb, fields) = (Verb::Insert, FieldSet::EMPTY);
            batch.push(&Write { table: &table, verb, fields, values: &values })?;
            if batch.rows() == 10_000 {
                session.batch(&batch, OnError::Stop, &mut |_| ())?;
                batch.clear();
            }
        }
        session.control(TransactionControl::Commit)?;
        let inserted = begun.elapsed();
        let begun = Instant::now();
        let mut bytes = 0;
        session.query(&Source::Select(&Select::all(&table)), &mut |row| {
            for place in 0..row.len() {
                bytes += usize::from(!row.get(place).is_null());
            }
            Ok(true)
        })?;
        let read = begun.elapsed();
        let begun = Instant::now();
        for key in 1..=10_000 {
            session.get(&table, &[Value::Int(key)], &mut |_| Ok(()))?;
        }
        let got = begun.elapsed();
        let rate = |rows: i64, time: std::time::Duration| rows as f64 / time.as_secs_f64();
        println!(
            "batch trans {:.0}/s, all {:.0}/s, by one {:.0}/s ({bytes} values)",
            rate(ROWS, inserted),
            rate(ROWS, read),
            rate(10_000, got)
        );
    }
    session.execute("DROP TABLE bobak_rates", &[]).map(drop)
}
