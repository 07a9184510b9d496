extern crate self as bobak;

mod __private {
    pub use bobak_core::*;
    pub use std::sync::Arc;
}

use bobak_derive::Record;

#[derive(Record)]
#[record(
    index(),
    index(unique),
    index(nobody, cache),
    index(last_name),
    index(last, last),
    index(last = 1, name = ""),
    index(first, name = "person_email_unique"),
    index(first, last),
    index(first, last, unique)
)]
struct Person {
    id: i64,
    first: String,
    #[record(column = "last_name")]
    last: String,
    #[record(unique, index)]
    email: String,
    #[record(skip)]
    cache: String,
}

fn main() {}
