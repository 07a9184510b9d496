//! Random programs: the server against the memory engine, and its fast paths against slow ones.
//!
//! `BOBAK_SEED=7` runs one seed, `BOBAK_SEEDS=1000` so many, `BOBAK_STEPS=2000` longer programs.

use crate::stores;
use bobak_testkit::{Fixture, Harness, model};

fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

fn run(first: u64, reference: &dyn Harness, subject: &dyn Harness) {
    if !stores::has_server() {
        return;
    }
    let steps = setting("BOBAK_STEPS").unwrap_or(150) as usize;
    let seeds = match setting("BOBAK_SEED") {
        Some(seed) => seed..=seed,
        None => first..=first + setting("BOBAK_SEEDS").unwrap_or(4) - 1,
    };
    for seed in seeds {
        if let Err(difference) = model::compare(seed, steps, reference, subject) {
            panic!("{difference}");
        }
    }
}

#[test]
fn mssql_behaves_like_the_memory_engine() {
    let memory = || Ok(Fixture::volatile(bobak_memory::Memory::new()));
    run(1, &(memory as fn() -> bobak_core::Result<Fixture>), &stores::fresh);
}

#[test]
fn fast_batches_equal_row_by_row() {
    run(101, &stores::row_by_row, &stores::fresh);
}
