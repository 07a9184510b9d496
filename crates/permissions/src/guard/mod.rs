//! A database with a caller before it.
//!
//! `engine` and `session` stand in the way of every operation; `table` says what the caller may do
//! with one table, `write` and `batch` keep row rules where rows are written, `lead` says nothing of
//! rows that foreign keys lead to, `sql` answers for SQL text, `screen` for what no door lets SQL do, and `tracks` knows whether the caller's name is written down.

mod batch;
mod change;
mod conceal;
mod engine;
mod lead;
mod mention;
mod protected;
mod screen;
mod session;
mod sql;
mod table;
mod tracks;
mod write;

pub use engine::Guarded;
pub(crate) use mention::tables;
pub use protected::Protected;
pub use screen::reads_only;
