//! Random programs through the doors, held against the engine itself.

use crate::doors;
use bobak_core::Result;
use bobak_testkit::{Fixture, model};

fn compare(first: u64, reference: fn() -> Result<Fixture>, subject: fn() -> Result<Fixture>) {
    for seed in first..first + 4 {
        if let Err(difference) = model::compare(seed, 300, &reference, &subject) {
            panic!("{difference}");
        }
    }
}

fn memory() -> Result<Fixture> {
    Ok(Fixture::volatile(bobak_memory::Memory::new()))
}

#[test]
fn tcp_is_as_memory() {
    compare(1, memory, doors::tcp);
}

#[test]
fn unix_is_as_memory() {
    compare(101, memory, doors::unix);
}

#[test]
fn pipes_are_as_memory() {
    compare(201, memory, doors::pipes);
}
