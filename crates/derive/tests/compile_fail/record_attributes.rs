extern crate self as bobak;

mod __private {
    pub use bobak_core::*;
    pub use std::sync::Arc;
}

use bobak_derive::Record;

#[derive(Record)]
#[record]
#[record(table = "")]
#[record(tables = "x", unique, index, crate = "a b")]
#[record(table(name))]
struct A {
    #[record(id = 1)]
    id: i64,
    #[record(table = "x")]
    b: String,
    #[record("x", max, max = 0, unique = true)]
    c: String,
    #[record(max = "40", column = "", check)]
    d: String,
    #[record(max = 4294967296)]
    e: String,
    #[record(collation = "german", store = "json")]
    f: String,
    #[record(references = "airline", on_delete = "forget")]
    g: String,
    #[record(default = None)]
    h: Option<String>,
    #[record(default = -true)]
    i: bool,
    #[record(default = 9223372036854775808)]
    j: i64,
    #[record(created_at = "now", unique())]
    k: Timestamp,
    #[record(key = "engine")]
    l: i64,
    #[record(max_chars = 40, primary_key, len = 3)]
    m: String,
}

fn main() {}
