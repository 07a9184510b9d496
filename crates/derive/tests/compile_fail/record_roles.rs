extern crate self as bobak;

mod __private {
    pub use bobak_core::*;
    pub use std::sync::Arc;
}

use bobak_derive::Record;

#[derive(Record)]
struct Person {
    id: i64,
    #[record(created_at)]
    created: i64,
    #[record(modified_at)]
    modified: Option<Timestamp>,
    #[record(version)]
    version: u32,
    #[record(version)]
    again: i64,
    #[record(created_at, modified_at)]
    both: Timestamp,
}

fn main() {}
