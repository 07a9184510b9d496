//! Batches and pipelines: many writes, fast and durable, with a result for each.
//!
//! `cargo run -p bobak --example batches`

use bobak::batch::{OnConflict, OnError};
use bobak::pipeline::PipelineOptions;
use bobak::prelude::*;

#[derive(Record, Debug)]
struct Reading {
    id: i64,
    #[record(unique)]
    sensor: String,
    celsius: f64,
}

fn reading(number: u32) -> Reading {
    Reading { id: 0, sensor: format!("s{number}"), celsius: 20.5 }
}

fn main() -> bobak::Result<()> {
    let db = Db::builder().record::<Reading>().open("sqlite::memory:")?;
    db.create_missing_tables()?;

    // 10,000 rows in one transaction.
    let mut batch = db.batch(BatchOptions::new());
    for number in 0..10_000 {
        batch.insert(&reading(number))?;
    }
    let report = batch.finish()?;
    assert_eq!((report.inserted, report.generated_key::<i64>(9_999)), (10_000, Some(10_000)));

    // Rows that exist are skipped, and errors do not stop the others.
    let options = BatchOptions::new().on_conflict(OnConflict::Ignore).on_error(OnError::Continue);
    let mut batch = db.batch(options);
    for number in 9_999..10_002 {
        batch.insert(&reading(number))?;
    }
    let report = batch.finish()?;
    println!("{} inserted, {} skipped, {} failed", report.inserted, report.ignored, report.failed);

    // A pipeline: single writes that share a sync, and whose results are fetched later.
    let pipeline = db.pipeline(PipelineOptions::new());
    let tickets: Vec<_> = (20_000..20_100)
        .map(|number| pipeline.insert(&reading(number)))
        .collect::<Result<_, _>>()?;
    for ticket in tickets {
        ticket.wait()?;
    }
    assert_eq!(db.table::<Reading>()?.count(Query::all())?, 10_102);
    Ok(())
}
