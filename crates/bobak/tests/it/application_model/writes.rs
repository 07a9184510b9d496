//! Writes of records, of their relations, and of what migrations added.

use super::state::{Added, State};
use super::{Author, Book, BookTag, Place, Step, Tag, reported};
use crate::rules_model::Random;
use bobak::Result;
use bobak::batch::OnError;
use bobak::prelude::*;
use bobak::relation::NestedRecord;
use std::collections::BTreeSet;

const NAMES: [&str; 8] = ["a", " B ", "", "Ab", "ab", "x\t", "abc", "Z"];
const LABELS: [&str; 4] = ["a", "B", "c", "d"];

pub fn author(random: &mut Random) -> Author {
    let name = NAMES[random.below(8) as usize].to_owned();
    let (id, tenant) = (random.below(6) as i64, random.below(super::scopes::TENANTS) as i64);
    Author { id, tenant, name, deleted_at: None }
}

pub fn book(random: &mut Random) -> Book {
    Book {
        id: random.below(8) as i64,
        tenant: random.below(super::scopes::TENANTS) as i64,
        author_id: random.below(6) as i64,
        editor_id: (random.below(2) == 0).then(|| random.below(6) as i64),
        title: NAMES[random.below(8) as usize].to_owned(),
        pages: random.below(110) as i64 - 5,
    }
}

fn tag(random: &mut Random) -> Tag {
    let label = LABELS[random.below(4) as usize].to_owned();
    Tag { id: random.below(4) as i64, label }
}

/// The first authors and tags.
pub fn fill(db: &Db, state: &mut State) {
    for id in 0..6 {
        let name = ["a", "b", "ab"][id as usize % 3].to_owned();
        let author = Author { id, tenant: 0, name, deleted_at: None };
        db.table().unwrap().insert(&author).unwrap();
        state.insert_author(&author);
    }
    for (id, label) in (0..).zip(LABELS) {
        let tag = Tag { id, label: label.to_owned() };
        db.table().unwrap().insert(&tag).unwrap();
        state.insert_tag(&tag);
    }
}

/// Keys of tags, some of them twice.
fn tag_keys(random: &mut Random) -> Vec<i64> {
    (0..random.below(4)).map(|_| random.below(4) as i64).collect()
}

pub fn step(place: &Place<'_, '_>, state: &mut State, random: &mut Random) -> Result<Step> {
    match random.below(12) {
        0..=2 => of_author(place, state, random),
        3..=5 => of_book(place, state, random),
        6 => of_tag(place, state, random),
        7 => nested(place, state, random),
        8 | 9 => links(place, state, random),
        _ => through_relations(place, state, random),
    }
}

fn of_author(place: &Place<'_, '_>, state: &mut State, random: &mut Random) -> Result<Step> {
    let (authors, author) = (place.table::<Author>()?, author(random));
    let id = author.id;
    let unit = |result: Result<i64>| reported(result.map(drop));
    Ok(match random.below(7) {
        0 | 1 => {
            let what = format!("insert {author:?}");
            Step::new(what, unit(authors.insert(&author)), state.insert_author(&author))
        }
        2 | 3 => {
            let what = format!("update {author:?}");
            Step::new(what, reported(authors.update(&author)), state.update_author(&author))
        }
        4 => {
            let wanted = state.is_live(id).to_string();
            state.authors.entry(id).and_modify(|row| row.is_deleted = true);
            Step::new(format!("delete author {id}"), reported(authors.delete(id)), wanted)
        }
        5 => {
            let is_deleted = state.authors.get(&id).is_some_and(|row| row.is_deleted);
            state.authors.entry(id).and_modify(|row| row.is_deleted = false);
            let found = reported(authors.restore(id));
            Step::new(format!("restore author {id}"), found, is_deleted.to_string())
        }
        6 if random.below(3) == 0 => {
            let found = reported(authors.purge(Timestamp::MAX));
            Step::new("purge", found, state.purge().to_string())
        }
        _ => {
            let what = format!("upsert {author:?}");
            Step::new(what, unit(authors.upsert(&author)), state.upsert_author(&author))
        }
    })
}

fn of_book(place: &Place<'_, '_>, state: &mut State, random: &mut Random) -> Result<Step> {
    let (books, book) = (place.table::<Book>()?, book(random));
    let id = book.id;
    let unit = |result: Result<i64>| reported(result.map(drop));
    Ok(match random.below(6) {
        0..=2 => {
            let what = format!("insert {book:?}");
            Step::new(what, unit(books.insert(&book)), state.insert_book(&book))
        }
        3 => {
            let what = format!("upsert {book:?}");
            Step::new(what, unit(books.upsert(&book)), state.upsert_book(&book))
        }
        4 => {
            let what = format!("update {book:?}");
            Step::new(what, reported(books.update(&book)), state.update_book(&book))
        }
        _ => {
            let wanted = (state.delete_books(|_, other, _| other == id) > 0).to_string();
            Step::new(format!("delete book {id}"), reported(books.delete(id)), wanted)
        }
    })
}

fn of_tag(place: &Place<'_, '_>, state: &mut State, random: &mut Random) -> Result<Step> {
    let (tags, tag) = (place.table::<Tag>()?, tag(random));
    Ok(match random.below(4) {
        0 => {
            let found = reported(tags.delete(tag.id));
            Step::new(format!("delete tag {}", tag.id), found, state.delete_tag(tag.id))
        }
        _ => {
            let found = reported(tags.insert(&tag).map(drop));
            Step::new(format!("insert {tag:?}"), found, state.insert_tag(&tag))
        }
    })
}

/// An author with books, and these with tags: all or nothing.
fn nested(place: &Place<'_, '_>, state: &mut State, random: &mut Random) -> Result<Step> {
    let author = author(random);
    let books: Vec<_> = (0..random.below(3)).map(|_| (book(random), tag_keys(random))).collect();
    let mut after = state.clone();
    let mut is_right = after.insert_author(&author) == "()";
    let mut records = Vec::new();
    for (book, tags) in &books {
        let book = Book { author_id: author.id, ..book.clone() };
        is_right &= after.insert_book(&book) == "()";
        for tag in tags {
            is_right &= after.tags.contains_key(tag) && after.links.insert((book.id, *tag));
        }
        let links = tags.iter().map(|tag| BookTag { book_id: 0, tag_id: *tag });
        records.push(NestedRecord::new(book).with(Book::TAG_LINKS, links));
    }
    let what = format!("insert {author:?} with {books:?}");
    let record = NestedRecord::new(author).with(Author::BOOKS, records);
    let found = match place.table::<Author>()?.insert_nested(record) {
        Ok(_) => "()".to_owned(),
        Err(_) => "rejected".to_owned(),
    };
    if is_right {
        *state = after;
    }
    Ok(Step::new(what, found, if is_right { "()" } else { "rejected" }))
}

fn links(place: &Place<'_, '_>, state: &mut State, random: &mut Random) -> Result<Step> {
    let (id, keys) = (random.below(8) as i64, tag_keys(random));
    let books = place.table::<Book>()?;
    let links = books.links(Book::TAGS, id)?;
    let given: BTreeSet<_> = keys.iter().map(|tag| (id, *tag)).collect();
    let stored: BTreeSet<_> = state.links.iter().filter(|link| link.0 == id).copied().collect();
    let new: BTreeSet<_> = given.difference(&stored).copied().collect();
    let exist = |link: &(i64, i64)| state.tags.contains_key(&link.1);
    let fits = new.is_empty() || (state.books.contains_key(&id) && new.iter().all(exist));
    let constraint = || "Constraint".to_owned();
    Ok(match random.below(4) {
        0 | 1 => {
            let wanted = if fits { new.len().to_string() } else { constraint() };
            if fits {
                state.links.extend(new);
            }
            let found = reported(links.add(keys.iter().copied()));
            Step::new(format!("add tags {keys:?} to book {id}"), found, wanted)
        }
        2 => {
            let wanted = given.intersection(&stored).count().to_string();
            state.links.retain(|link| !given.contains(link));
            let found = reported(links.remove(keys.iter().copied()));
            Step::new(format!("remove tags {keys:?} of book {id}"), found, wanted)
        }
        _ => {
            let extra = stored.difference(&given).count();
            let wanted = if fits { format!("{:?}", (new.len(), extra)) } else { constraint() };
            if fits {
                state.links.retain(|link| link.0 != id);
                state.links.extend(given);
            }
            let replaced = links.replace(keys.iter().copied());
            let found = reported(replaced.map(|links| (links.added, links.removed)));
            Step::new(format!("replace tags of book {id} by {keys:?}"), found, wanted)
        }
    })
}

/// Changes of the books that a relation chooses. Deleted authors are not related.
fn through_relations(
    place: &Place<'_, '_>,
    state: &mut State,
    random: &mut Random,
) -> Result<Step> {
    let books = place.table::<Book>()?;
    let name = ["a", "b", "ab", "z"][random.below(4) as usize];
    let label = LABELS[random.below(4) as usize];
    let pages = random.below(90) as i64;
    let is_by = |state: &State, author: i64| {
        state.is_live(author) && state.authors.get(&author).is_some_and(|row| row.name == name)
    };
    Ok(match random.below(4) {
        0 => {
            let by = Book::AUTHOR.has(Author::NAME.eq(name));
            let found = books.set_where(by, [Book::PAGES.set(pages)]);
            let wanted = state
                .change_books(|state, _, row| is_by(state, row.author), |row| row.pages = pages);
            Step::new(format!("pages {pages} by {name}"), reported(found), wanted.to_string())
        }
        1 => {
            let tagged = Book::TAGS.any(Tag::LABEL.eq(label));
            let found = books.set_where(tagged, [Book::EDITOR_ID.set(None)]);
            let wanted = state.change_books(
                |state, id, _| state.labels_of(id).contains(&label),
                |row| row.editor = None,
            );
            Step::new(format!("no editor of {label}"), reported(found), wanted.to_string())
        }
        2 => {
            let only = Book::TAGS.all(Tag::LABEL.eq(label)).and(Book::TAGS.exists());
            let found = books.set_where(only, [Book::PAGES.set(pages)]);
            let wanted = state.change_books(
                |state, id, _| state.labels_of(id) == [label],
                |row| row.pages = pages,
            );
            Step::new(format!("pages {pages} of only {label}"), reported(found), wanted.to_string())
        }
        _ => {
            let filter = Book::TAGS.is_empty().and(Book::EDITOR.has(Author::NAME.eq(name)));
            let found = books.delete_where(filter);
            let wanted = state.delete_books(|state, id, row| {
                state.labels_of(id).is_empty()
                    && row.editor.is_some_and(|editor| is_by(state, editor))
            });
            Step::new(
                format!("delete untagged, edited by {name}"),
                reported(found),
                wanted.to_string(),
            )
        }
    })
}

/// A batch that goes on after errors.
pub fn batch(db: &Db, state: &mut State, random: &mut Random) -> Result<Step> {
    let mut batch = db.batch(BatchOptions::new().on_error(OnError::Continue));
    let (mut what, mut wanted) = ("batch:".to_owned(), Vec::new());
    for _ in 0..=random.below(6) {
        match random.below(4) {
            0 => {
                let author = author(random);
                batch.insert(&author)?;
                wanted.push(state.insert_author(&author));
                what = format!("{what} insert {author:?};");
            }
            1 | 2 => {
                let book = book(random);
                batch.upsert(&book)?;
                wanted.push(state.upsert_book(&book));
                what = format!("{what} upsert {book:?};");
            }
            _ => {
                let tag = tag(random);
                batch.insert(&tag)?;
                wanted.push(state.insert_tag(&tag));
                what = format!("{what} insert {tag:?};");
            }
        }
    }
    let report = batch.finish()?;
    let found = report.outcomes().map(|one| reported(one.map(drop).map_err(Error::to_bare)));
    Ok(Step::new(what, found.collect::<Vec<_>>().join(", "), wanted.join(", ")))
}

/// Writes a column that a migration added.
pub fn added_column(db: &Db, state: &mut State, random: &mut Random) -> Result<Step> {
    let Some(name) = nth(state.columns.keys(), random) else {
        return step(&Place::Database(db), state, random);
    };
    let (id, column) = (random.below(8) as i64, state.columns[&name]);
    let value: Added = match random.below(6) {
        0 if column.is_nullable => None,
        1 | 2 if column.is_text => Some(["x", "Y"][random.below(2) as usize].to_owned()),
        _ => Some(random.below(20).to_string()),
    };
    let mut row = DynRow::new();
    row.set("id", id)?;
    match (&value, column.is_text) {
        (Some(value), false) => row.set(&name, value.parse::<i64>().unwrap())?,
        (value, _) => row.set(&name, value.clone())?,
    }
    let found = reported(db.dynamic("am_book")?.update(&row));
    let is_taken = column.is_unique && state.is_taken(&name, &value, id);
    let wanted = match state.books.get_mut(&id) {
        None => "NotFound",
        Some(_) if is_taken => "Duplicate",
        Some(row) => {
            row.added.insert(name.clone(), value.clone());
            "()"
        }
    };
    Ok(Step::new(format!("set {name} of book {id} to {value:?}"), found, wanted))
}

/// Inserts a row into a table that a migration created.
pub fn note(db: &Db, state: &mut State, random: &mut Random) -> Result<Step> {
    let Some(name) = nth(state.notes.keys(), random) else {
        return step(&Place::Database(db), state, random);
    };
    let (id, book) = (random.below(20) as i64, random.below(8) as i64);
    let mut row = DynRow::new();
    row.set("id", id)?;
    row.set("book_id", book)?;
    row.set("text", NAMES[id as usize % 8])?;
    let found = reported(db.dynamic(&name)?.insert(&row).map(drop));
    let has_book = state.books.contains_key(&book);
    let notes = state.notes.entry(name.clone()).or_default();
    let wanted = match (notes.contains_key(&id), has_book) {
        (true, true) => "Duplicate",
        (true, false) => "Duplicate|Constraint",
        (false, false) => "Constraint",
        (false, true) => {
            notes.insert(id, (book, NAMES[id as usize % 8].to_owned()));
            "()"
        }
    };
    Ok(Step::new(format!("insert {name} {id} of book {book}"), found, wanted))
}

/// One of the names, if there are any.
pub fn nth<'a>(names: impl Iterator<Item = &'a String>, random: &mut Random) -> Option<String> {
    let names: Vec<_> = names.collect();
    let place = random.below(names.len().max(1) as u64) as usize;
    names.get(place).map(|name| (*name).clone())
}
