//! The engine for MariaDB and MySQL.
//!
//! Reading order: settings and URLs → the connector and the pool → connections and their statements → values →
//! sessions → row writes, batches, queries, cursors → the schema.
//!
//! What is particular to these servers:
//!
//! * Keys come from AUTO_INCREMENT: they ascend, but are not dense, and in a Galera cluster each node has its own.
//!   They are read back by RETURNING, never computed. MySQL has no RETURNING, so rows without a key are sent one by
//!   one.
//! * A change of the schema commits the transaction. It is therefore rejected in a transaction, with `Unsupported`. A
//!   change of several steps is checked beforehand and reverted if a step fails.
//! * Dates are in the years 1 to 9999, and infinite floats are rejected with `OutOfRange`.
//! * Texts and bytes in keys and unique indexes are limited to the length of an index entry; see `bobak-sql`.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod batch;
mod connection;
mod database;
mod engine;
mod error;
mod keys;
mod narrow_tables;
mod row_writes;
mod schema;
mod session;
mod settings;
mod sql_texts;
mod values;

pub use engine::MySql;
pub use settings::{Isolation, MySqlBuilder, Tls};
