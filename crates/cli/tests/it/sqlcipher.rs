//! The tests of keys by flags with SQLCipher in SQLite's place: a binary of its own, because the crates below it are compiled once
//! more for it.

#![allow(dead_code, reason = "the module also helps tests that are not here")]

mod encryption;
mod program; // how a test runs it
