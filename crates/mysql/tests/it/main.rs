//! Tests of the MariaDB and MySQL engine against a real server: the one that `BOBAK_TEST_MARIADB`
//! names. Without it they say so and pass.

#![allow(missing_docs, clippy::unwrap_used, reason = "tests")]

mod stores; // databases of their own on the server

mod model; // random programs on two stores
mod suite; // the conformance suite
