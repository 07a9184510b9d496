//! Bobak's values as text, in one form for CSV files, JSON over HTTP and in files, tables on a terminal, and arguments of
//! commands.
//!
//! [`mod@write`] formats values, [`read`] parses them, and [`json`] is the form inside JSON. [`csv`] reads quoted empty
//! fields. [`number`] and [`time`]
//! recognize texts of unknown type, for inferring the types of a file.

#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod csv;
pub mod json;
pub mod number;
pub mod read;
pub mod time;
pub mod vector;
pub mod write;
