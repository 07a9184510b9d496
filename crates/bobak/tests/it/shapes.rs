//! Shapes of many rows against the same rows read one by one, and statements at any depth.

use crate::engines::on_each;
use crate::relations::Counted;
use bobak::prelude::*;
use bobak::relation::{ToMany, ToOne};
use bobak::{BatchOptions, Shape};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Record, Debug, Clone, PartialEq)]
struct Shelf {
    id: i64,
    room: i64,
}

// Without foreign keys: some books and loans refer to nothing.
#[derive(Record, Debug, Clone, PartialEq)]
struct Book {
    id: i64,
    #[record(index)]
    shelf_id: i64,
    title: String,
}

#[derive(Record, Debug, Clone, PartialEq)]
struct Loan {
    id: i64,
    #[record(index)]
    book_id: i64,
    days: i64,
}

impl Shelf {
    const BOOKS: ToMany<Shelf, Book> = Book::SHELF.inverse();
}

impl Book {
    const SHELF: ToOne<Book, Shelf> = Book::SHELF_ID.refers_to();
    const LOANS: ToMany<Book, Loan> = Loan::BOOK_ID.refers_to::<Book>().inverse();
}

#[derive(Shape, Debug, PartialEq)]
#[shape(of = Book)]
struct BookPage {
    title: String,
    #[shape(one = Book::SHELF)]
    shelf: Option<Shelf>,
    #[shape(many = Book::LOANS, filter = Loan::DAYS.gt(1))]
    loans: Vec<Loan>,
}

#[derive(Shape, Debug, PartialEq)]
#[shape(of = Shelf)]
struct ShelfPage {
    id: i64,
    #[shape(many = Shelf::BOOKS, order_by = Book::TITLE.desc())]
    books: Vec<Book>,
    #[shape(many = Shelf::BOOKS)]
    pages: Vec<BookPage>,
    #[shape(many = Shelf::BOOKS, order_by = Book::ID.desc(), limit = 1)]
    last: Vec<Book>,
    #[shape(many = Shelf::BOOKS, select = Book::TITLE)]
    titles: Vec<String>,
    #[shape(count = Shelf::BOOKS, filter = Book::ID.gt(900))]
    count: u64,
    #[shape(many = Shelf::BOOKS.then_many(Book::LOANS), order_by = Loan::DAYS.desc())]
    loans: Vec<Loan>,
}

fn fill(db: &Db) {
    db.create_missing_tables().unwrap();
    let mut batch = db.batch(BatchOptions::new());
    for id in (1..=1_200).filter(|id| id % 7 != 0) {
        batch.insert(&Shelf { id, room: id % 5 }).unwrap();
    }
    for id in 1..=2_600 {
        let (shelf_id, title) = (id * 37 % 1_300 - 20, format!("t{}", id % 89));
        batch.insert(&Book { id, shelf_id, title }).unwrap();
        batch.insert(&Loan { id, book_id: id * 11 % 2_700, days: id % 3 }).unwrap();
    }
    batch.finish().unwrap();
}

/// The same, from all rows.
fn expected(db: &Db, shelves: &[Shelf]) -> Vec<ShelfPage> {
    let books: Vec<Book> = db.table().unwrap().list(Query::all()).unwrap();
    let loans: Vec<Loan> = db.table().unwrap().list(Query::all()).unwrap();
    let page = |shelf: &Shelf| {
        let own: Vec<Book> = books.iter().filter(|one| one.shelf_id == shelf.id).cloned().collect();
        let of_book =
            |book: &Book| loans.iter().filter(|one| one.book_id == book.id).cloned().collect();
        let mut all: Vec<Loan> = own.iter().flat_map::<Vec<Loan>, _>(of_book).collect();
        all.sort_by_key(|loan| (-loan.days, loan.id));
        let mut sorted = own.clone();
        sorted.sort_by(|a, b| b.title.cmp(&a.title).then(a.id.cmp(&b.id)));
        let book_page = |book: &Book| BookPage {
            title: book.title.clone(),
            shelf: Some(shelf.clone()),
            loans: of_book(book).into_iter().filter(|loan| loan.days > 1).collect(),
        };
        ShelfPage {
            id: shelf.id,
            books: sorted,
            pages: own.iter().map(book_page).collect(),
            last: own.last().cloned().into_iter().collect(),
            titles: own.iter().map(|book| book.title.clone()).collect(),
            count: own.iter().filter(|book| book.id > 900).count() as u64,
            loans: all,
        }
    };
    shelves.iter().map(page).collect()
}

fn check(db: &Db) {
    fill(db);
    let shelves = db.table::<Shelf>().unwrap();
    let queries = [
        Query::all(),
        Query::all().order_by(Shelf::ROOM.desc()),
        Query::filter(Shelf::ID.le(1_100)).order_by(Shelf::ID.desc()),
        Query::filter(Shelf::ROOM.ne(2)),
        Query::all().limit(700).offset(100),
        Query::filter(Shelf::ID.lt(20)),
    ];
    for (number, query) in queries.into_iter().enumerate() {
        let found: Vec<ShelfPage> = shelves.load(&query, &()).unwrap();
        let rows: Vec<Shelf> = shelves.load(&query, &()).unwrap();
        assert_eq!(rows, shelves.list(&query).unwrap(), "query {number}");
        for (found, expected) in found.iter().zip(expected(db, &rows)) {
            assert_eq!(*found, expected, "query {number}");
        }
        assert_eq!(found.len(), rows.len(), "query {number}");
    }
    // Books without a shelf, and several with the same one.
    let books = db.table::<Book>().unwrap();
    let pages: Vec<BookPage> = books.load(Query::all(), &()).unwrap();
    for (page, book) in pages.iter().zip(books.list(Query::all()).unwrap()) {
        let shelf = shelves.get(book.shelf_id).unwrap();
        assert_eq!((&page.title, &page.shelf), (&book.title, &shelf));
    }
}

fn model() -> bobak::DbBuilder {
    Db::builder().record::<Shelf>().record::<Book>().record::<Loan>()
}

#[test]
fn shapes_of_many_rows_have_each_its_own() {
    check(&model().open("memory:").unwrap());
    check(&model().open("sqlite::memory:").unwrap());
}

#[cfg(all(feature = "mysql", feature = "postgres"))]
#[test]
fn shapes_of_many_rows_have_each_its_own_on_servers() {
    crate::engines::on_servers(|url| check(&model().open(url).unwrap()));
}

#[derive(Shape)]
#[shape(of = Loan)]
struct DeepLoan {
    #[shape(one = Loan::BOOK_ID.refers_to::<Book>())]
    book: Option<Book>,
}

#[derive(Shape)]
#[shape(of = Book)]
struct DeepBook {
    #[shape(many = Book::LOANS)]
    loans: Vec<DeepLoan>,
}

#[derive(Shape)]
#[shape(of = Shelf)]
struct DeepShelf {
    id: i64,
    #[shape(many = Shelf::BOOKS)]
    books: Vec<DeepBook>,
}

#[test]
fn the_statements_depend_on_the_levels_alone() {
    // SQLite reads loans with their books.
    for (url, statements) in [("sqlite::memory:", 3), ("memory:", 4)] {
        let queries = Arc::new(AtomicU64::new(0));
        let inner = bobak::engine::open(url).unwrap();
        let db = model().open_engine(Counted { inner, queries: Arc::clone(&queries) }).unwrap();
        fill(&db);
        let shelves = db.table::<Shelf>().unwrap();
        for (most, count) in [(2, 2), (2_000, 1_029)] {
            queries.store(0, Ordering::Relaxed);
            let found: Vec<DeepShelf> = shelves.load(Shelf::ID.le(most), &()).unwrap();
            assert_eq!(queries.load(Ordering::Relaxed), statements, "{url}");
            assert_eq!(found.len(), count);
            let loans = found.iter().flat_map(|shelf| &shelf.books).flat_map(|book| &book.loans);
            let books: Vec<_> = loans.filter_map(|loan| loan.book.as_ref()).collect();
            assert!(!books.is_empty() && found.iter().all(|shelf| shelf.id <= most));
        }
    }
}

/// Each engine has its own way to read a range and a list of keys.
#[test]
fn shapes_of_few_rows_have_each_its_own() {
    on_each(|place| {
        let db = model().open(&place.url).unwrap();
        fill(&db);
        let shelves = db.table::<Shelf>().unwrap();
        let query = Query::filter(Shelf::ID.lt(40));
        let found: Vec<ShelfPage> = shelves.load(&query, &()).unwrap();
        assert_eq!(found, expected(&db, &shelves.list(&query).unwrap()));
    });
}
