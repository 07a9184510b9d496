//! The PostgreSQL engine of Bobak, and of servers that speak its protocol.
//!
//! Records keep their exact values: money as `numeric(19,4)`, instants as `timestamptz`, documents
//! as `json`. Batches go by binary `COPY` and by arrays, with a result for each row. What the server
//! can't keep is refused before it is sent: texts with NULs, columns of any class.
//!
//! Reading order: [`Postgres`] and its settings → the session → single writes → batches → queries
//! and cursors → the tables that are there; under them the connection, the pool and the line.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod alter;
mod batch;
mod bulk;
mod catalog;
mod connection;
mod cursor;
#[doc(hidden)]
pub mod decoders;
mod engine;
mod error;
mod facts;
mod message;
mod outcome;
mod pool;
mod query;
mod row;
mod segment;
mod session;
mod settings;
mod singles;
mod sql_text;
mod startup;
mod state;
mod stream;
mod tls;
mod transaction;
mod url;
mod value;

pub use engine::Postgres;
pub use error::ServerError;
pub use settings::{Isolation, Keys, PostgresBuilder, SslMode, Target};
