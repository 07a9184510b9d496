//! The ten nearest of 100,000 vectors of 384 numbers, in memory and in SQLite, and a plain loop over an array of floats next
//! to them. The first query of a table in SQLite reads all rows, and the second one reads the vectors into memory.
//!
//! `cargo run --release -p bobak-bench --example nearest`

use bobak::nearest::{Metric, distance};
use bobak::prelude::*;
use std::hint::black_box;
use std::time::{Duration, Instant};

const NUMBERS: usize = 384;
const ROWS: usize = 100_000;
const ROUNDS: usize = 15;

#[derive(Record)]
struct Document {
    id: i64,
    stars: i64,
    embedding: Vector<NUMBERS>,
}

/// Numbers between -1 and 1, from a generator of Marsaglia's.
fn numbers(state: &mut u64) -> Vec<f32> {
    let mut number = || {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        (*state >> 40) as f32 / (1_u64 << 23) as f32 - 1.0
    };
    (0..NUMBERS).map(|_| number()).collect()
}

/// The nearest ten by the plain loop.
fn plain(all: &[f32], to: &[f32]) -> Vec<(f32, usize)> {
    let mut nearest: Vec<(f32, usize)> = Vec::new();
    for (row, vector) in all.chunks_exact(NUMBERS).enumerate() {
        let mut parts = [0.0_f32; 16];
        for (a, b) in vector.as_chunks::<16>().0.iter().zip(to.as_chunks::<16>().0) {
            for part in 0..16 {
                parts[part] += (a[part] - b[part]) * (a[part] - b[part]);
            }
        }
        let squares = parts.iter().sum::<f32>();
        if nearest.len() < 10 || squares < nearest[9].0 {
            let place = nearest.partition_point(|(other, _)| *other <= squares);
            nearest.insert(place, (squares, row));
            nearest.truncate(10);
        }
    }
    nearest
}

/// The median times of the loop and of a query, which take turns.
fn medians(
    run_loop: impl Fn(),
    query: impl Fn() -> bobak::Result<()>,
) -> bobak::Result<(Duration, Duration)> {
    let mut times = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let start = Instant::now();
        run_loop();
        times.0.push(start.elapsed());
        times.1.push(time(&query)?);
    }
    let median = |mut times: Vec<Duration>| {
        times.sort();
        times[ROUNDS / 2]
    };
    Ok((median(times.0), median(times.1)))
}

/// The time of a query.
fn time(query: impl Fn() -> bobak::Result<()>) -> bobak::Result<Duration> {
    let start = Instant::now();
    query().map(|()| start.elapsed())
}

fn main() -> bobak::Result<()> {
    let mut state = 88_172_645_463_325_252;
    let all: Vec<f32> = (0..ROWS).flat_map(|_| numbers(&mut state)).collect();
    let wanted: Vector<NUMBERS> = numbers(&mut state).try_into()?;
    let first = plain(&all, &wanted);
    let file = std::env::temp_dir().join(format!("bobak-nearest-{}.db", std::process::id()));
    for url in
        ["memory:".to_owned(), "sqlite::memory:".to_owned(), format!("sqlite:{}", file.display())]
    {
        let db = Db::builder().record::<Document>().open(&url)?;
        db.create_missing_tables()?;
        let documents = db.table::<Document>()?;
        for (part, vectors) in all.chunks(NUMBERS * 1_000).enumerate() {
            let mut batch = db.batch(BatchOptions::new());
            for (row, vector) in vectors.chunks_exact(NUMBERS).enumerate() {
                let (id, embedding) = ((part * 1_000 + row + 1) as i64, vector.try_into()?);
                batch.insert(&Document { id, stars: id % 5, embedding })?;
            }
            batch.finish()?;
        }
        for metric in Metric::ALL {
            let distance = |to| match metric {
                Metric::Cosine => Document::EMBEDDING.cosine(to),
                Metric::Euclidean => Document::EMBEDDING.euclidean(to),
                Metric::Dot => Document::EMBEDDING.dot(to),
            };
            let query = Query::all().nearest(distance(&wanted), 10);
            let run = || documents.nearest(&query).map(drop);
            if *metric == Metric::ALL[0] {
                println!("{url} first: {:?}, second: {:?}", time(run)?, time(run)?);
            }
            let (loop_time, time) = medians(|| drop(black_box(plain(&all, &wanted))), run)?;
            let ratio = loop_time.as_secs_f64() / time.as_secs_f64();
            let name = metric.name();
            println!("{url} {name}: {time:?}, {ratio:.2} of the loop, {loop_time:?}");
            if *metric == Metric::Euclidean {
                let found = documents.nearest(&query)?;
                let ids: Vec<i64> = found.iter().map(|found| found.record.id - 1).collect();
                assert_eq!(ids, first.iter().map(|(_, row)| *row as i64).collect::<Vec<_>>());
            }
        }
    }
    let _ = std::fs::remove_file(file);
    println!("{:?}", distance(Metric::Cosine, &wanted, &wanted));
    Ok(())
}
