//! Records kept by their keys, in front of an engine.
//!
//! `engine` and `session` stand in the way of every operation; `store` is what they and `fill` fill
//! and empty; `touch` says what a write makes stale; `watch` sees what others write.

mod engine;
mod fill;
mod session;
mod store;
#[cfg(test)]
mod tests;
mod touch;
mod watch;

pub(crate) use engine::Cached;
pub(crate) use store::Store;
pub(crate) use touch::{Caches, Touched};

use bobak_core::TableSchema;
use bobak_sql::only_reads;
use std::any::TypeId;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// How much of a record type is kept in memory, and for how long. See
/// [`DbBuilder::cache`](crate::DbBuilder::cache).
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
pub(crate) struct Wanted {
    pub id: TypeId,
    pub table: &'static Arc<TableSchema>,
    pub options: CacheOptions,
}

/// The caches of a database, by record type.
#[derive(Clone, Debug, Default)]
pub(crate) struct All(HashMap<TypeId, Arc<Store>>);

impl All {
    pub(crate) fn add(&mut self, id: TypeId, store: Arc<Store>) {
        self.0.insert(id, store);
    }

    pub(crate) fn stats(&self, id: TypeId) -> Option<CacheStats> {
        self.0.get(&id).map(|store| store.stats())
    }

    /// To be called before SQL that goes past the engines, and held while it runs.
    pub(crate) fn before_sql(&self, text: &str) -> Vec<Touched> {
        if only_reads(text) {
            return Vec::new();
        }
        self.0.values().map(Touched::all).collect()
    }
}
