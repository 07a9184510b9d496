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
//! println!("listening on {}", server.addresses()[0]);
//! server.stop();
//! # Ok::<(), bobak_core::Error>(())
//! ```
//!
//! Who comes over TCP shows a token or a password; without TLS nobody but this machine may come,
//! unless the [builder](bobak_serving::ServerBuilder) is told otherwise. What each may do is in an
//! [`Access`](bobak_permissions::Access): see the crate `bobak-permissions`.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg(unix)]

mod batch;
mod connection;
mod database;
mod early;
mod greet;
mod input;
mod lobby;
mod login_thread;
mod pipes;
mod pool;
mod serve;
mod server;
mod settings;
mod stream;
#[cfg(feature = "tls")]
mod tls;
mod transport;
mod watch;

pub use server::Server;
pub use settings::Settings;
