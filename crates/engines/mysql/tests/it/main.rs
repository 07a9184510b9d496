//! Tests of the MariaDB and MySQL engine against a real server: the one that `BOBAK_TEST_MARIADB`
//! names. Without it they say so and pass.

#![allow(missing_docs, clippy::unwrap_used, reason = "tests")]

mod proxy; // a line to the server that can be cut
mod stores; // databases of their own on the server

mod failures; // servers down, lines cut, clashes, time-outs
mod lines; // servers that must prove who they are, or that hang
mod model; // random programs on two stores
mod suite; // the conformance suite
