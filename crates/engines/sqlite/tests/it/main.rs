//! The SQLite engine from outside.

// Also in the functions that only help tests, which the lint's own exception does not know.
#![allow(clippy::unwrap_used)]

mod raw;
mod support;

mod alter_table;
mod backup; // on a disk that fails
mod batches; // a batch does what row by row does
mod checkpoints; // who checkpoints the log
mod commit; // several threads' writes in one transaction
mod cursors; // cursors see the moment of their opening
mod faults; // the disk that fails
mod files; // settings, and bad files
mod functions; // SQL functions written in Rust
mod group; // the queue of group commit
mod nearest; // the nearest rows by vectors in memory
mod pinned_read; // the read transaction between single operations
mod rollback; // readers let a rollback journal commit
mod rows; // one row written and read, and what is rejected
mod second_writer; // reads on the writing connection
mod shape_statements; // typed statements are kept by their shape
mod speed; // measures, when asked to
mod tables; // the schema read from a file
mod transactions; // steps, timeouts, threads
