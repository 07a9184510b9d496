//! Random programs: as the memory engine, and fast ways as the slow one.
//!
//! `BOBAK_SEED=7` runs one seed, `BOBAK_SEEDS=100` so many, `BOBAK_STEPS=2000` longer programs.

use crate::support::{row_by_row, stores, url};
use bobak_core::Result;
use bobak_memory::Memory;
use bobak_testkit::{Fixture, Harness, model};

pub fn run(first: u64, reference: &dyn Harness, subject: &dyn Harness) {
    if let Err(difference) = model::compare_seeds(first, (2, 200), reference, subject) {
        panic!("{difference}");
    }
}

pub fn memory() -> Result<Fixture> {
    Ok(Fixture::volatile(Memory::new()))
}

#[test]
fn postgres_behaves_like_the_memory_engine() {
    if let Some(url) = url() {
        run(1, &memory, &stores(&url, ""));
    }
}

#[test]
fn fast_batches_equal_row_by_row() {
    if let Some(url) = url() {
        run(101, &row_by_row(&url), &stores(&url, ""));
    }
}

#[test]
fn without_copy_and_prepared_statements_it_behaves_like_the_memory_engine() {
    if let Some(url) = url() {
        run(201, &memory, &stores(&url, "copy=off&prepared=off&isolation=read-committed"));
    }
}
