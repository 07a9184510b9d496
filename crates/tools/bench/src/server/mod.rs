//! Database servers, and the raw contenders that Bobak's cells on them are compared with.
//!
//! `home` finds or starts a server and creates a database for each contender; `postgres`, `mariadb`, `firebird` and `odbc` do the benchmark's
//! work through the usual drivers and the servers' own client, in the fastest way found for each cell; `values` is what
//! those drivers lack.

#[cfg(feature = "firebird")]
mod firebird;
mod home;
mod mariadb;
#[cfg(feature = "odbc")]
mod odbc;
mod postgres;
mod values;

#[cfg(feature = "firebird")]
pub(crate) use firebird::FIREBIRD;
pub(crate) use home::{Home, ServerKind};
pub(crate) use mariadb::MARIADB;
#[cfg(feature = "odbc")]
pub(crate) use odbc::{ODBC, connection_string};
pub(crate) use postgres::{POSTGRES, connect};
