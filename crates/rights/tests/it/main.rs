//! What callers may do, on real engines.

#![allow(missing_docs, clippy::unwrap_used, reason = "tests: what fails says where")]

mod conformance;
