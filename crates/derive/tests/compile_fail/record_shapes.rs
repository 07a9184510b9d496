extern crate self as bobak;

mod __private {
    pub use bobak_core::*;
    pub use std::sync::Arc;
}

use bobak_derive::Record;

#[derive(Record)]
enum Choice {
    A,
}

#[derive(Record)]
struct Tuple(i64);

#[derive(Record)]
struct Unit;

#[derive(Record)]
struct Empty {}

#[derive(Record)]
union Bits {
    a: i64,
}

#[derive(Record)]
struct Generic<T> {
    id: i64,
    value: T,
}

#[derive(Record)]
struct Borrowed<'a> {
    id: i64,
    name: &'a str,
}

#[derive(Record)]
struct AllSkipped {
    #[record(skip)]
    id: i64,
}

fn main() {}
