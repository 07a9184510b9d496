//! Common mistakes in queries: each message names the column or the record, or points at it.

mod bobak {
    pub use bobak_core::*;
    pub use bobak_derive::*;
    pub mod __private {
        pub use bobak_core::*;
        pub use std::sync::Arc;
    }
}

use bobak::join::{ExpressionMethods, from, nth};
use bobak::{Currency, Query, Record};

#[derive(Record)]
#[record(crate = "crate::bobak")]
struct Person {
    id: i64,
    name: String,
    age: i64,
    nick: Option<String>,
}

/// As of a field that is encrypted, which needs a feature.
const NOTE: bobak::EncryptedColumn<Person, String> = bobak::EncryptedColumn::new(1);

#[derive(Record)]
#[record(crate = "crate::bobak")]
struct Order {
    id: i64,
    #[record(references = Person)]
    person_id: i64,
    total: Currency,
}

fn main() {
    // A value of another type.
    let _ = Query::filter(Person::AGE.eq("18"));
    // A filter of another record.
    let _ = Query::<Order>::filter(Person::AGE.eq(18));
    // A record that is not joined.
    let _ = from::<Order>().order_by(Person::NAME.asc());
    // A relation of another record.
    let _ = from::<Person>().join(Order::PERSON);
    // The sum of texts.
    let _ = from::<Person>().select(Person::NAME.sum());
    // A function of texts, of a number.
    let _ = from::<Person>().select(Person::AGE.lower());
    // Money and a number without a unit.
    let _ = from::<Order>().select(Order::TOTAL + 1);
    // Two columns of different types.
    let _ = from::<Person>().and(Person::AGE.into_expr().gt(Person::NAME));
    // Keys of different types.
    let names = from::<Person>().select(Person::NAME);
    let _ = from::<Order>().and(Order::PERSON_ID.is_in_query(names));
    // Rows of different types.
    let ages = from::<Person>().select(Person::AGE);
    let _ = from::<Person>().select(Person::NAME).union(ages);
    // A column that is not there.
    let all = from::<Person>().select((Person::NAME, Person::AGE)).into_rows();
    let _ = all.order_by(nth::<2>().asc());
    // A column set to a value of another type.
    let _ = Person::AGE.set("18");
    // A text for a column that may be NULL.
    let _ = Person::NICK.set(Some("x"));
    // A comparison of values that are stored as different bytes.
    let _ = NOTE.eq("x");
}
