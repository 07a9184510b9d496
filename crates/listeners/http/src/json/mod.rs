//! Rows as JSON objects, and back.

mod cell;
mod read;
mod write;

pub(crate) use cell::{read_cell, read_value};
pub(crate) use read::{Cells, no_json, read_row};
pub(crate) use write::{Numbers, write_cell, write_row};
