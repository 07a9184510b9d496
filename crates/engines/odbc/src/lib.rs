//! The engine for any database that has an ODBC driver.
//!
//! Reading order: settings → what the database is → the driver manager's calls → connections and their pool → values →
//! sessions → writes of rows, batches, queries → the schema.
//!
//! Of PostgreSQL, MariaDB and MySQL, Bobak knows the dialect: it uses the statements of their own engines, and queries run
//! in the database. Of any other database it expects standard SQL only: it reads rows, and computes conditions, orders
//! and sums itself. See `docs/odbc.md`.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod batch;
mod connection;
mod dialect;
mod driver;
mod engine;
mod error;
mod moments;
mod product;
mod query;
mod results;
mod schema;
mod session;
mod settings;
mod values;
mod writes;

pub use engine::Odbc;
pub use settings::OdbcBuilder;
