extern crate self as bobak;

mod __private {
    pub use bobak_core::*;
    pub use std::sync::Arc;
}

use bobak_derive::Record;

#[derive(Record)]
struct Person {
    id: i64,
    #[record(max = 4, collation = "nocase")]
    number: i32,
    #[record(store = "text")]
    text: String,
    #[record(skip, unique, column = "x")]
    skipped: String,
    #[record(on_delete = "cascade")]
    alone: i64,
    #[record(references = Person, on_delete = "set_null")]
    boss: i64,
    size: usize,
    letter: char,
    borrowed: &'static str,
    array: [u8; 16],
    pair: (i64, i64),
    nested: Option<Option<i64>>,
    #[record(default = 256)]
    small: u8,
    #[record(default = 1)]
    text_or_number: String,
    #[record(default = "a")]
    number_or_text: Option<i64>,
    #[record(default = 0.5)]
    whole: i64,
    #[record(default = 0)]
    flag: bool,
    #[record(default = "too long", max = 7)]
    long: String,
}

fn main() {}
