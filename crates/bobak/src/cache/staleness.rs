//! What a write makes stale: a row, or all of a table's, or all.

use super::RecordCache;
use super::record_cache::CacheKey;
use super::watcher::ChangeWatcher;
use bobak_core::codec::EncodedRow;
use bobak_core::{Batch, GeneratedKey, Outcome, Result, SideEffects, TableSchema, Verb, Write};
use std::sync::Arc;

/// A batch with more rows than this empties the cache of its table, which costs less.
const MANY: u64 = 1_000;

/// The caches of an engine's tables.
#[derive(Debug)]
pub(crate) struct EngineCaches {
    stores: Vec<Arc<RecordCache>>,
    watch: Arc<ChangeWatcher>,
}

/// Tells what a write makes stale, where it is known what writes do besides.
pub(super) struct Staleness<'c> {
    stores: &'c [Arc<RecordCache>],
    effects: &'c SideEffects,
}

/// Something that is being written: nothing of it is kept until this is dropped.
#[derive(Debug)]
pub(crate) struct PendingWrite {
    store: Arc<RecordCache>,
    /// RecordCaches rows where there is none.
    key: Option<CacheKey>,
}

impl PendingWrite {
    /// RecordCaches rows of a table.
    pub(crate) fn all(store: &Arc<RecordCache>) -> Self {
        Self::row(store, None)
    }

    /// The row with this key; all rows where there is none.
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

    /// What looks at what others write.
    pub(crate) fn watch(&self) -> &Arc<ChangeWatcher> {
        &self.watch
    }

    /// The cache of a table that is read as this schema has it.
    #[inline]
    pub(crate) fn of(&self, table: &TableSchema) -> Option<&Arc<RecordCache>> {
        self.stores.iter().find(|store| store.table.id() == table.id())
    }

    /// Everything: before SQL that may write.
    pub(crate) fn all(&self) -> Vec<PendingWrite> {
        self.stores.iter().map(PendingWrite::all).collect()
    }

    /// Runs a write outside of a transaction, which makes stale what `touch` names.
    ///
    /// Where nobody has asked yet what writes do besides, there is nothing in the caches that is
    /// handed out before somebody has: and whoever asks meanwhile is found behind it.
    pub(super) fn writing<R>(
        &self,
        touch: impl FnOnce(&Staleness<'_>, &mut Vec<PendingWrite>),
        write: impl FnOnce() -> R,
    ) -> R {
        let (known, mut touched) = (self.watch.known(), Vec::new());
        if let Some(effects) = &known.effects {
            touch(&Staleness { stores: &self.stores, effects }, &mut touched);
        }
        let done = write();
        if self.watch.known().version != known.version {
            touched.extend(self.all());
        }
        done
    }

    /// What a write inside a transaction makes stale, until that is over.
    pub(super) fn touched(
        &self,
        touch: impl FnOnce(&Staleness<'_>, &mut Vec<PendingWrite>),
    ) -> Vec<PendingWrite> {
        let known = self.watch.known();
        let Some(effects) = &known.effects else { return self.all() };
        let mut touched = Vec::new();
        touch(&Staleness { stores: &self.stores, effects }, &mut touched);
        touched
    }

    /// To be called behind a write: the rows that are new are forgotten, which others may have taken out
    /// without a word.
    ///
    /// Behind it, since the engine gives keys; and not until a transaction's end, since before that there
    /// is no row of these keys that somebody else could read.
    pub(super) fn inserted(&self, write: &Write<'_>, done: &Result<Outcome>) {
        if is_insert(write.verb)
            && let Ok(outcome) = done
        {
            for store in named(&self.stores, write.table.name()) {
                drop(PendingWrite::row(store, CacheKey::in_row(write.table, &write.values)));
                forget_given(store, outcome);
            }
        }
    }

    /// As [`inserted`](Self::inserted), for a row of a batch that was given its key: the stores are
    /// those of the tables that get rows.
    pub(super) fn given(stores: &[&Arc<RecordCache>], done: &Result<Outcome>) {
        if let Ok(outcome) = done {
            stores.iter().for_each(|store| forget_given(store, outcome));
        }
    }

    /// The caches of the tables that a batch may have new rows for.
    pub(super) fn growing(&self, batch: &Batch) -> Vec<&Arc<RecordCache>> {
        let grows = |store: &&Arc<RecordCache>| {
            let own = |table: &TableSchema| store.table.name().eq_ignore_ascii_case(table.name());
            batch
                .runs()
                .any(|run| !matches!(run.verb, Verb::Update | Verb::Delete) && own(run.table))
        };
        self.stores.iter().filter(grows).collect()
    }

    /// As [`inserted`](Self::inserted), for the rows of a batch that came with their keys.
    pub(super) fn inserted_by_batch(&self, batch: &Batch) {
        for run in batch.runs().filter(|run| is_insert(run.verb)) {
            for store in named(&self.stores, run.table.name()) {
                if !store.has_plain_keys() {
                    drop(PendingWrite::all(store));
                    continue;
                }
                run.iter().for_each(|row| {
                    drop(PendingWrite::row(store, CacheKey::in_row(run.table, &row)))
                });
            }
        }
    }
}

impl Staleness<'_> {
    /// What one write makes stale.
    pub(super) fn by_write(&self, write: &Write<'_>, touched: &mut Vec<PendingWrite>) {
        let table = write.table;
        if self.by_effects(table, write.verb, touched) {
            return;
        }
        self.by_row(table, write.verb, touched, || match write.verb {
            Verb::Delete => CacheKey::of(write.values),
            _ => CacheKey::in_row(table, &write.values),
        });
    }

    /// What a batch makes stale.
    pub(super) fn by_batch(&self, batch: &Batch, touched: &mut Vec<PendingWrite>) {
        for run in batch.runs() {
            if self.by_effects(run.table, run.verb, touched) {
                return;
            }
            if run.rows > MANY && !is_insert(run.verb) {
                touched.extend(named(self.stores, run.table.name()).map(PendingWrite::all));
                continue;
            }
            let key = |row: EncodedRow<'_>| match run.verb {
                Verb::Delete => CacheKey::in_key_row(row),
                _ => CacheKey::in_row(run.table, &row),
            };
            run.iter().for_each(|row| self.by_row(run.table, run.verb, touched, || key(row)));
        }
    }

    /// What a change of many rows makes stale.
    pub(super) fn by_change(
        &self,
        table: &TableSchema,
        deletes: bool,
        touched: &mut Vec<PendingWrite>,
    ) {
        let verb = if deletes { Verb::Delete } else { Verb::Update };
        if !self.by_effects(table, verb, touched) {
            touched.extend(named(self.stores, table.name()).map(PendingWrite::all));
        }
    }

    /// What the database changes besides: which rows only it knows. `true` where that is everything.
    fn by_effects(&self, table: &TableSchema, verb: Verb, touched: &mut Vec<PendingWrite>) -> bool {
        let everything = self.effects.has(table.name(), verb);
        if everything {
            touched.extend(self.stores.iter().map(PendingWrite::all));
        }
        everything
    }

    fn by_row(
        &self,
        table: &TableSchema,
        verb: Verb,
        touched: &mut Vec<PendingWrite>,
        key: impl FnOnce() -> Option<CacheKey>,
    ) {
        let mut stores = named(self.stores, table.name()).peekable();
        match verb {
            // There is nothing to keep before it is there.
            Verb::Insert | Verb::InsertOrIgnore => {}
            // Rows with its unique values go too.
            Verb::InsertOrReplace => touched.extend(stores.map(PendingWrite::all)),
            Verb::Upsert | Verb::Update | Verb::Delete if stores.peek().is_some() => {
                // Without a key it is all rows.
                let key = key();
                touched.extend(stores.map(|store| PendingWrite::row(store, key.clone())));
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

/// Forgets the row that has the key that the engine gave.
fn forget_given(store: &Arc<RecordCache>, outcome: &Outcome) {
    if let Outcome::Inserted(Some(GeneratedKey::Int(key))) = outcome {
        drop(PendingWrite::row(store, Some(CacheKey::Int(*key))));
    }
}
