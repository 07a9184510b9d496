//! A cache of records by key, in front of an engine.
//!
//! `cached_engine` and `cached_session` are the layers in front of the engine. They and `fill` read and fill a
//! `record_cache`; `staleness` finds what a write makes stale; `watcher` notices writes of others in the change log.

mod cached_engine;
mod cached_session;
mod counters;
mod fill;
mod options;
mod record_cache;
mod staleness;
#[cfg(test)]
mod tests;
mod watcher;

pub use cached_engine::cache_tables;
pub use options::{CacheOptions, CacheStats};

pub(crate) use cached_engine::CachedEngine;
pub(crate) use record_cache::RecordCache;
pub(crate) use staleness::EngineCaches;

use bobak_core::TableSchema;
use bobak_sql::{changes_rows, only_reads};
use staleness::PendingWrite;
use std::any::TypeId;
use std::collections::HashMap;
use std::sync::Arc;
use watcher::ChangeWatcher;

/// A record type to cache.
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

/// Keeps caches from storing certain rows until this is dropped.
#[derive(Default)]
pub(crate) struct Invalidation {
    /// Watchers that must read the schema again afterwards.
    altered: Vec<Arc<ChangeWatcher>>,
    pending: Vec<PendingWrite>,
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

    /// Call this before SQL that bypasses the cached engines. Adds what the statement may write to `invalidation`, which
    /// must be kept while the statement runs, or until its transaction has ended.
    pub(crate) fn before_sql(&self, text: &str, invalidation: &mut Invalidation) {
        if only_reads(text) {
            return;
        }
        if invalidation.pending.is_empty() {
            invalidation.pending = self.stores.values().map(PendingWrite::all).collect();
        }
        if invalidation.altered.is_empty() && !changes_rows(text) {
            invalidation.altered.clone_from(&self.watches);
        }
    }
}

impl Drop for Invalidation {
    fn drop(&mut self) {
        self.altered.iter().for_each(|watch| watch.forget());
    }
}
