//! What the database has, against the model: rows, shapes, filters through relations, and joins.

use super::state::{Added, AuthorRow, BookRow, State};
use super::{Author, Book, BookTag, Tag};
use bobak::prelude::*;
use bobak::{Result, Shape};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

#[derive(Shape, Debug, PartialEq)]
#[shape(of = Author)]
pub struct AuthorPage {
    id: i64,
    name: String,
    #[shape(many = Author::BOOKS, order_by = Book::TITLE.desc())]
    books: Vec<BookPage>,
    #[shape(many = Author::BOOKS, order_by = Book::ID.desc(), limit = 2, select = Book::ID)]
    last: Vec<i64>,
    #[shape(count = Author::BOOKS, filter = Book::PAGES.gt(10))]
    long: u64,
    #[shape(exists = Author::BOOKS, filter = Book::EDITOR_ID.is_null())]
    has_unedited: bool,
    #[shape(many = Author::BOOKS.then_many(Book::TAGS), select = Tag::LABEL, order_by = Tag::LABEL.asc())]
    labels: Vec<String>,
}

#[derive(Shape, Debug, PartialEq)]
#[shape(of = Book)]
pub struct BookPage {
    id: i64,
    title: String,
    #[shape(one = Book::EDITOR)]
    editor: Option<Name>,
    #[shape(many = Book::TAGS, select = Tag::LABEL, order_by = Tag::LABEL.asc())]
    labels: Vec<String>,
}

#[derive(Shape, Debug, PartialEq)]
#[shape(of = Author)]
struct Name {
    name: String,
}

fn owned(labels: impl IntoIterator<Item = impl Into<String>>) -> Vec<String> {
    labels.into_iter().map(Into::into).collect()
}

fn book_page(state: &State, id: i64, row: &BookRow) -> BookPage {
    let editor = row.editor.filter(|editor| state.is_live(*editor));
    let editor = editor.and_then(|editor| state.authors.get(&editor));
    BookPage {
        id,
        title: row.title.clone(),
        editor: editor.map(|row| Name { name: row.name.clone() }),
        labels: owned(state.labels_of(id)),
    }
}

/// The page of each live author, from the model.
pub fn pages(state: &State) -> Vec<AuthorPage> {
    let page = |(id, row): (&i64, &AuthorRow)| {
        let own: Vec<_> = state.books.iter().filter(|(_, book)| book.author == *id).collect();
        let mut books: Vec<_> = own.iter().map(|(id, row)| book_page(state, **id, row)).collect();
        books.sort_by(|a, b| b.title.cmp(&a.title).then(a.id.cmp(&b.id)));
        let labels: BTreeSet<_> = own.iter().flat_map(|(id, _)| state.labels_of(**id)).collect();
        AuthorPage {
            id: *id,
            name: row.name.clone(),
            books,
            last: own.iter().rev().take(2).map(|(id, _)| **id).collect(),
            long: own.iter().filter(|(_, book)| book.pages > 10).count() as u64,
            has_unedited: own.iter().any(|(_, book)| book.editor.is_none()),
            labels: owned(labels),
        }
    };
    state.authors.iter().filter(|(_, row)| !row.is_deleted).map(page).collect()
}

fn same<T: Debug + PartialEq>(
    what: &str,
    found: &T,
    wanted: &T,
) -> std::result::Result<(), String> {
    if found == wanted {
        return Ok(());
    }
    Err(format!("{what}: found {found:?}\nwanted {wanted:?}"))
}

pub fn compare(db: &Db, state: &State) -> std::result::Result<(), String> {
    let failed = |error: Error| error.to_string();
    same("authors", &authors(db).map_err(failed)?, &state.authors)?;
    same("books", &books(db).map_err(failed)?, &state.books)?;
    let tags = db.table::<Tag>().and_then(|tags| tags.list(Query::all())).map_err(failed)?;
    same("tags", &tags.into_iter().map(|tag| (tag.id, tag.label)).collect(), &state.tags)?;
    let links = db.table::<BookTag>().and_then(|links| links.list(Query::all()));
    let links = links.map_err(failed)?.into_iter().map(|link| (link.book_id, link.tag_id));
    same("links", &links.collect(), &state.links)?;
    same("notes", &notes(db, state).map_err(failed)?, &state.notes)?;
    let found = db.table::<Author>().and_then(|table| table.load(Query::all(), &()));
    same("pages", &found.map_err(failed)?, &pages(state))?;
    same("filters", &filtered(db).map_err(failed)?, &filtered_in(state))?;
    let joined = Query::<Book>::all().join(Book::AUTHOR).order_by(Book::ID.asc());
    let joined = db.list(&joined.select((Book::ID, Author::NAME))).map_err(failed)?;
    let live = state.books.iter().filter(|(_, row)| state.is_live(row.author));
    let wanted = live.map(|(id, row)| (*id, state.authors[&row.author].name.clone()));
    same("join", &joined, &wanted.collect())
}

fn authors(db: &Db) -> Result<BTreeMap<i64, AuthorRow>> {
    let rows = db.table::<Author>()?.list(Query::all().with_deleted())?;
    let row = |author: Author| {
        let is_deleted = author.deleted_at.is_some();
        (author.id, AuthorRow { tenant: author.tenant, name: author.name, is_deleted })
    };
    Ok(rows.into_iter().map(row).collect())
}

/// The books by their record, with the added columns by name.
fn books(db: &Db) -> Result<BTreeMap<i64, BookRow>> {
    let of_record = ["id", "tenant", "author_id", "editor_id", "title", "pages"];
    let mut added = BTreeMap::new();
    for row in db.dynamic("am_book")?.list(Query::all())? {
        let names = row.names().filter(|name| !of_record.contains(name));
        let values = names.map(|name| (name.to_owned(), value(row.value(name))));
        added.insert(row.get::<i64>("id")?, values.collect());
    }
    let row = |book: Book| {
        let row = BookRow {
            tenant: book.tenant,
            author: book.author_id,
            editor: book.editor_id,
            title: book.title,
            pages: book.pages,
            added: added.remove(&book.id).unwrap_or_default(),
        };
        (book.id, row)
    };
    Ok(db.table::<Book>()?.list(Query::all())?.into_iter().map(row).collect())
}

fn value(value: Option<&Value<'_>>) -> Added {
    match value? {
        Value::Int(value) => Some(value.to_string()),
        Value::Text(value) => Some(value.to_string()),
        Value::Null => None,
        other => Some(format!("{other:?}")),
    }
}

type Notes = BTreeMap<String, BTreeMap<i64, (i64, String)>>;

fn notes(db: &Db, state: &State) -> Result<Notes> {
    let mut all = Notes::new();
    for name in state.notes.keys() {
        let rows = db.dynamic(name)?.list(Query::all())?;
        let row = |row: &DynRow| Ok((row.get("id")?, (row.get("book_id")?, row.get("text")?)));
        all.insert(name.clone(), rows.iter().map(row).collect::<Result<_>>()?);
    }
    Ok(all)
}

/// How many rows each filter through a relation finds.
fn filtered(db: &Db) -> Result<Vec<u64>> {
    let (authors, books) = (db.table::<Author>()?, db.table::<Book>()?);
    Ok(vec![
        books.count(Book::TAGS.any(Tag::LABEL.eq("a")))?,
        books.count(Book::TAGS.none(Tag::LABEL.eq("a")))?,
        books.count(Book::TAGS.all(Tag::LABEL.eq("a")))?,
        books.count(Book::EDITOR.has(Author::NAME.eq("ab")))?,
        authors.count(Author::BOOKS.is_empty())?,
        authors.count(Author::BOOKS.any(Book::TAGS.exists()))?,
    ])
}

fn filtered_in(state: &State) -> Vec<u64> {
    let books = |matches: &dyn Fn(&[&str]) -> bool| {
        state.books.keys().filter(|id| matches(&state.labels_of(**id))).count() as u64
    };
    let live = || state.authors.keys().filter(|id| state.is_live(**id));
    let of = |author: i64| state.books.iter().filter(move |(_, row)| row.author == author);
    let has_editor = |row: &&BookRow| {
        row.editor.is_some_and(|id| state.is_live(id) && state.authors[&id].name == "ab")
    };
    let is_tagged = |author: i64| of(author).any(|(id, _)| !state.labels_of(*id).is_empty());
    vec![
        books(&|labels| labels.contains(&"a")),
        books(&|labels| !labels.contains(&"a")),
        books(&|labels| labels.iter().all(|label| *label == "a")),
        state.books.values().filter(has_editor).count() as u64,
        live().filter(|id| of(**id).count() == 0).count() as u64,
        live().filter(|id| is_tagged(**id)).count() as u64,
    ]
}
