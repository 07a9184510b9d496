//! Random programs: the server against the memory engine, and its fast paths against slow ones.
//!
//! `BOBAK_SEED=7` runs one seed, `BOBAK_SEEDS=1000` so many, `BOBAK_STEPS=2000` longer programs.

use crate::stores;
use bobak_testkit::{Fixture, Harness, model};

fn run(first: u64, reference: &dyn Harness, subject: &dyn Harness) {
    if !stores::has_server() {
        return;
    }
    if let Err(difference) = model::compare_seeds(first, (4, 150), reference, subject) {
        panic!("{difference}");
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
