//! A database with a caller before it.
//!
//! `engine` and `session` stand in the way of every operation; `table` says what the caller may do
//! with one table, `write` and `batch` keep row rules where rows are written, and `sql` answers for
//! SQL text.

mod batch;
mod change;
mod engine;
mod mention;
mod protected;
mod session;
mod sql;
mod table;
mod write;

pub use engine::Guarded;
pub use protected::Protected;
