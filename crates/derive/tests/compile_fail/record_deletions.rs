extern crate self as bobak;

mod __private {
    pub use bobak_core::*;
    pub use std::sync::Arc;
}

use bobak_derive::Record;

#[derive(Record)]
struct Note {
    id: i64,
    #[record(deleted_at)]
    deleted_at: Timestamp,
    #[record(deleted_at)]
    again: Option<Timestamp>,
}

#[derive(Record)]
#[record(view)]
struct Line {
    #[record(deleted_at)]
    deleted_at: Option<Timestamp>,
}

#[derive(Record)]
struct Page {
    #[record(deleted_at)]
    id: i64,
    #[record(deleted_at, references = "page(id)")]
    deleted_at: Option<Timestamp>,
}

#[derive(Record)]
struct Word {
    id: i64,
    #[record(deleted_at, validate = check)]
    deleted_at: Option<Timestamp>,
}

#[derive(Record)]
struct Item {
    id: i64,
    #[record(live)]
    live: Option<bool>,
}

#[derive(Record)]
struct Part {
    id: i64,
    #[record(deleted_at)]
    deleted_at: Option<Timestamp>,
    #[record(live)]
    live: bool,
    #[record(live, default = true)]
    again: Option<bool>,
}

fn main() {}
