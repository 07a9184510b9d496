//! What SQLite receives for each statement.

#![allow(missing_docs, clippy::unwrap_used, reason = "tests")]

mod names; // where names come from: joins, subqueries, common table expressions, views
mod rejected; // statements that have no meaning
mod tables; // the tables of the tests
mod units; // literals, arithmetic, functions, writes
