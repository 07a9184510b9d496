//! Database servers: where they are, and the raw lanes that Bobak's cells on them are held against.
//!
//! `home` finds or starts a server and makes a database of its own for each lane; `postgres` and
//! `mariadb` do the benchmark's work through the usual drivers and the servers' own client, in the
//! fastest way that was found for each cell; `values` is what those drivers lack.

mod home;
mod mariadb;
mod postgres;
mod values;

pub(crate) use home::{Home, Kind};
pub(crate) use mariadb::MARIADB;
pub(crate) use postgres::POSTGRES;
