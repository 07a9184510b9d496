//! Tests of the Firebird engine against a real server: the one that `BOBAK_TEST_FIREBIRD` names, or a private one.

#![allow(missing_docs, clippy::unwrap_used, reason = "tests")]

mod stores; // a database for each test

mod alterations; // changes of tables
mod failures; // what goes wrong, and tables of other programs
mod killed_changes; // connections that end in the middle of a change
mod model; // random programs on two stores
mod relay; // a way to the server that ends
mod suite; // the conformance suite
