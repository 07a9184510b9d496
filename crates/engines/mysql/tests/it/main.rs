//! Tests of the MariaDB and MySQL engine against a real server: the one that `BOBAK_TEST_MARIADB` names, or a private one.

#![allow(missing_docs, clippy::unwrap_used, reason = "tests")]

mod proxy; // a connection to the server that can be cut
mod stores; // a database for each test

mod failures; // servers down, broken connections, conflicts, timeouts
mod isolation; // the page has the anomalies of each level
mod lines; // TLS, servers that hang, statistics
mod model; // random programs on two stores
mod suite; // the conformance suite
