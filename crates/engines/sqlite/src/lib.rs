//! The SQLite engine of Bobak.
//!
//! Reading order: settings → opening → the gate and the pool → connections and their statements →
//! sessions → one row written, batches, queries, cursors → the schema of existing files → the host,
//! where other engines' tables join. `ffi` is the only module with `unsafe`; [`raw`] hands out its
//! connections and statements.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod alter;
mod backup;
mod batch;
mod cache;
mod commit;
mod connection;
mod cursor;
mod engine;
mod error;
pub mod extension;
mod facts;
mod ffi;
mod file;
mod file_id;
mod functions;
mod gate;
mod group;
mod hold;
#[cfg(feature = "encryption")]
mod key;
mod log;
mod open;
#[cfg(feature = "encryption")]
mod page_size;
mod query;
pub mod raw;
#[cfg(feature = "encryption")]
mod rekey;
mod replay;
mod session;
mod settings;
mod standing;
mod sync;
mod tables;
pub mod vfs;
pub mod virtual_table;
mod write;

pub use engine::Sqlite;
pub use error::SqliteError;
pub use file::SqliteFile;
pub use functions::{Aggregate, Function, FunctionRows};
#[cfg(feature = "encryption")]
pub use key::Key;
pub use settings::{JournalMode, Locking, SqliteBuilder, Synchronous};
