//! The key-value engine: durable tables in one file, on [redb](https://www.redb.org), without C code.
//!
//! It runs no SQL, and has neither foreign keys nor change capture. All else it does as the memory
//! engine does, which is the reference. One process at a time opens a file; in it, one session writes
//! while others read.
//!
//! The path of an insert: `session` (whose transaction) → `transaction` (lock, savepoints, commit) →
//! `bobak_engine_common::write_row` (what a verb does) → `data` (the row and its index entries). The
//! path of a query: `session` → `scan` (which keys) → `bobak_engine_common::run_select`. `catalog` has
//! the schemas.

mod catalog;
mod data;
mod engine;
mod error;
mod scan;
mod session;
#[cfg(test)]
mod tests;
mod transaction;

pub use engine::{Durability, Kv, KvBuilder};

/// The engine's name in messages.
const NAME: &str = "kv";
