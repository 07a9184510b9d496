extern crate self as bobak;

mod __private {
    pub use bobak_core::*;
    pub use std::sync::Arc;
}

use bobak_derive::Record;

enum OnRequest<T> {
    NotLoaded,
    Loaded(T),
}

#[derive(Record)]
struct Key {
    id: OnRequest<i64>,
    name: String,
}

#[derive(Record)]
struct Encrypted {
    id: i64,
    #[record(encrypted)]
    name: OnRequest<String>,
}

#[derive(Record)]
struct Version {
    id: i64,
    #[record(version)]
    version: OnRequest<i64>,
}

fn main() {}
