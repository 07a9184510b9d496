//! What callers may do, on real engines.

#![allow(missing_docs, clippy::unwrap_used, reason = "tests: what fails says where")]

mod accounts;
mod conformance; // the suite that every engine passes, through a caller with all rights
mod leads;
mod names; // whose name is beside a change, on each way in
mod refusals; // each verb, each way in, without the right to it; hidden tables
mod rules; // rows that a rule keeps from the caller, on each way in
mod sql; // beyond the grant
mod world;
