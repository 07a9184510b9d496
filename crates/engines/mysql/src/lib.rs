//! The MariaDB and MySQL engine of Bobak.
//!
//! Reading order: settings and URLs → connecting and the pool → connections and their statements →
//! values there and back → sessions → one row written, batches, queries, cursors → changes of the
//! schema, and the schema of existing databases.
//!
//! What is particular to it:
//!
//! * Keys come from AUTO_INCREMENT: they ascend, but are not dense, and in a Galera cluster each
//!   node has its own. They are read back by RETURNING, never counted; on MySQL, which has none,
//!   rows without a key go one by one.
//! * Each change of the schema commits by itself there, so inside a transaction it is refused with
//!   `Unsupported`, and one with several steps is checked beforehand and taken back where it fails.
//! * Dates are in the years 1 to 9999, and infinite floats are refused with `OutOfRange`.
//! * Texts and bytes in keys and unique indexes are as long as an index takes: see `bobak-sql`.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod alter;
mod batch;
mod chunk;
mod civil;
mod connect;
mod connection;
mod cursor;
mod decode;
mod encode;
mod engine;
mod error;
mod keys;
mod marks;
mod pool;
mod query;
mod session;
mod settings;
mod tables;
mod texts;
mod transaction;
mod url;
mod write;

pub use engine::MySql;
pub use settings::{Isolation, MySqlBuilder, Tls};
