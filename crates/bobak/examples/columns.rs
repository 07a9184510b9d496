//! Reads a table of SQLite as records and as Arrow record batches, and measures both.
//!
//! `cargo run --release -p bobak --features arrow --example columns -- 1000000`. With the feature `remote`, a second argument is
//! the URL of another database without tables.

use bobak::arrow::BATCH_ROWS;
use bobak::prelude::*;
use std::time::{Duration, Instant};

#[derive(Record)]
struct Person {
    id: i64,
    #[record(max = 40)]
    first_name: String,
    #[record(max = 40)]
    last_name: String,
    amount: Currency,
    score: f64,
    visits: Option<i32>,
    birth_date: Date,
    last_change: Timestamp,
}

/// Numbers only.
#[derive(Record)]
struct Measurement {
    id: i64,
    sensor: i32,
    value: f64,
    at: Timestamp,
}

fn main() -> Result<(), Error> {
    let rows = std::env::args().nth(1).and_then(|rows| rows.parse().ok()).unwrap_or(20_000);
    let folder = std::env::temp_dir().join(format!("bobak-columns-{}", std::process::id()));
    std::fs::create_dir(&folder).map_err(|error| Error::io("create a folder", error))?;
    let file = || format!("sqlite:{}", folder.join("columns.db").display());
    let measured = measure(&std::env::args().nth(2).unwrap_or_else(file), rows);
    std::fs::remove_dir_all(&folder).map_err(|error| Error::io("remove the folder", error))?;
    measured
}

fn measure(url: &str, rows: i64) -> Result<(), Error> {
    let db = Db::builder().record::<Person>().record::<Measurement>().open(url)?;
    db.create_missing_tables()?;
    fill(&db, rows)?;
    compare::<Person>(&db, "people")?;
    compare::<Measurement>(&db, "measurements")
}

fn fill(db: &Db, rows: i64) -> Result<(), Error> {
    let mut batch = db.batch(BatchOptions::new());
    for number in 1..=rows {
        let at = Timestamp::from_microsecond(number * 1_000_003).unwrap_or_default();
        batch.insert(&Person {
            id: number,
            first_name: format!("First {}", number % 1_000),
            last_name: format!("Last {}", number % 77_777),
            amount: Currency::from_scaled(number * 37),
            score: number as f64 / 7.0,
            visits: (number % 5 > 0).then_some(3),
            birth_date: Date::constant(1970, 2, 3),
            last_change: at,
        })?;
    }
    for number in 1..=rows {
        let at = Timestamp::from_microsecond(number * 1_000_003).unwrap_or_default();
        let value = number as f64 / 7.0;
        batch.insert(&Measurement { id: number, sensor: 7, value, at })?;
    }
    batch.finish().map(|_| ())
}

/// Reads all columns of a table in each way, and prints the best of three times.
fn compare<T: Record>(db: &Db, name: &str) -> Result<(), Error> {
    let table = db.table::<T>()?;
    let columns = db.dynamic(T::schema().name())?;
    let as_list = best_of_three(|| Ok(table.list(Query::all())?.len()))?;
    println!("{name}: list, as records     {as_list:?}");
    let others = [
        ("list, as dynamic rows", best_of_three(|| Ok(columns.list(Query::all())?.len()))?),
        ("iter, as records", best_of_three(|| Ok(table.iter(Query::all())?.count()))?),
        ("for_each_record_batch", best_of_three(|| arrow(&table))?),
        ("in all threads", best_of_three(|| in_threads(&table))?),
        ("record_batches", best_of_three(|| iterate(&table))?),
        ("for_each_row, nothing", best_of_three(|| nothing(&table))?),
    ];
    for (way, time) in others {
        let times = as_list.as_secs_f64() / time.as_secs_f64();
        println!("{name}: {way:21} {time:?}, {times:.2} × the list of records");
    }
    Ok(())
}

fn arrow<T: Record>(table: &Table<'_, T>) -> Result<usize, Error> {
    let mut batches = Vec::new();
    table.for_each_record_batch(Query::all(), BATCH_ROWS, |batch| {
        batches.push(batch);
        Ok(true)
    })?;
    Ok(batches.iter().map(|batch| batch.num_rows()).sum())
}

fn in_threads<T: Record>(table: &Table<'_, T>) -> Result<usize, Error> {
    let mut batches = Vec::new();
    table.for_each_record_batch_in_threads(Query::all(), BATCH_ROWS, 0, |batch| {
        batches.push(batch);
        Ok(true)
    })?;
    Ok(batches.iter().map(|batch| batch.num_rows()).sum())
}

fn iterate<T: Record>(table: &Table<'_, T>) -> Result<usize, Error> {
    let batches: Vec<_> =
        table.record_batches(Query::all(), BATCH_ROWS)?.collect::<Result<_, _>>()?;
    Ok(batches.iter().map(|batch| batch.num_rows()).sum())
}

fn nothing<T: Record>(table: &Table<'_, T>) -> Result<usize, Error> {
    let mut rows = 0;
    table.for_each_row(Query::all(), |_| {
        rows += 1;
        Ok(true)
    })?;
    Ok(rows)
}

fn best_of_three(run: impl Fn() -> Result<usize, Error>) -> Result<Duration, Error> {
    let mut best = Duration::MAX;
    for _ in 0..3 {
        let start = Instant::now();
        let rows = run()?;
        best = best.min(start.elapsed());
        assert!(rows > 0, "the table has rows");
    }
    Ok(best)
}
