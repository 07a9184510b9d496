//! Engines whose statements are monitored, with a timeout that no call reaches, pass the suite as well.

use crate::stores;
use bobak_core::Result;
use bobak_testkit::Fixture;

fn passes(fresh: fn() -> Result<Fixture>) {
    let failed = bobak_testkit::run(&stores::monitored(fresh));
    assert!(failed.is_empty(), "{failed:#?}");
}

#[test]
fn in_memory() {
    passes(stores::memory);
}

#[test]
fn in_a_key_value_file() {
    passes(stores::kv);
}

#[test]
fn in_a_file_with_a_log() {
    passes(stores::sqlite_wal);
}
