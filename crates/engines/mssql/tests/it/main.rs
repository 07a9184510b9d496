//! Tests of the SQL Server engine: against a peer that sends recorded responses, and against the server that
//! `BOBAK_TEST_MSSQL` names, if it does.

#![allow(missing_docs, clippy::unwrap_used, reason = "tests")]

mod peer; // a server from a script
mod stores; // a database for each test

mod model; // random programs on two stores
mod recorded; // what the client makes of responses
mod suite; // the conformance suite
