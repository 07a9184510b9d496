//! What a write makes stale: a row, or all of a table's, or all.

use super::Store;
use super::store::Key;
use super::watch::{Asked, Watch};
use bobak_core::codec::EncodedRow;
use bobak_core::{Batch, OnDelete, TableSchema, Verb, Write};
use std::sync::Arc;

/// A batch with more rows than this empties the cache of its table, which costs less.
const MANY: u64 = 1_000;

/// The caches of an engine's tables.
#[derive(Debug)]
pub(crate) struct Caches {
    stores: Vec<Arc<Store>>,
    watch: Watch,
}

/// Something that is being written: nothing of it is kept until this is dropped.
#[derive(Debug)]
pub(crate) struct Touched {
    store: Arc<Store>,
    /// All rows where there is none.
    key: Option<Key>,
}

impl Touched {
    /// All rows of a table.
    pub(crate) fn all(store: &Arc<Store>) -> Self {
        Self::row(store, None)
    }

    /// The row with this key; all rows where there is none.
    pub(super) fn row(store: &Arc<Store>, key: Option<Key>) -> Self {
        let key = key.filter(|_| store.has_plain_keys());
        match &key {
            Some(key) => store.begin_writing(key),
            None => store.begin_writing_all(),
        }
        Self { store: Arc::clone(store), key }
    }
}

impl Drop for Touched {
    fn drop(&mut self) {
        match &self.key {
            Some(key) => self.store.end_writing(key),
            None => self.store.end_writing_all(),
        }
    }
}

impl Caches {
    pub(crate) fn new(stores: Vec<Arc<Store>>) -> Self {
        Self { watch: Watch::new(stores.clone()), stores }
    }

    /// Whether caches may answer: what others wrote was looked for lately.
    #[inline]
    pub(super) fn is_fresh(&self, asked: Asked<'_>) -> bool {
        self.watch.is_fresh(asked)
    }

    /// To be called when the schema was changed.
    pub(super) fn look_anew(&self) {
        self.watch.forget();
    }

    /// The cache of a table that is read as this schema has it.
    #[inline]
    pub(crate) fn of(&self, table: &TableSchema) -> Option<&Arc<Store>> {
        self.stores.iter().find(|store| store.table.id() == table.id())
    }

    /// Everything: before SQL that may write.
    pub(crate) fn all(&self) -> Vec<Touched> {
        self.stores.iter().map(Touched::all).collect()
    }

    /// What one write makes stale.
    pub(crate) fn by_write(&self, write: &Write<'_>, touched: &mut Vec<Touched>) {
        let table = write.table;
        self.by_row(table, write.verb, touched, || match write.verb {
            Verb::Delete => Key::of(write.values),
            _ => Key::in_row(table, &write.values),
        });
    }

    /// What a batch makes stale.
    pub(crate) fn by_batch(&self, batch: &Batch, touched: &mut Vec<Touched>) {
        for run in batch.runs() {
            if run.rows > MANY {
                self.by_change(run.table, run.verb == Verb::Delete, touched);
                continue;
            }
            let key = |row: EncodedRow<'_>| match run.verb {
                Verb::Delete => Key::in_key_row(row),
                _ => Key::in_row(run.table, &row),
            };
            run.iter().for_each(|row| self.by_row(run.table, run.verb, touched, || key(row)));
        }
    }

    /// What a change of many rows makes stale.
    pub(crate) fn by_change(&self, table: &TableSchema, deletes: bool, touched: &mut Vec<Touched>) {
        touched.extend(self.named(table.name()).map(Touched::all));
        if deletes {
            self.by_reference(touched);
        }
    }

    fn by_row(
        &self,
        table: &TableSchema,
        verb: Verb,
        touched: &mut Vec<Touched>,
        key: impl FnOnce() -> Option<Key>,
    ) {
        match verb {
            // A new row: there was nothing to keep.
            Verb::Insert | Verb::InsertOrIgnore => return,
            // Rows with its unique values go too.
            Verb::InsertOrReplace => return self.by_change(table, true, touched),
            Verb::Upsert | Verb::Update | Verb::Delete => {}
        }
        let mut stores = self.named(table.name()).peekable();
        if stores.peek().is_some() {
            // Without a key it is all rows.
            let key = key();
            touched.extend(stores.map(|store| Touched::row(store, key.clone())));
        }
        if verb == Verb::Delete {
            self.by_reference(touched);
        }
    }

    /// Rows that go, or lose a value, with rows of other tables: which ones only the engine knows.
    fn by_reference(&self, touched: &mut Vec<Touched>) {
        let follows = |store: &&Arc<Store>| {
            store.table.columns().iter().any(|column| {
                column.reference.as_ref().is_some_and(|to| to.on_delete != OnDelete::Restrict)
            })
        };
        touched.extend(self.stores.iter().filter(follows).map(Touched::all));
    }

    fn named<'s>(&'s self, name: &'s str) -> impl Iterator<Item = &'s Arc<Store>> {
        self.stores.iter().filter(move |store| store.table.name().eq_ignore_ascii_case(name))
    }
}
