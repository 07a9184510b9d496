extern crate self as bobak;

mod __private {
    pub use bobak_core::*;
    pub use std::sync::Arc;
}

use bobak_derive::Record;

#[derive(Record)]
#[record(search(title, stars, language = "klingon"))]
struct Language {
    id: i64,
    title: String,
    stars: i64,
}

#[derive(Record)]
#[record(search(title, stars, nothing))]
struct Fields {
    id: i64,
    title: String,
    stars: i64,
}

#[derive(Record)]
#[record(search(title, title))]
struct Twice {
    id: i64,
    title: String,
}

#[derive(Record)]
#[record(search(language = "english"))]
struct Empty {
    id: i64,
    title: String,
}

fn main() {}
