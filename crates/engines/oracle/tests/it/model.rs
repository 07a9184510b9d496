//! Random programs: the engine against the memory engine, and its fast paths against slow ones.
//!
//! `BOBAK_SEED=7` runs one seed, `BOBAK_SEEDS=1000` so many, `BOBAK_STEPS=2000` longer programs.

use crate::stores::{h2, has_server, oracle, row_by_row};
use bobak_core::Result;
use bobak_testkit::{Fixture, Harness, model};

fn run(first: u64, reference: &dyn Harness, subject: fn() -> Result<Fixture>) {
    if let Err(difference) = model::compare_seeds(first, (4, 150), reference, &subject) {
        panic!("{difference}");
    }
}

fn memory() -> Result<Fixture> {
    Ok(Fixture::volatile(bobak_memory::Memory::new()))
}

fn is_like_memory(subject: fn() -> Result<Fixture>) {
    run(1, &(memory as fn() -> Result<Fixture>), subject);
}

#[test]
fn h2_behaves_like_the_memory_engine() {
    if crate::peer::jar().is_some() {
        is_like_memory(h2);
        run(101, &|| row_by_row(h2), h2);
    }
}

#[test]
fn oracle_behaves_like_the_memory_engine() {
    if has_server() {
        is_like_memory(oracle);
        run(101, &|| row_by_row(oracle), oracle);
    }
}
