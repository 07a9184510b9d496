//! The tests that every engine of Bobak passes, and tools to test code that uses engines.
//!
//! * [`conformance!`] generates one test for each case of the suite: the contract of
//!   [`Engine`](bobak_core::Engine) and [`Session`](bobak_core::Session).
//! * [`model::compare`] runs random programs on two stores and compares every answer.
//! * [`RowByRow`] sends batches row by row: the slow path with which fast paths are compared.
//! * [`RequiredMethods`] hides the methods that have defaults: the suite then tests the defaults.
//! * [`DirectCalls`] sends single operations to the engine instead of the session, as the facade does.
//! * [`FaultyEngine`] injects failures.
//! * [`interrupted`] interrupts an operation from another thread; [`idle`] opens ten thousand idle connections.
//! * [`isolation::agrees_with_document`] tries the known anomalies of transactions.
//! * [`capability_table::agrees_with_document`] compares a page with the capabilities of an engine.
//! * [`hidden_data::compare`] compares what two databases tell a restricted client.
//! * [`crash::run`] interrupts random programs and checks the surviving data; [`crash::endure`] makes
//!   file operations fail during them.
//!
//! The tests of a crate with an engine need only this:
//!
//! ```
//! mod memory {
//!     use bobak_core::Result;
//!     use bobak_memory::Memory;
//!     use bobak_testkit::Fixture;
//!
//!     fn fresh() -> Result<Fixture> {
//!         Ok(Fixture::volatile(Memory::new()))
//!     }
//!     bobak_testkit::conformance!(fresh);
//! }
//! ```
//!
//! Some cases wait for the engine's busy timeout: set a short one for tests.

pub mod capability_table;
pub mod cases;
mod check;
pub mod crash;
mod direct_calls;
mod faulty;
mod harness;
pub mod hidden_data;
pub mod idle;
mod interrupts;
pub mod isolation;
pub mod model;
mod mutate;
mod probe;
mod required_methods;
mod row_by_row;
mod suite;
pub mod tables;
mod tracking;

#[doc(hidden)]
pub use bobak_core;

pub use check::{Check, Failure, fails, fails_in, holds, same};
pub use direct_calls::DirectCalls;
pub use faulty::{Faults, FaultyEngine};
pub use harness::{Fixture, Harness};
pub use interrupts::{interrupted, statement_ends};
pub use mutate::Mutator;
pub use probe::{
    BatchResult, Entry, NULL, Probe, Table, Values, batch_of, create, rows_of, values_of,
};
pub use required_methods::RequiredMethods;
pub use row_by_row::RowByRow;
pub use suite::{CASES, Case, assert_passes, run};
pub use tracking::TrackedEngine;
