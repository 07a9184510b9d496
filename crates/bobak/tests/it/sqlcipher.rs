//! The tests of encrypted files and fields with SQLCipher in SQLite's place: a binary of its own, because the crates below it are
//! compiled once more for it.

#![allow(missing_docs, clippy::unwrap_used, reason = "tests: a failure names its line")]
#![allow(dead_code, reason = "the modules also help tests that are not here")]

mod encryption;
mod engines;
mod field_encryption;
mod hidden_tables;
