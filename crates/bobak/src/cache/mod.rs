//! Records kept by their keys, in front of an engine.
//!
//! `engine` and `session` stand in the way of every operation; `store` is what they and `fill` fill
//! and empty; `touch` says what a write makes stale; `watch` sees what others write.

mod cached_engine;
mod cached_session;
mod counters;
mod fill;
mod record_cache;
mod staleness;
#[cfg(test)]
mod tests;
mod watcher;

pub(crate) use cached_engine::CachedEngine;
pub(crate) use record_cache::RecordCache;
pub(crate) use staleness::EngineCaches;

use bobak_core::TableSchema;
use bobak_sql::{changes_rows, only_reads};
use staleness::PendingWrite;
use std::any::TypeId;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use watcher::ChangeWatcher;

/// How much of a record type is kept in memory, and for how long. See
/// [`DbBuilder::cache`](crate::DbBuilder::cache).
///
/// Every write through this database makes it forget what that may change: the row, or, where the table
/// has triggers or foreign keys refer to it with an action, everything. That is asked of the
/// database when a record is first asked for, and again when this one changes the schema: triggers
/// that others make meanwhile are not known, nor those behind a server. What others write is seen
/// where the table is tracked, see [`watch`](Self::watch); what functions do that a `SELECT` calls is not.
///
/// Rights behind a cache, those of a server, are looked at when a record is read, not when it is handed out again: one
/// whose right is taken away still sees here what he has seen, until the time to live is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheOptions {
    pub(crate) entries: u64,
    pub(crate) bytes: u64,
    pub(crate) time_to_live: Option<Duration>,
    pub(crate) watch: Duration,
}

/// How often the change feed is looked at unless another time is asked for.
const WATCH: Duration = Duration::from_millis(100);

/// What a cache holds, and what it was worth so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CacheStats {
    /// Lookups that it answered.
    pub hits: u64,
    /// Lookups that it did not know.
    pub misses: u64,
    /// Records that it holds.
    pub entries: u64,
}

impl Default for CacheOptions {
    fn default() -> Self {
        Self { entries: 10_000, bytes: 16 << 20, time_to_live: None, watch: WATCH }
    }
}

impl CacheOptions {
    /// 10,000 records in at most 16 MiB, for as long as nobody changes them.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The most records, at least 1. Which go first is decided by how often they are asked for.
    #[must_use]
    pub fn entries(mut self, entries: u64) -> Self {
        self.entries = entries.max(1);
        self
    }

    /// The most bytes of records, at least 1, without what it costs to find them (about 100 bytes
    /// each). A record larger than a fraction of it is not kept.
    #[must_use]
    pub fn bytes(mut self, bytes: u64) -> Self {
        self.bytes = bytes.max(1);
        self
    }

    /// How long a record is kept at most; for ever by default. Set it where others write to the same
    /// database and the table is not tracked: their writes are not seen here until then.
    #[must_use]
    pub fn time_to_live(mut self, time: Duration) -> Self {
        self.time_to_live = Some(time);
        self
    }

    /// How often a `get` looks into the change feed for what others wrote, other processes or other
    /// handles on the same database, where the table is tracked
    /// ([`DbBuilder::track`](crate::DbBuilder::track)): no record is handed out that was written over
    /// longer than this ago. Default 100 milliseconds; zero looks each time, which costs more than
    /// most lookups. The smallest of an engine's caches counts for all of them.
    ///
    /// A look is a query or two, by one who asks for a record; who asks meanwhile is answered by the
    /// engine. That a table is tracked is seen when it is first looked at, and when this database
    /// changes the schema.
    #[must_use]
    pub fn watch(mut self, time: Duration) -> Self {
        self.watch = time;
        self
    }
}

/// A cache that was asked for.
pub(crate) struct CachedRecord {
    pub id: TypeId,
    pub table: &'static Arc<TableSchema>,
    pub options: CacheOptions,
}

/// The caches of a database, by record type.
#[derive(Clone, Debug, Default)]
pub(crate) struct RecordCaches {
    stores: HashMap<TypeId, Arc<RecordCache>>,
    /// One for each engine with caches.
    watches: Vec<Arc<ChangeWatcher>>,
}

/// What caches have forgotten, and keep nothing of until this is dropped.
#[derive(Default)]
pub(crate) struct Invalidation {
    /// Those to whom the schema is then unknown.
    altered: Vec<Arc<ChangeWatcher>>,
    touched: Vec<PendingWrite>,
}

impl RecordCaches {
    pub(crate) fn add(&mut self, id: TypeId, store: Arc<RecordCache>) {
        self.stores.insert(id, store);
    }

    pub(crate) fn add_watcher(&mut self, caches: &EngineCaches) {
        self.watches.push(Arc::clone(caches.watch()));
    }

    pub(crate) fn stats(&self, id: TypeId) -> Option<CacheStats> {
        self.stores.get(&id).map(|store| store.stats())
    }

    /// To be called before SQL that goes past the engines; what it may write is added to what is forgotten already, which
    /// is to be held while the statement runs, or until its transaction is over.
    pub(crate) fn before_sql(&self, text: &str, forgotten: &mut Invalidation) {
        if only_reads(text) {
            return;
        }
        if forgotten.touched.is_empty() {
            forgotten.touched = self.stores.values().map(PendingWrite::all).collect();
        }
        if forgotten.altered.is_empty() && !changes_rows(text) {
            forgotten.altered.clone_from(&self.watches);
        }
    }
}

impl Drop for Invalidation {
    fn drop(&mut self) {
        self.altered.iter().for_each(|watch| watch.forget());
    }
}
