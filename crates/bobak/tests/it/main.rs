//! The facade, on every engine that it opens.

#![allow(missing_docs, reason = "tests")]

mod bad_input;
mod batches;
mod dynamic;
mod engines;
mod fields;
mod front_page;
mod queries;
mod schema;
mod sql;
mod tables;
mod transactions;
