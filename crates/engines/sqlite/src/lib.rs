//! The SQLite engine of Bobak.
//!
//! Reading order: settings → opening → the gate and the pool → connections and their statements →
//! sessions → one row written, batches, queries, cursors → the schema of existing files → the host,
//! where other engines' tables join. `ffi` is the only module with `unsafe`; [`raw`] hands out its
//! connections and statements.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod backup;
mod builder;
mod connection;
mod engine;
mod error;
pub mod extension;
mod ffi;
mod file;
mod functions;
#[cfg(feature = "encryption")]
mod key;
mod open;
mod pool;
pub mod raw;
mod schema;
mod session;
mod settings;
pub mod vfs;
pub mod virtual_table;

pub use builder::SqliteBuilder;
pub use engine::Sqlite;
pub use error::SqliteError;
pub use file::SqliteFile;
pub use functions::{Aggregate, Function, FunctionRows};
#[cfg(feature = "encryption")]
pub use key::Key;
pub use settings::{JournalMode, Locking, Synchronous};
