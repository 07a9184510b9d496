//! SQL over the tables of several engines.

// Also in the functions that only help tests, which the lint's own exception does not know.
#![allow(clippy::unwrap_used)]

mod federated_engine;
mod federation;
