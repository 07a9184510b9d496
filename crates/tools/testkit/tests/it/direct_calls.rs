//! Single operations that are sent past the session pass the suite as well.

use crate::stores;
use bobak_core::Result;
use bobak_testkit::Fixture;

fn passes(fresh: fn() -> Result<Fixture>) {
    let failed = bobak_testkit::run(&stores::direct_calls(fresh));
    assert!(failed.is_empty(), "{failed:#?}");
}

#[test]
fn in_memory() {
    passes(stores::memory);
}

#[test]
fn in_memory_of_sqlite() {
    passes(stores::sqlite_memory);
}

#[test]
fn in_an_exclusive_file() {
    passes(stores::sqlite_exclusive_delete);
}

#[test]
fn in_a_file_with_a_rollback_journal() {
    passes(stores::sqlite_delete);
}

#[test]
fn in_a_file_with_a_log() {
    passes(stores::sqlite_wal);
}
