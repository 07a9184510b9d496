//! The records, and the orders that are stored.

use bobak::relation::ToMany;
use bobak::{BatchOptions, Db, Record};

use super::{JoinedLine, PurchasePage};
use crate::contender::Failure;

#[derive(Record)]
pub(super) struct Customer {
    pub id: i64,
    pub name: String,
}

#[derive(Record)]
pub(super) struct Purchase {
    pub id: i64,
    #[record(references = Customer, index)]
    pub customer_id: i64,
    pub placed: i64,
}

#[derive(Record)]
pub(super) struct Item {
    pub id: i64,
    #[record(references = Purchase, index)]
    pub purchase_id: i64,
    pub product: String,
    pub quantity: i64,
    pub price: i64,
}

impl Purchase {
    pub const LINES: ToMany<Self, Item> = Item::PURCHASE.inverse();
}

/// So many lines has each order.
const LINES: i64 = 3;
/// So many orders has each customer.
const PURCHASES: i64 = 5;

/// Stores so many orders, whose lines lie in their order, as a shop writes them.
pub(super) fn store(db: &Db, purchases: usize) -> Result<(), Failure> {
    db.create_missing_tables()?;
    let purchases = i64::try_from(purchases).map_err(|error| Failure::new(error.to_string()))?;
    let mut batch = db.batch(BatchOptions::new().keep_outcomes(false));
    for id in 1..=purchases / PURCHASES + 1 {
        batch.insert(&Customer { id, name: format!("Customer {id}") })?;
    }
    for id in 1..=purchases {
        batch.insert(&Purchase {
            id,
            customer_id: id % (purchases / PURCHASES + 1) + 1,
            placed: id * 60,
        })?;
    }
    for id in 0..purchases * LINES {
        let product = format!("Product {}", id % 1_000);
        let (purchase_id, quantity, price) = (id / LINES + 1, id % 7 + 1, id % 500);
        batch.insert(&Item { id: id + 1, purchase_id, product, quantity, price })?;
    }
    batch.finish()?;
    Ok(())
}

/// Checks each order of a result, and the customer and lines that belong to it.
pub(super) fn check_pages(pages: &[PurchasePage], purchases: usize) -> Result<(), Failure> {
    let customers = purchases as i64 / PURCHASES + 1;
    let is_right = |(page, id): (&PurchasePage, i64)| {
        let mut lines = page.lines.iter().zip((id - 1) * LINES..);
        page.id == id
            && page.placed == id * 60
            && page.customer.name.strip_prefix("Customer ")
                == Some(&*(id % customers + 1).to_string())
            && page.lines.len() as i64 == LINES
            && lines.all(|(line, at)| is_line((&line.product, line.quantity, line.price), at))
    };
    if pages.len() != purchases || !pages.iter().zip(1..).all(is_right) {
        return Err(Failure::new(
            "the orders, or their customers or lines, are not those that were stored",
        ));
    }
    Ok(())
}

/// Checks each row of a join.
pub(super) fn check_lines(lines: &[JoinedLine], purchases: usize) -> Result<(), Failure> {
    let customers = purchases as i64 / PURCHASES + 1;
    let is_right = |((id, name, product, quantity, price), at): (&JoinedLine, i64)| {
        *id == at / LINES + 1
            && name.strip_prefix("Customer ") == Some(&*(id % customers + 1).to_string())
            && is_line((product, *quantity, *price), at)
    };
    if lines.len() as i64 != purchases as i64 * LINES || !lines.iter().zip(0..).all(is_right) {
        return Err(Failure::new("the rows of the join are not those that were stored"));
    }
    Ok(())
}

fn is_line((product, quantity, price): (&str, i64, i64), at: i64) -> bool {
    product.strip_prefix("Product ") == Some(&*(at % 1_000).to_string())
        && (quantity, price) == (at % 7 + 1, at % 500)
}
