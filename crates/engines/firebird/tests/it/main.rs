//! Tests of the Firebird engine against a real server: the one that `BOBAK_TEST_FIREBIRD` names, or a private one.

#![allow(missing_docs, clippy::unwrap_used, reason = "tests")]

mod stores; // a database for each test

mod failures; // what goes wrong, and tables of other programs
mod model; // random programs on two stores
mod suite; // the conformance suite
