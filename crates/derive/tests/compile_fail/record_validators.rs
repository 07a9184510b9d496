//! Normalizers and validators that cannot be read, or are on a field that takes none.

extern crate self as bobak;

mod __private {
    pub use bobak_core::*;
    pub use std::sync::Arc;
}

use bobak_core::Timestamp;
use bobak_derive::Record;

#[derive(Record)]
#[record(validate = "check")]
struct Wrong {
    #[record(key, trim)]
    code: String,
    #[record(trim = 3, email)]
    age: i64,
    #[record(length = 1..80)]
    name: String,
    #[record(length = 9..=8)]
    short: String,
    #[record(length = ..)]
    any: String,
    #[record(validate = 5, validate = |value| Ok(()))]
    number: i64,
    #[record(created_at, validate = check)]
    created: Timestamp,
    #[record(pattern = [a-z])]
    letters: String,
    #[record(length = ..=16, email)]
    bytes: Option<Vec<u8>>,
}

fn main() {}
