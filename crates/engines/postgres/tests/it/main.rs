//! The engine against a real server: the one that `BOBAK_TEST_POSTGRES` names. Without it each test
//! that needs one says so, and does nothing.

#![allow(missing_docs, clippy::unwrap_used, reason = "tests")]

mod conformance; // the suite that every engine passes
mod failures; // servers that are down, killed, cut off, or not as expected
mod isolation; // the page has the anomalies of each level
mod lines; // servers that must prove who they are, that hang, or that make keys
mod model; // random programs, against the memory engine and against rows one by one
mod pgbouncer; // the suite behind a proxy that pools by transaction
mod proxy; // a line that can be cut
mod round_trips; // how often a transaction waits for the server
mod shape_statements; // typed statements with other values, and after changes of tables
mod support; // servers and stores
