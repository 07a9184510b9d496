//! The options and statistics of a cache.

use bobak_core::settings;
use std::time::Duration;

settings! {
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
    #[derive(Clone, PartialEq, Eq)]
    pub struct CacheOptions with pub(super) settings {
        /// The most records. Records that are looked up rarely are evicted first.
        entries: u64 = 10_000, min = 1;
        /// The most bytes of records, without the index (about 100 bytes per record).
        ///
        /// A record larger than a fraction of this is not cached.
        bytes: u64 = 16 << 20, unit = "bytes", min = 1;
        /// How long a record is cached at most.
        ///
        /// Set it if others write to the same database and the table is not tracked: their writes are visible here only
        /// after this time.
        time_to_live: Option<Duration> = None, default_text = "no limit";
        /// How often a `get` checks the change log for writes of others, such as other processes, if the table is tracked.
        ///
        /// See [`DbBuilder::track`](crate::DbBuilder::track). A `get` never returns a record that was overwritten longer
        /// ago than this. Zero checks every time, which costs more than most lookups. The smallest interval of an
        /// engine's caches applies to all of them.
        ///
        /// A check is one or two queries, made by a caller that looks a record up; other callers ask the engine meanwhile.
        /// Whether a table is tracked is read at the first lookup, and when this database changes the schema.
        watch: Duration = Duration::from_millis(100);
    }
}

impl CacheOptions {
    /// 10,000 records in at most 16 MiB, without a time to live.
    pub fn new() -> Self {
        Self::default()
    }
}

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
