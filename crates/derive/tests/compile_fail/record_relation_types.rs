//! References by several fields, of other types than the fields that they refer to.

mod bobak {
    pub use bobak_core::*;
    pub use bobak_derive::*;
    pub mod __private {
        pub use bobak_core::*;
        pub use std::sync::Arc;
    }
}

use bobak::Record;

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
#[record(foreign_key(shop, order_number, references = Order(number, shop)))]
struct Line {
    id: i64,
    shop: String,
    order_number: i64,
}

fn main() {}
