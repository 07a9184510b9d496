//! The suite on the engines of this repository, and the engines compared with each other.

// Also in the functions that only help tests, which the lint's own exception does not know.
#![allow(clippy::unwrap_used)]

mod capability_table;
mod crash; // random programs, interrupted
mod direct_calls;
mod durability; // the page says what tests show
mod encryption; // encrypted files, interrupted
mod faulty; // the engine that fails on request
mod federation; // SQL over engines that fail or are remote
mod fixtures; // files that older versions made
mod isolation; // the page has the anomalies of each engine
mod kill; // processes that are killed
mod kv; // the suite on the key-value engine
mod memory; // the suite on the memory engine
mod model; // random programs on two stores
mod monitored; // the suite through the layer that counts statements
mod required_methods; // the suite on an engine with no more than the required methods
mod row_by_row; // the engine that sends batches row by row
mod sqlite; // the suite on SQLite, in each way of keeping a database
mod stores; // how each store is opened
mod tracking; // tracked tables are as others, and their logs give them again

/// A number from the environment.
fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}
