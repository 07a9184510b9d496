//! Rows as JSON objects, and back.

pub(crate) mod cell;
pub(crate) mod change;
pub(crate) mod error;
pub(crate) mod plan;
pub(crate) mod read;
pub(crate) mod sql_arguments;
pub(crate) mod write;

pub(crate) use read::ParsedRow;
pub(crate) use write::NumberFormat;
