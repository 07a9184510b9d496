//! Full-text search: documents that are searched through Bobak, compared with the same query of FTS5 by hand.

mod contender;
mod data;
mod raw;

pub(crate) use contender::SQLITE;
pub(crate) use raw::RAW_SQLITE;
