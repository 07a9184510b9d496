extern crate self as bobak;

mod __private {
    pub use bobak_core::*;
    pub use std::sync::Arc;
}

use bobak_derive::Record;

#[derive(Record)]
struct Person {
    id: i64,
    #[record(column = "NAME")]
    first: String,
    name: String,
    #[record(column = "Id")]
    other: i64,
}

#[derive(Record)]
#[allow(non_snake_case)]
struct Constants {
    id: i64,
    a_b: String,
    #[record(column = "x")]
    aB: String,
}

fn main() {}
