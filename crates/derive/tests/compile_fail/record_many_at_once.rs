//! One struct with mistakes of every kind: all are reported, each at its place.

extern crate self as bobak;

mod __private {
    pub use bobak_core::*;
    pub use std::sync::Arc;
}

use bobak_derive::Record;

#[derive(Record)]
#[record(tabel = "people", index(surname))]
struct Person<T> {
    id: Option<i64>,
    #[record(max = "40", unique = "yes")]
    first_name: String,
    #[record(column = "FIRST_NAME", collation = "latin")]
    last_name: String,
    #[record(max = 3)]
    age: u8,
    #[record(version)]
    version: String,
    #[record(references = Person, on_delete = "set_null")]
    boss: i64,
    #[record(skip, index)]
    cache: Vec<T>,
}

fn main() {}
