//! Full-text search: what a table is searched by, the query language, and snippets.
//!
//! A [`SearchSchema`] names the text columns of a table that are searched together. A [`SearchQuery`] is a tree that
//! every engine renders in its own form, so that a text means the same everywhere: see [`SearchQuery::parse`].

mod characters;
mod language;
mod parser;
mod porter;
mod query;
mod snippet;
mod words;

pub use crate::schema::SearchSchema;
pub use characters::MARKS;
pub use language::SearchLanguage;
pub use query::SearchQuery;
pub use snippet::Snippet;
pub use words::{SAME_LETTERS, Words, stem, words};

use std::sync::Arc;

/// How the names of the tables and triggers begin that SQLite needs for a search; the table's name follows. No client may
/// use them in SQL that may not use everything.
pub const SEARCH_PREFIX: &str = "bobak_search_";

/// Whether a table or trigger with this name is part of a search.
#[must_use]
pub fn is_search_name(name: &str) -> bool {
    let start = name.get(..SEARCH_PREFIX.len());
    start.is_some_and(|start| start.eq_ignore_ascii_case(SEARCH_PREFIX))
}

/// What a [`Select`](crate::Select) searches for.
#[derive(Clone, Debug, PartialEq)]
pub struct Search {
    /// The words to find.
    pub query: Arc<SearchQuery>,
    /// Whether the best rows come first, before the order of the query.
    pub ranked: bool,
}
