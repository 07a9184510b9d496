//! Which cached rows a write makes stale: one row, all rows of a table, or everything.

use super::RecordCache;
use super::record_cache::{CacheKey, RowLayout};
use super::watcher::ChangeWatcher;
use bobak_core::codec::EncodedRow;
use bobak_core::{
    GeneratedKey, Outcome, Result, SideEffects, TableSchema, Verb, Write, WriteBatch,
};
use std::sync::Arc;

/// A batch with more rows than this empties the cache of its table, which costs less.
const MAX_STALE_ROWS: u64 = 1_000;

/// The caches of an engine's tables.
#[derive(Debug)]
pub(crate) struct EngineCaches {
    stores: Vec<Arc<RecordCache>>,
    watch: Arc<ChangeWatcher>,
}

/// Finds what a write makes stale. Requires the write's known side effects.
pub(super) struct Staleness<'c> {
    stores: &'c [Arc<RecordCache>],
    effects: &'c SideEffects,
}

/// Rows that are being written. The caches store none of them until this is dropped.
#[derive(Debug)]
pub(crate) struct PendingWrite {
    store: Arc<RecordCache>,
    /// `None` for all rows of the table.
    key: Option<CacheKey>,
}

impl PendingWrite {
    /// All rows of a table.
    pub(crate) fn all(store: &Arc<RecordCache>) -> Self {
        Self::row(store, None)
    }

    /// The row with this key in the rows of a schema, or all rows if the key is `None` or has another form.
    fn row_of(store: &Arc<RecordCache>, table: &TableSchema, key: Option<CacheKey>) -> Self {
        Self::row(store, key.filter(|_| store.has_keys_of(table)))
    }

    /// The row with this key, or all rows if the key is `None`.
    pub(super) fn row(store: &Arc<RecordCache>, key: Option<CacheKey>) -> Self {
        let key = key.filter(|_| store.has_plain_keys());
        match &key {
            Some(key) => store.begin_writing(key),
            None => store.begin_writing_all(),
        }
        Self { store: Arc::clone(store), key }
    }
}

impl Drop for PendingWrite {
    fn drop(&mut self) {
        match &self.key {
            Some(key) => self.store.end_writing(key),
            None => self.store.end_writing_all(),
        }
    }
}

impl EngineCaches {
    pub(crate) fn new(stores: Vec<Arc<RecordCache>>) -> Self {
        Self { watch: Arc::new(ChangeWatcher::new(stores.clone())), stores }
    }

    /// Watches the change log for writes of others.
    pub(crate) fn watch(&self) -> &Arc<ChangeWatcher> {
        &self.watch
    }

    /// The cache of a table, and the layout of the rows that this schema has in it.
    #[inline]
    pub(crate) fn of(&self, table: &TableSchema) -> Option<(&Arc<RecordCache>, RowLayout)> {
        self.stores.iter().find_map(|store| Some((store, store.layout_of(table)?)))
    }

    /// Marks all rows of all tables, for SQL that may write anything.
    pub(crate) fn all(&self) -> Vec<PendingWrite> {
        self.stores.iter().map(PendingWrite::all).collect()
    }

    /// Runs a write outside of a transaction. `mark` collects what the write makes stale.
    ///
    /// If the side effects are not known yet, nothing is marked: no cached row is returned before they are known, and
    /// learning them raises the version, which is compared after the write.
    pub(super) fn writing<R>(
        &self,
        mark: impl FnOnce(&Staleness<'_>, &mut Vec<PendingWrite>),
        write: impl FnOnce() -> R,
    ) -> R {
        let (known, mut pending) = (self.watch.known(), Vec::new());
        if let Some(effects) = &known.effects {
            mark(&Staleness { stores: &self.stores, effects }, &mut pending);
        }
        let done = write();
        if self.watch.known().version != known.version {
            pending.extend(self.all());
        }
        done
    }

    /// What a write inside a transaction makes stale until the transaction ends.
    pub(super) fn pending(
        &self,
        mark: impl FnOnce(&Staleness<'_>, &mut Vec<PendingWrite>),
    ) -> Vec<PendingWrite> {
        let known = self.watch.known();
        let Some(effects) = &known.effects else { return self.all() };
        let mut pending = Vec::new();
        mark(&Staleness { stores: &self.stores, effects }, &mut pending);
        pending
    }

    /// Call this after an insert: removes new rows that another connection may have deleted without this cache seeing it.
    ///
    /// After the insert, because the engine generates keys. Not delayed until the transaction ends, because nobody else
    /// can read rows with these keys before that.
    pub(super) fn inserted(&self, write: &Write<'_>, done: &Result<Outcome>) {
        if is_insert(write.verb)
            && let Ok(outcome) = done
        {
            for store in named(&self.stores, write.table.name()) {
                let key = CacheKey::in_row(write.table, &write.values);
                drop(PendingWrite::row_of(store, write.table, key));
                forget_generated(store, outcome);
            }
        }
    }

    /// As [`inserted`](Self::inserted), for one row of a batch whose key was generated. `stores` are the caches of the
    /// tables that get new rows.
    pub(super) fn generated(stores: &[&Arc<RecordCache>], done: &Result<Outcome>) {
        if let Ok(outcome) = done {
            stores.iter().for_each(|store| forget_generated(store, outcome));
        }
    }

    /// The caches of the tables into which a batch may insert rows.
    pub(super) fn tables_with_inserts(&self, batch: &WriteBatch) -> Vec<&Arc<RecordCache>> {
        let grows = |store: &&Arc<RecordCache>| {
            let own = |table: &TableSchema| store.table.name().eq_ignore_ascii_case(table.name());
            batch
                .runs()
                .any(|run| !matches!(run.verb, Verb::Update | Verb::Delete) && own(run.table))
        };
        self.stores.iter().filter(grows).collect()
    }

    /// As [`inserted`](Self::inserted), for the rows of a batch that have their keys already.
    pub(super) fn inserted_by_batch(&self, batch: &WriteBatch) {
        for run in batch.runs().filter(|run| is_insert(run.verb)) {
            for store in named(&self.stores, run.table.name()) {
                if !store.has_plain_keys() {
                    drop(PendingWrite::all(store));
                    continue;
                }
                run.iter().for_each(|row| {
                    let key = CacheKey::in_row(run.table, &row);
                    drop(PendingWrite::row_of(store, run.table, key));
                });
            }
        }
    }
}

impl Staleness<'_> {
    /// What one write makes stale.
    pub(super) fn by_write(&self, write: &Write<'_>, pending: &mut Vec<PendingWrite>) {
        let table = write.table;
        if self.by_effects(table, write.verb, pending) {
            return;
        }
        self.by_row(table, write.verb, pending, || match write.verb {
            Verb::Delete => CacheKey::of(write.values),
            _ => CacheKey::in_row(table, &write.values),
        });
    }

    /// What a batch makes stale.
    pub(super) fn by_batch(&self, batch: &WriteBatch, pending: &mut Vec<PendingWrite>) {
        for run in batch.runs() {
            if self.by_effects(run.table, run.verb, pending) {
                return;
            }
            if run.rows > MAX_STALE_ROWS && !is_insert(run.verb) {
                pending.extend(named(self.stores, run.table.name()).map(PendingWrite::all));
                continue;
            }
            let key = |row: EncodedRow<'_>| match run.verb {
                Verb::Delete => CacheKey::in_key_row(row),
                _ => CacheKey::in_row(run.table, &row),
            };
            run.iter().for_each(|row| self.by_row(run.table, run.verb, pending, || key(row)));
        }
    }

    /// What a change of rows makes stale: the row with a key, or all.
    pub(super) fn by_change(
        &self,
        table: &TableSchema,
        deletes: bool,
        key: Option<&CacheKey>,
        pending: &mut Vec<PendingWrite>,
    ) {
        let verb = if deletes { Verb::Delete } else { Verb::Update };
        if !self.by_effects(table, verb, pending) {
            let stores = named(self.stores, table.name());
            pending.extend(stores.map(|store| PendingWrite::row_of(store, table, key.cloned())));
        }
    }

    /// Marks everything if the write has side effects, since only the database knows which rows they change. Returns
    /// whether it has.
    fn by_effects(&self, table: &TableSchema, verb: Verb, pending: &mut Vec<PendingWrite>) -> bool {
        let everything = self.effects.has(table.name(), verb);
        if everything {
            pending.extend(self.stores.iter().map(PendingWrite::all));
        }
        everything
    }

    fn by_row(
        &self,
        table: &TableSchema,
        verb: Verb,
        pending: &mut Vec<PendingWrite>,
        key: impl FnOnce() -> Option<CacheKey>,
    ) {
        let mut stores = named(self.stores, table.name()).peekable();
        match verb {
            // A new row is not cached yet.
            Verb::Insert | Verb::InsertOrIgnore => {}
            // Rows with the same unique values are deleted, or updated, too.
            Verb::InsertOrReplace | Verb::UpsertOn(_) => {
                pending.extend(stores.map(PendingWrite::all));
            }
            Verb::Upsert | Verb::Update | Verb::Delete if stores.peek().is_some() => {
                // Without a plain key, all rows.
                let key = key();
                let row = |store| PendingWrite::row_of(store, table, key.clone());
                pending.extend(stores.map(row));
            }
            Verb::Upsert | Verb::Update | Verb::Delete => {}
        }
    }
}

fn named<'s>(
    stores: &'s [Arc<RecordCache>],
    name: &'s str,
) -> impl Iterator<Item = &'s Arc<RecordCache>> {
    stores.iter().filter(move |store| store.table.name().eq_ignore_ascii_case(name))
}

const fn is_insert(verb: Verb) -> bool {
    matches!(verb, Verb::Insert | Verb::InsertOrIgnore)
}

/// Removes the row with the key that the engine generated.
fn forget_generated(store: &Arc<RecordCache>, outcome: &Outcome) {
    if let Outcome::Inserted(Some(GeneratedKey::Int(key))) = outcome {
        drop(PendingWrite::row(store, Some(CacheKey::Int(*key))));
    }
}
