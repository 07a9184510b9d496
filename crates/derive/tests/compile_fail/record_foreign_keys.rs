extern crate self as bobak;

mod __private {
    pub use bobak_core::*;
    pub use std::sync::Arc;
}

use bobak_derive::Record;

#[derive(Record)]
#[record(foreign_key(a, b, references = "t"))]
#[record(foreign_key(a, references = "t(x, y)"))]
#[record(foreign_key(c, references = "t(x)"))]
#[record(foreign_key(a, b, references = "t(x, y)", on_delete = "set_null"))]
#[record(foreign_key(a, a, references = "t(x, y)"))]
#[record(foreign_key(a = 1, references = "t(x)"))]
struct Line {
    id: i64,
    a: i64,
    b: Option<i64>,
}

#[derive(Record)]
#[record(foreign_key(a, b, references = Order(x)))]
#[record(foreign_key(a, b, references = Order))]
#[record(foreign_key(a, b))]
#[record(foreign_key(a, b, references = "order(x, y)", relation = ORDER))]
struct WrongTargets {
    id: i64,
    a: i64,
    b: i64,
}

#[derive(Record)]
#[record(
    foreign_key(a, b, references = Order(x, y)),
    foreign_key(a, c, references = Order(x, y)),
    foreign_key(a, c, references = Order(x, y), relation = ITEM)
)]
struct SameNames {
    id: i64,
    a: i64,
    b: i64,
    c: i64,
    #[record(references = Item)]
    item_id: i64,
}

#[derive(Record)]
#[record(never_reuse_keys)]
struct Given {
    #[record(key)]
    name: String,
}

#[derive(Record)]
#[record(foreign_key(a, b, references = "t(x, y)", on_delete = "restrict", deferred))]
struct Deferred {
    id: i64,
    a: i64,
    b: i64,
    #[record(references = "t(x)", on_delete = "restrict", deferred)]
    c: i64,
}

fn main() {}
