//! Permissions on real engines.

#![allow(missing_docs, clippy::unwrap_used, reason = "tests: what fails says where")]

mod actors; // the recorded actor of changes
mod authentication; // tokens, passwords, and changes of the access file
mod conformance; // the suite that every engine passes, for a caller with all permissions
mod foreign_keys; // references to hidden rows
mod hidden_data; // random requests to two databases that differ in what is hidden
mod permissions; // every kind of call, with and without its permission; hidden tables
mod plans; // how statements run, within and beyond the permissions
mod row_rules; // rows that a rule hides, for every kind of call
mod shop; // the database that the tests use
mod sql;
mod value_parts; // values in parts, within and beyond the permissions // SQL within and beyond the permissions // random requests to two databases that differ in what is hidden
