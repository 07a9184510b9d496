//! Random operations over each transport, compared with the engine itself.

use crate::transports;
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
fn tcp_matches_the_memory_engine() {
    compare(1, memory, transports::tcp);
}

#[test]
fn unix_socket_matches_the_memory_engine() {
    compare(101, memory, transports::unix);
}

#[test]
fn pipes_match_the_memory_engine() {
    compare(201, memory, transports::pipes);
}
