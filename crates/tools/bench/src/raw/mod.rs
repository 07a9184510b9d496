//! The raw contenders: the benchmark's work in plain calls of SQLite's C interface, in the best way that a careful C
//! programmer would write without tricks. Bobak's cells are compared with them.
//!
//! Statements are prepared once, marked persistent; connections are opened without a mutex; text
//! is bound in place; rows are read into an owned struct, their text checked to be UTF-8; stamps
//! are taken from the clock for each row, as a record store must.
//!
//! This is the one module of the crate that calls C. All of it is in [`connection`] and
//! [`statement`], behind handles that close themselves and borrow what SQLite borrows.
#![allow(unsafe_code)]

mod connection;
mod contender;
mod key_value;
mod mode;
mod sql;
mod statement;

pub(crate) use connection::{Connection, library};
pub(crate) use contender::{ENGINES, RawEngine};
pub(crate) use key_value::KEY_VALUE;
pub(crate) use mode::{CACHE_SETTINGS, SETTINGS};
pub(crate) use statement::Statement;
