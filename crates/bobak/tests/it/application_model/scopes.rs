//! Calls of one tenant, behind its scope.

use super::state::State;
use super::{Author, Book, Step, Tag, reads, reported, writes};
use crate::rules_model::Random;
use bobak::prelude::*;
use bobak::{Result, RowScope};

pub const TENANTS: u64 = 3;

/// The database for one tenant: it reads all authors, and has books of its own.
pub fn of(db: &Db, tenant: u64) -> Db {
    let scope = RowScope::new(format!("tenant {tenant}"))
        .grant("read, write on am_book where tenant = :tenant")
        .grant("read on am_author, am_tag, am_book_tag")
        .variable("tenant", tenant as i64);
    db.scoped(&scope).unwrap()
}

/// Which error a hidden row causes depends on the engine.
fn name<R: std::fmt::Debug>(result: Result<R>) -> String {
    match reported(result) {
        kind if ["Denied", "Duplicate", "NotFound", "Constraint"].contains(&kind.as_str()) => {
            "rejected".to_owned()
        }
        other if other.starts_with("Invalid") => "rejected".to_owned(),
        other => other,
    }
}

pub fn step(scoped: &Db, tenant: usize, state: &mut State, random: &mut Random) -> Result<Step> {
    let tenant = tenant as i64;
    let books = scoped.table::<Book>()?;
    let book = writes::book(random);
    // Most are the tenant's own.
    let owner = if random.below(4) > 0 { tenant } else { book.tenant };
    let book = Book { tenant: owner, ..book };
    let id = book.id;
    let stored = state.books.get(&id).map(|row| row.tenant);
    let may_write = owner == tenant && stored.is_none_or(|stored| stored == tenant);
    let what = |what: &str| format!("tenant {tenant}: {what} {book:?}");
    let mut after = state.clone();
    let step = match random.below(6) {
        0 | 1 => {
            let wanted = if may_write { after.insert_book(&book) } else { String::new() };
            Step::new(what("insert"), name(books.insert(&book).map(drop)), wanted)
        }
        2 => {
            let wanted = if may_write { after.upsert_book(&book) } else { String::new() };
            Step::new(what("upsert"), name(books.upsert(&book).map(drop)), wanted)
        }
        3 => {
            let wanted = if may_write { after.update_book(&book) } else { String::new() };
            Step::new(what("update"), name(books.update(&book)), wanted)
        }
        4 => {
            let is_own = move |_: &State, other: i64, row: &super::state::BookRow| {
                other == id && row.tenant == tenant
            };
            let wanted = after.delete_books(is_own) > 0;
            let found = name(books.delete(id));
            *state = after;
            return Ok(Step::new(what("delete"), found, wanted.to_string()));
        }
        _ => return read(scoped, tenant, state),
    };
    if step.wanted == "()" {
        *state = after;
        return Ok(step);
    }
    Ok(Step { wanted: "rejected".to_owned(), ..step })
}

/// What the tenant sees: its own books, in lists, filters and shapes.
fn read(scoped: &Db, tenant: i64, state: &State) -> Result<Step> {
    let books = scoped.table::<Book>()?;
    let mut own = state.clone();
    own.books.retain(|_, row| row.tenant == tenant);
    let count = books.count(Book::TAGS.any(Tag::LABEL.eq("a")))?;
    let pages = scoped.table::<Author>()?.load::<reads::AuthorPage>(Query::all(), &())?;
    let found = format!("{count} {pages:?}");
    let tagged = own.books.keys().filter(|id| own.labels_of(**id).contains(&"a")).count();
    let wanted = format!("{tagged} {:?}", reads::pages(&own));
    Ok(Step::new(format!("tenant {tenant} reads"), found, wanted))
}
