extern crate self as bobak;

mod __private {
    pub use bobak_core::*;
    pub use std::sync::Arc;
}

use bobak_derive::Record;

#[derive(Record)]
struct Line {
    #[record(generated = "quantity + 1")]
    id: i64,
    quantity: i64,
    #[record(generated = "quantity * 2", default = 0)]
    twice: i64,
    #[record(generated = "quantity", range = 0..=9)]
    same: i64,
    #[record(generated = "quantity + 2")]
    small: i32,
    #[record(generated = "name || '!'", max = 9)]
    loud: String,
    #[record(generated = "name", version)]
    version: i64,
    #[record(generated)]
    nothing: i64,
    name: String,
}

fn main() {}
