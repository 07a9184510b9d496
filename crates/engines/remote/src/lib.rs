//! The engine of Bobak that keeps records on a Bobak server, over its binary protocol.
//!
//! A [`Remote`] reaches a database of a server over TCP, TLS, a Unix socket, or the pipes of a
//! program that it starts. Over sockets it has a pool of connections, one for each session that is
//! at work; over pipes there is one, which sessions share an operation at a time.
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
//! A read, or the begin of a transaction, is made once more on a new connection. Inside a
//! transaction every call fails with `Unreachable`: nothing of it is there. Where the connection broke
//! under a commit, or under a write outside a transaction, nobody can say what became of it:
//! `Unknown`.

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
