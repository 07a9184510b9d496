//! Typed operations with random keys, one call each: through Bobak, compared with the same statements kept prepared by hand,
//! in C calls and in rusqlite.

mod by_rusqlite;
mod contender;
mod data;
mod prepared;
mod raw;

pub(crate) use by_rusqlite::RUSQLITE;
pub(crate) use contender::ENGINES;
pub(crate) use raw::RAW_SQLITE;
