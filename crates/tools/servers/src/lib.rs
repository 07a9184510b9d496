//! Private PostgreSQL, MariaDB and Firebird servers for tests and benchmarks.
//!
//! A server lives in a temporary folder, listens on a free loopback port and on a Unix socket, and is gone with its
//! folder when it is dropped, or when the process that started it ends in any other way. It knows one user, `bobak`,
//! who may do everything, and one empty database, `bobak`.
//!
//! ```no_run
//! use bobak_servers::{Options, Postgres};
//!
//! # fn main() -> bobak_servers::Result<()> {
//! let server = Postgres::start()?;
//! println!("{}", server.url()); // postgres://bobak@127.0.0.1:21345/bobak
//! server.kill()?; // SIGKILL, to all of its processes at once
//! server.restart()?; // recovers, on the same port
//!
//! let guarded = Postgres::start_with(&Options::new().password("secret").durable())?;
//! # Ok(())
//! # }
//! ```
//!
//! What survives [`kill`](Server::kill): every row that was acknowledged, also without [`Options::durable`], which
//! only concerns power cuts.
//!
//! Several of them make a cluster: [`Galera`], three MariaDB servers with the same data, and [`ShardedPostgres`], tables over
//! several PostgreSQL servers. [`PgBouncer`] is a proxy in front of one. With the feature `tls`, `Pebble` is a certificate authority.
//!
//! Tests that only need a database of their own share servers: [`TestDatabase`]. In a run of many tests, [`TestFolder`] holds their temporary files, and the prepared files that all servers begin with.
//!
//! Reading order: options → `postgres`, `mariadb` and `firebird` → the server that each is → its process, folder, port, account →
//! `galera`, `sharded` and `pgbouncer`.

mod account;
mod error;
mod find;
mod firebird;
mod folder;
mod galera;
mod mariadb;
mod options;
#[cfg(feature = "tls")]
mod pebble;
mod pgbouncer;
mod port;
mod postgres;
mod process;
mod server;
mod sharded;
mod template;
mod test_database;
mod test_folder;
#[cfg(feature = "tls")]
mod tls;

pub use error::{Error, Result};
pub use find::psql;
pub use firebird::Firebird;
pub use galera::Galera;
pub use mariadb::MariaDb;
pub use options::Options;
#[cfg(feature = "tls")]
pub use pebble::Pebble;
pub use pgbouncer::PgBouncer;
pub use postgres::Postgres;
pub use server::Server;
pub use sharded::ShardedPostgres;
pub use test_database::TestDatabase;
pub use test_folder::TestFolder;
#[cfg(feature = "tls")]
pub use tls::Authority;
