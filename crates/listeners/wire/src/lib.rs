//! Doors to databases of Bobak: TCP, TCP with TLS, a Unix socket, standard input and output.
//!
//! A [`Server`] gives databases to other programs over Bobak's binary protocol (`docs/wire.md`).
//! Connections that rest wait together in one poller and cost next to nothing; one that has
//! something to say is taken by a worker thread, and keeps it while it has a transaction or a query
//! open. There is no async runtime.
//!
//! ```
//! use bobak_memory::Memory;
//! use bobak_server::Server;
//!
//! let server = Server::builder()
//!     .database("main", Memory::new())
//!     .token("correct horse battery staple")
//!     .tcp("127.0.0.1:0")
//!     .start()?;
//! println!("listening at {}", server.addresses()[0]);
//! server.stop();
//! # Ok::<(), bobak_core::Error>(())
//! ```
//!
//! Who comes over TCP shows a token or a password; without TLS nobody but this machine may come,
//! unless the [builder](Builder) is told otherwise. What each may do is in an [`Access`]: see
//! the crate `bobak-permissions`, whose [`Guarded`] engines all doors put before their databases.
#![cfg(unix)]

mod batch;
mod buckets;
mod builder;
mod connection;
mod database;
mod early;
mod greet;
mod input;
mod journal;
mod lines;
mod listener;
mod lobby;
mod logins;
mod pipes;
mod pool;
mod seats;
mod serve;
mod server;
mod settings;
mod shares;
mod stream;
#[cfg(feature = "tls")]
mod tls;
mod transport;
mod watch;

pub use bobak_permissions::{
    Access, AccessText, Caller, Guarded, Protected, check_expiry, hash_password, hash_token,
    new_token, reads_only,
};
pub use bobak_wire::Credentials;
pub use buckets::RateLimiter;
pub use builder::{Builder, Log, Parts, Serve};
pub use journal::Journal;
pub use lines::Lines;
pub use listener::Listener;
pub use logins::{Login, LoginQueue};
pub use seats::ConnectionLimiter;
pub use server::{Server, raise_file_limit};
pub use settings::Settings;
pub use shares::{Holder, Part, Permit, Permits, Portion, Quotas};
#[cfg(feature = "tls")]
pub use tls::identity as tls_identity;
