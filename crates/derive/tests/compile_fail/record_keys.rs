extern crate self as bobak;

mod __private {
    pub use bobak_core::*;
    pub use std::sync::Arc;
}

use bobak_derive::Record;

#[derive(Record)]
struct NoKey {
    name: String,
}

#[derive(Record)]
struct MayBeNull {
    id: Option<i64>,
}

#[derive(Record)]
struct OneMayBeNull {
    #[record(key)]
    a: i64,
    #[record(key)]
    b: std::option::Option<String>,
}

#[derive(Record)]
struct Long {
    #[record(key)]
    a: i64,
    #[record(key)]
    b: i64,
    #[record(key)]
    c: i64,
    #[record(key)]
    d: i64,
    #[record(key)]
    e: i64,
    #[record(key)]
    f: i64,
    #[record(key)]
    g: i64,
    #[record(key)]
    h: i64,
    #[record(key)]
    i: i64,
}

#[derive(Record)]
struct Changing {
    #[record(key, version)]
    id: i64,
}

fn main() {}
