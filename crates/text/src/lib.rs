//! The values of Bobak as text, one form for all who write or read it: CSV files, JSON over HTTP
//! and in files, tables on a terminal, arguments of a command.
//!
//! [`mod@write`] makes the text, [`read`] takes it back, [`json`] is the form inside JSON. What a text
//! is without being told ([`number`], [`time`]) is for those who guess the types of a file.

#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod json;
pub mod number;
pub mod read;
pub mod time;
pub mod write;
