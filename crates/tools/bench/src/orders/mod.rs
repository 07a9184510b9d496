//! Orders with their customers and lines: as nested structs, and as rows of a join; compared with the same two statements,
//! and the same one, by hand.

mod contender;
mod data;
mod raw;

pub(crate) use contender::{ENGINES, OrdersEngine};
pub(crate) use raw::ENGINES as RAW_ENGINES;

use bobak::Shape;
use data::{Customer, Item, Purchase};

/// An order with its customer and its lines: the result of `related`.
#[derive(Shape)]
#[shape(of = Purchase)]
struct PurchasePage {
    id: i64,
    placed: i64,
    #[shape(one = Purchase::CUSTOMER)]
    customer: CustomerName,
    #[shape(many = Purchase::LINES, order_by = Item::ID.asc())]
    lines: Vec<ItemPage>,
}

#[derive(Shape)]
#[shape(of = Customer)]
struct CustomerName {
    name: String,
}

#[derive(Shape)]
#[shape(of = Item)]
struct ItemPage {
    product: String,
    quantity: i64,
    price: i64,
}

/// A row of `typed join`: the order's key, the customer's name, and a line's product, quantity and price.
type JoinedLine = (i64, String, String, i64, i64);
