//! Caching the rows of queries.

use super::record_cache::CacheKey;
use super::staleness::EngineCaches;
use super::watcher::UncachedSource;
use bobak_core::codec::{FRAME, encode};
use bobak_core::{Expr, Result, Row, Select, Session, Source};

/// At most so many rows of a query are cached: more would evict rows that are looked up by key.
const MAX_CACHED_ROWS: usize = 1_000;

/// Runs a query outside of a transaction, and caches its rows if they are whole records.
pub(super) fn query(
    caches: &EngineCaches,
    session: &dyn Session,
    select: &Select,
    row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
) -> Result<()> {
    let source = Source::Select(select);
    let store = if gives_records(select) { caches.of(&select.table) } else { None };
    let Some((store, layout)) =
        store.filter(|_| caches.watch().is_fresh(UncachedSource::Session(session)))
    else {
        return session.query(&source, row);
    };
    // Before the query: a writer that starts later raises the version, so its row is not cached.
    let versions = store.versions();
    let (mut kept, mut bytes) = (0, Vec::new());
    session.query(&source, &mut |found| {
        if kept < MAX_CACHED_ROWS
            && let Some(key) = CacheKey::in_row(&select.table, found)
            && let Some(version) = versions.of(store.stripe(&key))
        {
            kept += 1;
            bytes.clear();
            encode(&mut bytes, found)?;
            store.keep(key, bytes.get(FRAME..).unwrap_or_default(), layout, version);
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
