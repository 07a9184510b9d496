extern crate self as bobak;

mod __private {
    pub use bobak_core::*;
    pub use std::sync::Arc;
}

use bobak_derive::Record;

#[derive(Record)]
#[record(index(number))]
struct Person {
    #[record(encrypted)]
    id: i64,
    #[record(encrypted, unique)]
    email: String,
    #[record(encrypted)]
    number: i64,
    #[record(encrypted, default = 3)]
    count: i64,
    #[record(encrypted, references = Person)]
    boss: i64,
    #[record(encrypted(searchable))]
    weight: f64,
    #[record(encrypted(findable))]
    note: String,
    #[record(encrypted = "searchable")]
    other: String,
    #[record(encrypted, collation = "nocase")]
    name: String,
}

#[derive(Record)]
#[record(view)]
struct View {
    #[record(key)]
    id: i64,
    #[record(encrypted)]
    name: String,
}

fn main() {}
