//! The model: plain maps, and what each write does to them.

use super::{Author, Book, Tag};
use std::collections::{BTreeMap, BTreeSet};

/// The value of an added column; `None` is NULL.
pub type Added = Option<String>;

#[derive(Clone, Debug, PartialEq)]
pub struct AuthorRow {
    pub tenant: i64,
    pub name: String,
    pub is_deleted: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct BookRow {
    pub tenant: i64,
    pub author: i64,
    pub editor: Option<i64>,
    pub title: String,
    pub pages: i64,
    pub added: BTreeMap<String, Added>,
}

/// A column of the books that a migration added, and that the record does not have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AddedColumn {
    pub is_text: bool,
    pub is_unique: bool,
    pub is_nullable: bool,
    pub default: Option<i64>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    pub authors: BTreeMap<i64, AuthorRow>,
    pub books: BTreeMap<i64, BookRow>,
    pub tags: BTreeMap<i64, String>,
    pub links: BTreeSet<(i64, i64)>,
    pub columns: BTreeMap<String, AddedColumn>,
    /// The tables that migrations created, by name: the book and the text of each key.
    pub notes: BTreeMap<String, BTreeMap<i64, (i64, String)>>,
    /// How many names migrations have taken.
    pub names: u64,
}

/// The rules of an author: the row as stored, or how many it breaks.
fn ruled_author(author: &Author) -> Result<AuthorRow, usize> {
    let name = author.name.trim().to_lowercase();
    match (1..=6).contains(&name.chars().count()) {
        true => Ok(AuthorRow { tenant: author.tenant, name, is_deleted: false }),
        false => Err(1),
    }
}

fn ruled_book(book: &Book) -> Result<BookRow, usize> {
    let title = book.title.trim().to_owned();
    let wrong = [!(1..=6).contains(&title.chars().count()), !(0..=99).contains(&book.pages)];
    let (tenant, author, editor) = (book.tenant, book.author_id, book.editor_id);
    let row = BookRow { tenant, author, editor, title, pages: book.pages, added: BTreeMap::new() };
    match wrong.iter().filter(|wrong| **wrong).count() {
        0 => Ok(row),
        count => Err(count),
    }
}

/// The kinds of error that a call may return: which one of several is up to the engine.
fn any_of(kinds: &[(bool, &str)]) -> Option<String> {
    let kinds: Vec<_> = kinds.iter().filter(|(holds, _)| *holds).map(|(_, kind)| *kind).collect();
    (!kinds.is_empty()).then(|| kinds.join("|"))
}

fn done() -> String {
    "()".to_owned()
}

impl State {
    pub fn is_live(&self, author: i64) -> bool {
        self.authors.get(&author).is_some_and(|author| !author.is_deleted)
    }

    pub fn insert_author(&mut self, author: &Author) -> String {
        match ruled_author(author) {
            Err(count) => format!("Invalid {count}"),
            Ok(_) if self.authors.contains_key(&author.id) => "Duplicate".to_owned(),
            Ok(row) => {
                self.authors.insert(author.id, row);
                done()
            }
        }
    }

    pub fn upsert_author(&mut self, author: &Author) -> String {
        match ruled_author(author) {
            Err(count) => format!("Invalid {count}"),
            Ok(row) => {
                self.authors.insert(author.id, row);
                done()
            }
        }
    }

    pub fn update_author(&mut self, author: &Author) -> String {
        let is_missing = !self.is_live(author.id);
        let row = ruled_author(author);
        let invalid = format!("Invalid {}", row.as_ref().err().unwrap_or(&0));
        if let Some(kinds) = any_of(&[(row.is_err(), &invalid), (is_missing, "NotFound")]) {
            return kinds;
        }
        self.authors.extend(row.ok().map(|row| (author.id, row)));
        done()
    }

    fn refers_to_missing(&self, book: &Book) -> bool {
        let exists = |author: i64| self.authors.contains_key(&author);
        !exists(book.author_id) || book.editor_id.is_some_and(|editor| !exists(editor))
    }

    /// A new book has the defaults of the added columns.
    fn new_book(&self, row: BookRow) -> BookRow {
        let value = |column: &AddedColumn| column.default.map(|value| value.to_string());
        let added = self.columns.iter().map(|(name, column)| (name.clone(), value(column)));
        BookRow { added: added.collect(), ..row }
    }

    pub fn insert_book(&mut self, book: &Book) -> String {
        let row = match ruled_book(book) {
            Err(count) => return format!("Invalid {count}"),
            Ok(row) => row,
        };
        let exists = self.books.contains_key(&book.id);
        let missing = self.refers_to_missing(book);
        any_of(&[(exists, "Duplicate"), (missing, "Constraint")]).unwrap_or_else(|| {
            self.books.insert(book.id, self.new_book(row));
            done()
        })
    }

    /// An update keeps the columns that the record does not have.
    pub fn upsert_book(&mut self, book: &Book) -> String {
        match ruled_book(book) {
            Err(count) => format!("Invalid {count}"),
            Ok(_) if self.refers_to_missing(book) => "Constraint".to_owned(),
            Ok(row) => {
                let stored = self.books.get(&book.id).map(|stored| stored.added.clone());
                let row = match stored {
                    Some(added) => BookRow { added, ..row },
                    None => self.new_book(row),
                };
                self.books.insert(book.id, row);
                done()
            }
        }
    }

    pub fn update_book(&mut self, book: &Book) -> String {
        let is_missing = !self.books.contains_key(&book.id);
        let row = ruled_book(book);
        let invalid = format!("Invalid {}", row.as_ref().err().unwrap_or(&0));
        let dangles = self.refers_to_missing(book);
        let kinds =
            [(row.is_err(), invalid.as_str()), (is_missing, "NotFound"), (dangles, "Constraint")];
        any_of(&kinds).unwrap_or_else(|| self.upsert_book(book))
    }

    pub fn insert_tag(&mut self, tag: &Tag) -> String {
        if self.tags.iter().any(|(id, label)| *id == tag.id || *label == tag.label) {
            return "Duplicate".to_owned();
        }
        self.tags.insert(tag.id, tag.label.clone());
        done()
    }

    pub fn delete_tag(&mut self, id: i64) -> String {
        if self.links.iter().any(|(_, tag)| *tag == id) {
            return "Constraint".to_owned();
        }
        self.tags.remove(&id).is_some().to_string()
    }

    /// Deletes books with their links and notes; returns their number.
    pub fn delete_books(&mut self, matches: impl Fn(&Self, i64, &BookRow) -> bool) -> usize {
        let gone: BTreeSet<i64> = (self.books.iter())
            .filter(|(id, row)| matches(self, **id, row))
            .map(|(id, _)| *id)
            .collect();
        self.books.retain(|id, _| !gone.contains(id));
        self.links.retain(|(book, _)| !gone.contains(book));
        for notes in self.notes.values_mut() {
            notes.retain(|_, (book, _)| !gone.contains(book));
        }
        gone.len()
    }

    /// Removes deleted authors for good, with their books; returns their number.
    pub fn purge(&mut self) -> usize {
        let gone: BTreeSet<i64> =
            self.authors.iter().filter(|(_, row)| row.is_deleted).map(|(id, _)| *id).collect();
        self.authors.retain(|id, _| !gone.contains(id));
        self.delete_books(|_, _, book| gone.contains(&book.author));
        for book in self.books.values_mut() {
            book.editor = book.editor.filter(|editor| !gone.contains(editor));
        }
        gone.len()
    }

    /// Changes the books that match; returns their number.
    pub fn change_books(
        &mut self,
        matches: impl Fn(&Self, i64, &BookRow) -> bool,
        to: impl Fn(&mut BookRow),
    ) -> usize {
        let before = self.clone();
        let rows = self.books.iter_mut().filter(|(id, row)| matches(&before, **id, row));
        rows.map(|(_, row)| to(row)).count()
    }

    pub fn labels_of(&self, book: i64) -> Vec<&str> {
        let links = self.links.iter().filter(|(other, _)| *other == book);
        let mut labels: Vec<_> =
            links.filter_map(|(_, tag)| self.tags.get(tag)).map(String::as_str).collect();
        labels.sort_unstable();
        labels
    }

    /// Whether another book has this value in the column.
    pub fn is_taken(&self, column: &str, value: &Added, except: i64) -> bool {
        let mut others = self.books.iter().filter(|(id, _)| **id != except);
        value.is_some() && others.any(|(_, row)| row.added.get(column) == Some(value))
    }
}
