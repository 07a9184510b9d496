//! A mistake in an attribute is the only error: what uses the record compiles.

extern crate self as bobak;

mod __private {
    pub use bobak_core::*;
    pub use std::sync::Arc;
}

use bobak_core::{FromRow, Query, Record as _, Timestamp, ToMany};
use bobak_derive::Record;

#[derive(Record)]
struct Author {
    id: i64,
    name: String,
}

#[derive(Record)]
#[record(key(shop, number))]
struct Book {
    id: i64,
    #[record(max_length = 40)]
    title: String,
    #[record(references = Author)]
    author_id: i64,
    #[record(deleted_at)]
    deleted_at: Option<Timestamp>,
}

impl Author {
    const BOOKS: ToMany<Author, Book> = Book::AUTHOR.inverse();
}

fn of_author(key: <Author as bobak_core::Record>::Key) -> Query<Book> {
    let named = Book::AUTHOR.has(Author::NAME.eq("Ada"));
    Query::filter(Book::AUTHOR_ID.eq(key).and(Book::TITLE.eq("Notes")).and(named))
}

fn first<T: FromRow>(query: Query<Book>) -> Option<T> {
    let _ = (query, Author::BOOKS.exists(), Book::schema());
    None
}

fn main() {
    let book: Option<Book> = first(of_author(1));
    let _ = book.map(|book| (book.key(), book.title));
}
