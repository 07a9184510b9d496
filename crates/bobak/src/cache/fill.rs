//! Rows of queries that caches keep.

use super::record_cache::CacheKey;
use super::staleness::EngineCaches;
use super::watcher::RowSource;
use bobak_core::codec::{FRAME, encode};
use bobak_core::{Expr, Result, Row, Select, Session, Source};

/// So many rows of a query are kept, the first: more would drive out what is asked for by key.
const MOST: usize = 1_000;

/// Runs a query outside of a transaction, and keeps its rows where they are whole records.
pub(super) fn query(
    caches: &EngineCaches,
    session: &dyn Session,
    select: &Select,
    row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
) -> Result<()> {
    let source = Source::Select(select);
    let store = if gives_records(select) { caches.of(&select.table) } else { None };
    let Some(store) = store.filter(|_| caches.watch().is_fresh(RowSource::Session(session))) else {
        return session.query(&source, row);
    };
    // Before the engine is asked: whoever begins to write a row later keeps it from being kept.
    let notes = store.note_all();
    let (mut kept, mut bytes) = (0, Vec::new());
    session.query(&source, &mut |found| {
        if kept < MOST
            && let Some(key) = CacheKey::in_row(&store.table, found)
            && let Some(note) = notes.of(store.stripe(&key))
        {
            kept += 1;
            bytes.clear();
            encode(&mut bytes, found)?;
            store.keep(key, bytes.get(FRAME..).unwrap_or_default(), note);
        }
        row(found)
    })
}

/// Whether the rows have all columns of the table, in its order.
fn gives_records(select: &Select) -> bool {
    select.group.is_empty()
        && select.columns.len() == select.table.columns().len()
        && select.columns.iter().enumerate().all(|(place, expr)| *expr == Expr::Column(place))
}
