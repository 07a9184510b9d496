//! The memory engine: tables in this process, with snapshots in a file.
//!
//! It runs no SQL, and needs none: what a [`Query`](bobak_core::Query) can say it does itself, and
//! gives the same rows in the same order as the other engines. It is their reference.
//!
//! Rows lie in the codec's bytes, one allocation each. A key or a unique value is found by hash,
//! or, where it is a single integer, by its place in a list; ranges and orders are walked in sorted
//! lists. All of it is copied only where it is changed, and only where someone still reads it: so
//! readers never wait for a transaction, nor it for them.
//!
//! The way of an insert: `session` (locks, transactions) → `write` (what a verb does) → `table`
//! (checks, then rows and indexes) → `rows`, `sorted`, `hash_index`. The way of a query: `session`
//! → `select` → `scan` → `plan` (which index) → `sorted`; groups come from `aggregate`.

mod aggregate;
mod alter;
mod change;
mod engine;
mod foreign;
mod hash_index;
mod log;
mod order;
mod plan;
mod rows;
mod scan;
mod select;
mod session;
mod shared;
mod snapshot;
mod sorted;
mod state;
mod statement;
mod table;
#[cfg(test)]
mod tests;
mod write;

pub use engine::{Memory, MemoryBuilder};
pub use snapshot::SnapshotFormat;
