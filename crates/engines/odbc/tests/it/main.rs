//! Tests of the ODBC engine: psqlodbc and MariaDB's driver against real servers, those that `BOBAK_TEST_POSTGRES` and
//! `BOBAK_TEST_MARIADB` name or private ones, and SQLite's driver on a file.

#![allow(missing_docs, clippy::unwrap_used, reason = "tests")]

mod conformance; // the suite that every engine passes
mod failures;
mod losses;
mod lying_drivers; // what goes wrong, and a file of SQLite
mod moments;
mod stores; // a schema or a database for each test
mod views;
