//! What only the compiler knows of types.

use bobak_core::{Currency, Timestamp, Uuid};
use bobak_derive::Record;

mod shim {
    pub mod __private {
        pub use bobak_core::*;
        pub use std::sync::Arc;
    }
}

type Maybe = Option<i64>;
type Number = i64;
type Text = String;

#[derive(Record)]
#[record(crate = "crate::shim")]
struct Booking {
    #[record(key)]
    flight: i64,
    #[record(key)]
    code: Maybe,
}

#[derive(Record)]
#[record(crate = "crate::shim")]
struct Person {
    id: i64,
    #[record(created_at)]
    created: Number,
    #[record(version)]
    version: Timestamp,
    #[record(max = 40)]
    age: Number,
    #[record(collation = "nocase")]
    size: Number,
    #[record(store = "text")]
    amount: Currency,
    #[record(default = 1)]
    price: Currency,
    #[record(default = 1)]
    name: Text,
    #[record(references = Person, on_delete = "set_null")]
    boss: Number,
    #[record(references = Person)]
    other: Uuid,
}

fn main() {}
