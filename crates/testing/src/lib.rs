//! Helpers for the tests of programs that use Bobak.
//!
//! * [`rolled_back`] opens a database whose changes are undone when the test ends.
//! * [`load_fixtures`] inserts the rows of CSV and JSON files, in the order that foreign keys need.
//! * [`Factory`] makes records that differ only in what a test is about.
//! * [`Sample`] fills tables with plausible rows, any number of them, the same ones for the same seed.
//!
//! The memory engine is the double for any other engine: see the page
//! [Testing your program](https://github.com/bobak-db/bobak/blob/main/book/src/guide/testing.md).

#![cfg_attr(docsrs, feature(doc_cfg))]

mod factory;
mod fixture_file;
mod fixtures;
mod rollback;
mod rollback_session;
mod sample;

pub use factory::Factory;
pub use fixtures::load_fixtures;
pub use rollback::{RollbackEngine, rolled_back};
pub use sample::{Random, Sample};
