//! The SQLite engine from outside.

mod support;

mod batches; // a batch does what row by row does
mod rows; // one row written and read, and what is refused
mod tables; // the schema read from a file
