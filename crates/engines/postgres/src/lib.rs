//! The engine for PostgreSQL, and for servers that speak its protocol.
//!
//! Values are stored exactly: money as `numeric(19,4)`, instants as `timestamptz`, documents as `json`. Batches use
//! binary `COPY` and arrays, with a result for each row. Values that the server cannot store, such as texts with NUL
//! characters, are rejected before they are sent.
//!
//! Reading order: [`Postgres`] and its settings → the session → row writes → batches → queries and cursors → the
//! schema; below them the connection, its pool, and the protocol.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod batch;
mod connection;
mod database;
#[doc(hidden)]
pub mod decoders;
mod engine;
mod protocol;
mod schema;
mod session;
mod settings;
mod table_info;

use bobak_sql::server::postgres_errors as error;
pub use bobak_sql::server::postgres_errors::ServerError;
pub use engine::Postgres;
pub use settings::{Isolation, Keys, PostgresBuilder, SslMode, TargetServer};
