//! The memory engine: tables in this process, with snapshots in a file.
//!
//! It runs no SQL: it evaluates a [`Query`](bobak_core::Query) itself, and returns the same rows in the same order as the
//! other engines. It is their reference.
//!
//! Rows are stored encoded by the row codec, one allocation each. A key or a unique value is found by hash, or for a single
//! integer by its position in a sorted list; ranges and orders are scans of sorted lists. A part is copied only if it is
//! changed while a reader still uses it, so readers never wait for a transaction, nor transactions for readers.
//!
//! An insert runs through `session` (locks, transactions) → `write` (the verb) → `table` (checks, then rows and indexes) →
//! `rows`, `sorted`, `hash_index`. A query runs through `session` → `select` → `scan` → `plan` (which index) → `sorted`;
//! `aggregate` computes groups.

mod aggregate;
mod alter;
mod change;
mod engine;
mod explain;
mod foreign;
mod hash_index;
mod log;
mod order;
mod plan;
mod rows;
mod saving;
mod scan;
mod search;
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
pub use saving::{MemoryTable, MemoryTables};
pub use snapshot::SnapshotFormat;
