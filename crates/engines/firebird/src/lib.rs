//! The engine for Firebird servers, from version 3 on.
//!
//! Reading order: settings → the wire protocol → connections and their pool → names, columns and values → sessions → writes
//! of rows, batches, queries → the schema.
//!
//! Firebird has more writers at a time than one, and each sees the rows of the moment at which its transaction began. See
//! `docs/firebird.md`.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod batch;
mod block;
mod catalog;
mod checks;
mod columns;
mod connection;
mod engine;
mod error;
mod mode;
mod names;
mod pool;
mod pushed;
mod query;
mod schema;
mod session;
mod settings;
mod sql_text;
mod texts;
mod values;
mod wire;
mod writes;

pub use engine::Firebird;
pub use settings::FirebirdBuilder;
