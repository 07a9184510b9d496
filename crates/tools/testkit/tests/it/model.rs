//! Random programs: SQLite against the memory engine, and fast paths against slow ones.
//!
//! `BOBAK_SEED=7` runs one seed, `BOBAK_SEEDS=1000` so many, `BOBAK_STEPS=2000` longer programs.

use crate::stores;
use bobak_core::Result;
use bobak_testkit::{Fixture, Harness, model};

/// Runs the programs of some seeds, `first` and those after it.
fn run(first: u64, reference: &dyn Harness, subject: &dyn Harness) {
    if let Err(difference) = model::compare_seeds(first, (8, 400), reference, subject) {
        panic!("{difference}");
    }
}

fn fast_is_slow(first: u64, fresh: fn() -> Result<Fixture>) {
    run(first, &stores::row_by_row(fresh), &fresh);
}

#[test]
fn sqlite_wal_is_as_memory() {
    run(1, &stores::memory, &stores::sqlite_wal);
}

#[test]
fn sqlite_delete_journal_is_as_memory() {
    run(101, &stores::memory, &stores::sqlite_delete);
}

#[test]
fn sqlite_exclusive_is_as_memory() {
    run(201, &stores::memory, &stores::sqlite_exclusive);
}

#[test]
fn sqlite_in_memory_is_as_memory() {
    run(301, &stores::memory, &stores::sqlite_memory);
}

#[test]
fn a_snapshot_changes_nothing() {
    run(401, &stores::memory_with_snapshot, &stores::sqlite_wal);
}

#[test]
fn memory_fast_is_slow() {
    fast_is_slow(501, stores::memory);
}

#[test]
fn sqlite_fast_is_slow() {
    fast_is_slow(601, stores::sqlite_memory);
}

#[test]
fn direct_calls_match_sessions() {
    run(701, &stores::memory, &stores::direct_calls(stores::memory));
    run(711, &stores::memory, &stores::direct_calls(stores::sqlite_memory));
    run(721, &stores::memory, &stores::direct_calls(stores::sqlite_exclusive_delete));
    run(731, &stores::memory, &stores::direct_calls(stores::sqlite_wal));
}
