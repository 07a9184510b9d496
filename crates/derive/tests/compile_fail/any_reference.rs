extern crate self as bobak;

mod __private {
    pub use bobak_core::*;
    pub use std::sync::Arc;
}

use bobak_derive::{AnyReference, Record};

#[derive(AnyReference)]
struct NoEnum {
    id: i64,
}

#[derive(AnyReference)]
enum Empty {}

#[derive(AnyReference)]
#[any(record = Article)]
enum Target {
    Article,
    #[any(table = "photo")]
    Photo(i64),
    Pair(i64, i64),
}

#[derive(Record)]
struct Comment {
    id: i64,
    #[record(any, unique, column = "x")]
    target: Target,
}

fn main() {}
