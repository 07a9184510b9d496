//! The tests that every engine of Bobak passes, and tools to test what stands on engines.
//!
//! * [`conformance!`] makes one test of each case of the suite: what the contract of
//!   [`Engine`](bobak_core::Engine) and [`Session`](bobak_core::Session) says.
//! * [`model::compare`] runs random programs on two stores and compares every answer.
//! * [`RowByRow`] sends batches row by row: the slow path that fast ones are held against.
//! * [`RequiredMethods`] hides the methods that have defaults: the suite then tests the defaults.
//! * [`Lone`] sends single operations past the session, as the facade does.
//! * [`Faulty`] fails where it is told to.
//! * [`interrupted`] ends what runs from another thread; [`idle`] has ten thousand clients say nothing.
//! * [`crash::run`] interrupts random programs and checks what is left; [`crash::endure`] lets
//!   files fail under them.
//!
//! A crate with an engine needs this much in its tests:
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
//! Cases wait until the engine's busy time-out has passed: set a short one there.

pub mod cases;
mod check;
pub mod crash;
mod faulty;
mod harness;
pub mod idle;
mod interrupts;
mod lone;
pub mod model;
mod probe;
mod required_methods;
mod row_by_row;
mod suite;
pub mod tables;
mod tracking;

#[doc(hidden)]
pub use bobak_core;

pub use check::{Check, Failure, fails, fails_in, holds, same};
pub use faulty::{Faults, Faulty};
pub use harness::{Fixture, Harness};
pub use interrupts::{interrupted, statement_ends};
pub use lone::Lone;
pub use probe::{Entry, NULL, Probe, Sent, Table, Values, batch_of, create, rows_of, values_of};
pub use required_methods::RequiredMethods;
pub use row_by_row::RowByRow;
pub use suite::{CASES, Case, assert_passes, run};
pub use tracking::Tracking;
