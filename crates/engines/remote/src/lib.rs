//! The engine that stores records on a Bobak server, over its binary protocol.
//!
//! A [`Remote`] reaches a database of a server over TCP, TLS, a Unix socket, or the pipes of a program that it starts.
//! Over sockets it has a pool of connections, one for each active session. Over pipes there is one connection, which
//! sessions share operation by operation.
//!
//! ```no_run
//! use bobak_core::Engine;
//! use bobak_remote::Remote;
//!
//! let engine = Remote::builder().token("…").database("main").open_tcp("localhost:4715")?;
//! println!("{} tables", engine.tables()?.len());
//! # Ok::<(), bobak_core::Error>(())
//! ```
//!
//! # When a connection breaks
//!
//! A read, or the start of a transaction, is repeated once on a new connection. Inside a transaction every call fails
//! with `Unreachable`, and nothing of the transaction is stored. If the connection breaks during a commit, or during a
//! write outside a transaction, the outcome is not known: `Unknown`.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod batch;
mod broken;
mod builder;
mod engine;
mod link;
mod pipes;
mod pool;
mod row;
mod session;
mod stream;
#[cfg(feature = "tls")]
mod tls;
mod transport;

pub use builder::RemoteBuilder;
pub use engine::Remote;
