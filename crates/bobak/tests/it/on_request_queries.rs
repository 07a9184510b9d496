//! Fields that are read on request, in joins, shapes, searches and queries for the nearest records.

use crate::engines::on_each;
use bobak::Shape;
use bobak::prelude::*;
use bobak::query::{Alias, PageRequest, from, whole};
use bobak::relation::ToMany;
use bobak::types::OnRequest::{Loaded, NotLoaded};

#[derive(Record, Clone, Debug, PartialEq)]
#[record(table = "requested_author")]
struct Author {
    biography: OnRequest<String>,
    id: i64,
    name: String,
}

#[derive(Record, Clone, Debug, PartialEq)]
#[record(table = "requested_book", search(title, summary, language = "english"))]
struct Book {
    id: i64,
    title: String,
    text: OnRequest<String>,
    summary: OnRequest<String>,
    #[record(references = Author, index)]
    author_id: Option<i64>,
    embedding: OnRequest<Vector<2>>,
}

impl Author {
    const BOOKS: ToMany<Self, Book> = Book::AUTHOR.inverse();
}

fn author(id: i64) -> Author {
    Author { biography: NotLoaded, id, name: format!("Author {id}") }
}

fn book(id: i64, author_id: Option<i64>) -> Book {
    let title = format!("Fox {id}");
    Book { id, title, text: NotLoaded, summary: NotLoaded, author_id, embedding: NotLoaded }
}

/// Two authors. The first one has the books 1 and 2; the book 3 has no author.
fn stored(url: &str) -> Db {
    let db = Db::builder().record::<Author>().record::<Book>().open(url).unwrap();
    db.create_missing_tables().unwrap();
    for id in [1, 2] {
        let biography = Loaded(format!("born in {id}"));
        db.table().unwrap().insert(&Author { biography, ..author(id) }).unwrap();
    }
    for (id, author_id) in [(1, Some(1)), (2, Some(1)), (3, None)] {
        let text = Loaded(format!("text {id}"));
        let summary = Loaded(format!("vixens in {id}"));
        let embedding = Loaded(Vector::from([id as f32, 1.0]));
        let stored = Book { text, summary, embedding, ..book(id, author_id) };
        db.table().unwrap().insert(&stored).unwrap();
    }
    db
}

fn check_joins(db: &Db) {
    let joined = from::<Book>().join(Book::AUTHOR);
    let expected = vec![(book(1, Some(1)), author(1)), (book(2, Some(1)), author(1))];
    assert_eq!(db.list(&joined).unwrap(), expected);
    let left = from::<Book>().left_join(Book::AUTHOR).and(Book::TEXT.eq("text 3".to_owned()));
    assert_eq!(db.list(&left).unwrap(), [(book(3, None), None)]);
    assert_eq!(db.list(&from::<Author>()).unwrap(), [author(1), author(2)]);

    // The column of the field, before a record and after it.
    let parts = (Book::TEXT, whole::<Author>(), whole::<Book>(), Author::BIOGRAPHY);
    let selected = Query::<Book>::all().join(Book::AUTHOR).select(parts).limit(1);
    let row = ("text 1".to_owned(), author(1), book(1, Some(1)), "born in 1".to_owned());
    assert_eq!(db.list(&selected).unwrap(), [row]);
    let pages = from::<Book>().order_by(Book::TEXT.desc());
    let page = db.page(&pages, PageRequest::size(2).with_total()).unwrap();
    assert_eq!(page.items, [book(3, None), book(2, Some(1))]);
    let next = db.page(&pages, PageRequest::size(2).after(page.next)).unwrap();
    assert_eq!((next.items, page.total), (vec![book(1, Some(1))], Some(3)));

    // Under another name, combined, and grouped.
    let alias = from::<Book>().join(Book::AUTHOR.to_alias::<Book>());
    let rows: Vec<(Book, Alias<Author, Book>)> = db.list(&alias).unwrap();
    assert_eq!((&rows[1].0, &*rows[1].1), (&book(2, Some(1)), &author(1)));
    let both = from::<Author>().union(from::<Author>());
    assert_eq!(db.list(&both).unwrap(), [author(1), author(2)]);
    let counts = from::<Author>().left_join(Author::BOOKS).group_by(Author::ID);
    let counts = db.list(&counts.select((whole::<Author>(), count::<Book>()))).unwrap();
    assert_eq!(counts, [(author(1), 2), (author(2), 0)]);

    let requesting = Query::all().with(Book::TEXT).join(Book::AUTHOR);
    assert_eq!(db.list(&requesting).unwrap_err().kind(), ErrorKind::Unsupported);
}

#[derive(Shape, Debug, PartialEq)]
#[shape(of = Author)]
struct AuthorPage {
    name: String,
    #[shape(many = Author::BOOKS, order_by = Book::ID.desc())]
    books: Vec<Book>,
}

#[derive(Shape, Debug, PartialEq)]
#[shape(of = Book)]
struct BookPage {
    text: String,
    #[shape(one = Book::AUTHOR)]
    author: Option<Author>,
}

fn check_shapes(db: &Db) {
    let books = db.table::<Book>().unwrap();
    let all = [book(1, Some(1)), book(2, Some(1)), book(3, None)];
    assert_eq!(books.load::<Book>(Query::all(), &()).unwrap(), all);
    let with = Query::all().with(Book::TEXT);
    let texts = books.load::<Book>(with.clone(), &()).unwrap();
    assert_eq!(texts[0], Book { text: Loaded("text 1".into()), ..book(1, Some(1)) });
    let by_text = Query::all().order_by(Book::TEXT.desc());
    let page = books.page::<Book>(by_text.clone(), &(), PageRequest::size(2)).unwrap();
    assert_eq!(page.items, [book(3, None), book(2, Some(1))]);
    let page = books.page::<Book>(by_text, &(), PageRequest::size(2).after(page.next)).unwrap();
    assert_eq!(page.items, all[..1]);
    let page = books.page::<Book>(with, &(), PageRequest::size(1)).unwrap();
    assert_eq!(page.items, texts[..1]);

    let authors: Vec<AuthorPage> = db.table::<Author>().unwrap().load(Query::all(), &()).unwrap();
    let first =
        AuthorPage { name: "Author 1".into(), books: vec![book(2, Some(1)), book(1, Some(1))] };
    assert_eq!(authors, [first, AuthorPage { name: "Author 2".into(), books: vec![] }]);
    let pages: Vec<BookPage> = books.load(Query::all().order_by(Book::ID.desc()), &()).unwrap();
    assert_eq!(pages[0], BookPage { text: "text 3".into(), author: None });
    assert_eq!(pages[2], BookPage { text: "text 1".into(), author: Some(author(1)) });
}

fn check_nearest(db: &Db) {
    let books = db.table::<Book>().unwrap();
    let wanted = Vector::from([1.9, 1.0]);
    let query = Query::all().nearest(Book::EMBEDDING.euclidean(&wanted), 2);
    let found = books.nearest(&query).unwrap();
    let records: Vec<_> = found.iter().map(|found| found.record.clone()).collect();
    assert_eq!(records, [book(2, Some(1)), book(1, Some(1))]);
    assert!((found[1].distance - 0.9).abs() < 1e-6);
    let found = books.nearest(query.with(Book::EMBEDDING)).unwrap();
    assert_eq!(found[0].record.embedding, Loaded(Vector::from([2.0, 1.0])));
}

fn check_search(db: &Db) {
    let books = db.table::<Book>().unwrap();
    let found = books.search(Book::search("vixens").and(Book::ID.eq(3))).unwrap();
    // What is searched is read for the snippet.
    let summary = Loaded("vixens in 3".into());
    assert_eq!(found[0].record, Book { summary, ..book(3, None) });
    assert_eq!(found[0].snippet.marked("[", "]"), "[vixens] in 3");
    let query = Book::search("vixens").and(Book::ID.eq(3)).with(Book::TEXT);
    assert_eq!(books.search(query).unwrap()[0].record.text, Loaded("text 3".into()));
    assert_eq!(books.list(Book::search("vixens").limit(1)).unwrap()[0].summary, NotLoaded);
}

fn check_returning(db: &Db) {
    let books = db.table::<Book>().unwrap().returning(whole::<Book>());
    let title = "Fox 2".to_owned();
    assert_eq!(books.set(2, [Book::TITLE.set(title)]).unwrap(), Some(book(2, Some(1))));
}

fn check(url: &str) {
    let db = stored(url);
    check_joins(&db);
    check_shapes(&db);
    check_nearest(&db);
    check_search(&db);
    check_returning(&db);
}

#[test]
fn queries_leave_the_fields_out() {
    on_each(|place| check(&place.url));
}

#[cfg(feature = "remote")]
#[test]
fn queries_of_a_server_leave_the_fields_out() {
    let sqlite = bobak::engine::sqlite::Sqlite::builder().open_memory().unwrap();
    crate::engines::on_bobak_server(sqlite, check);
}

#[cfg(all(feature = "mysql", feature = "postgres"))]
#[test]
fn queries_of_database_servers_leave_the_fields_out() {
    crate::engines::on_servers(check);
}
