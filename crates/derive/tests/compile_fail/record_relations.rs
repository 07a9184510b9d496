//! References by several fields: the compiler knows the record and its fields, and what the relation leads to.

mod bobak {
    pub use bobak_core::*;
    pub use bobak_derive::*;
    pub mod __private {
        pub use bobak_core::*;
        pub use std::sync::Arc;
    }
}

use bobak::{Query, Record, ToMany};

#[derive(Record)]
#[record(crate = "crate::bobak")]
struct Order {
    #[record(key)]
    shop: String,
    #[record(key)]
    number: i64,
}

#[derive(Record)]
#[record(crate = "crate::bobak")]
#[record(foreign_key(shop, order_number, references = Order(shop, number)))]
struct Line {
    id: i64,
    shop: String,
    order_number: i64,
}

#[derive(Record)]
#[record(crate = "crate::bobak")]
#[record(foreign_key(shop, order_number, references = Order(shop, num)))]
struct WrongField {
    id: i64,
    shop: String,
    order_number: i64,
}

#[derive(Record)]
#[record(crate = "crate::bobak")]
#[record(foreign_key(shop, order_number, references = Invoice(shop, number)))]
struct WrongRecord {
    id: i64,
    shop: String,
    order_number: i64,
}

impl Order {
    // The other direction.
    const LINES: ToMany<Line, Order> = Line::ORDER.inverse();
}

fn main() {
    // A filter of another record.
    let _ = Line::ORDER.has(Line::SHOP.eq("a"));
    // A relation of another record.
    let _ = Query::<Order>::all().join(Line::ORDER);
}
