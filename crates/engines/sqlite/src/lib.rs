//! The SQLite engine of Bobak.
//! | Reading order: [`SqliteBuilder`] → `open` → `pool` (the writer lock, the readers) →
//! `connection` → `session` (transactions, batches, cursors, group commit) → `schema` → `backup`.
//! `ffi` is the only module with unsafe code.
//! | Low-level interfaces for other crates: [`raw`] (connections and statements without an
//! engine), [`extension`] and [`virtual_table`] (tables that other code provides), [`vfs`]
//! (custom files).

#![cfg_attr(docsrs, feature(doc_cfg))]

mod backup;
mod builder;
#[cfg(feature = "encryption")]
mod cipher;
mod connection;
mod engine;
mod error;
pub mod extension;
mod ffi;
mod file;
mod file_mark;
mod functions;
mod open;
mod pool;
pub mod raw;
mod schema;
mod session;
mod settings;
pub mod vfs;
pub mod virtual_table;

#[cfg(feature = "encryption")]
pub use bobak_encryption::EncryptionKey;
pub use engine::Sqlite;
pub use error::SqliteError;
pub use file::SqliteFile;
pub use functions::{Aggregate, Function, FunctionRows};
pub use settings::{Cipher, JournalMode, LockingMode, OpenMode, SqliteBuilder, Synchronous};
