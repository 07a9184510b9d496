//! The listener of Bobak's wire protocol: TCP, TCP with TLS, Unix sockets, standard input and output.
//!
//! A [`Server`] serves databases to other programs over the binary protocol (`docs/wire.md`). There is
//! no async runtime. One thread polls all idle connections, which cost next to nothing. A connection
//! with a request is passed to a worker thread, and keeps it while a transaction or a query is open,
//! because both belong to a session that borrows the engine.
//!
//! A connection is a session: its requests run in order. A further session needs a further connection.
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
//! Clients over TCP authenticate with a token or a password; without TLS only this machine may
//! connect, unless the [builder](bobak_serving::ServerBuilder) allows more. What clients may do is
//! defined by an [`Access`](bobak_permissions::Access) of `bobak-permissions`.
//!
//! Reading order: `poller` accepts connections and waits for requests → `workers` → `handshake`
//! authenticates → `requests` runs requests → `request_monitor` interrupts them. A wrong password is
//! rejected in `workers/password_check.rs`.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg(unix)]

mod connection;
mod database;
mod frame_queue;
mod handshake;
mod pipelined;
mod pipes;
mod poller;
mod request_monitor;
mod requests;
mod server;
mod settings;
mod state;
mod transport;
mod workers;

pub use server::Server;
pub use settings::Settings;
