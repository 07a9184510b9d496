//! The tests of encrypted files, interrupted, with SQLCipher in SQLite's place: a binary of its own, because the crates below it are
//! compiled once more for it.

// Also in the functions that only help tests, which the lint's own exception does not know.
#![allow(clippy::unwrap_used)]
#![allow(dead_code, reason = "the module also helps tests that are not here")]

mod crash; // random programs
mod encryption;

/// A number from the environment.
fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}
