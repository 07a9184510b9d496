//! The options and statistics of a cache.

use std::time::Duration;

/// How many records of a type are cached, and for how long. See [`DbBuilder::cache`](crate::DbBuilder::cache).
///
/// Every write through this database removes what it may change: the row, or everything if the table has triggers or is
/// referenced by foreign keys with an action. The cache reads these from the database before the first lookup, and again
/// when this database changes the schema; it does not know triggers created by others meanwhile, or those behind a server.
/// It notices writes of others if the table is tracked (see [`watch`](Self::watch)), but not writes by functions that a
/// `SELECT` calls.
///
/// A server checks permissions when a record is read from it, not when this cache returns the record again: after a
/// permission is revoked, cached records remain visible here until their time to live is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheOptions {
    pub(super) entries: u64,
    pub(super) bytes: u64,
    pub(super) time_to_live: Option<Duration>,
    pub(super) watch: Duration,
}

/// The default interval between reads of the change log.
const WATCH_INTERVAL: Duration = Duration::from_millis(100);

/// Statistics of a cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CacheStats {
    /// Lookups found in the cache.
    pub hits: u64,
    /// Lookups not found in the cache.
    pub misses: u64,
    /// Cached records.
    pub entries: u64,
}

impl Default for CacheOptions {
    fn default() -> Self {
        Self { entries: 10_000, bytes: 16 << 20, time_to_live: None, watch: WATCH_INTERVAL }
    }
}

impl CacheOptions {
    /// 10,000 records in at most 16 MiB, without a time to live.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The most records, at least 1. Records that are looked up rarely are evicted first.
    #[must_use]
    pub fn entries(mut self, entries: u64) -> Self {
        self.entries = entries.max(1);
        self
    }

    /// The most bytes of records, at least 1, without the index (about 100 bytes per record). A record larger than a
    /// fraction of this is not cached.
    #[must_use]
    pub fn bytes(mut self, bytes: u64) -> Self {
        self.bytes = bytes.max(1);
        self
    }

    /// How long a record is cached at most. Default: no limit. Set it if others write to the same database and the table is
    /// not tracked: their writes are visible here only after this time.
    #[must_use]
    pub fn time_to_live(mut self, time: Duration) -> Self {
        self.time_to_live = Some(time);
        self
    }

    /// How often a `get` checks the change log for writes of others, such as other processes, if the table is tracked
    /// ([`DbBuilder::track`](crate::DbBuilder::track)): a `get` never returns a record that was overwritten longer ago than
    /// this. Default: 100 milliseconds; zero checks every time, which costs more than most lookups. The smallest interval
    /// of an engine's caches applies to all of them.
    ///
    /// A check is one or two queries, made by a caller that looks a record up; other callers ask the engine meanwhile.
    /// Whether a table is tracked is read at the first lookup, and when this database changes the schema.
    #[must_use]
    pub fn watch(mut self, time: Duration) -> Self {
        self.watch = time;
        self
    }
}
