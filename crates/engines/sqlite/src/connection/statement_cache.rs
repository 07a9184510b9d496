//! A cache of prepared statements with a fixed capacity.

use crate::ffi::StatementId;
use bobak_core::{FieldSet, WordHasher};
use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash};

/// The key of a table statement: everything that its text depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct TableStatementKey {
    /// The schema's id, which distinguishes tables of the same name.
    pub schema: u64,
    /// What the statement does.
    pub kind: StatementKind,
    /// The number of rows that it inserts.
    pub rows: u32,
    /// Whether it omits the key column.
    pub without_key: bool,
    /// The columns that it assigns.
    pub fields: FieldSet,
}

/// The kinds of table statements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum StatementKind {
    Insert,
    InsertOrFail,
    InsertOrIgnore,
    InsertOrReplace,
    Upsert,
    /// An upsert on the unique index with this number.
    UpsertOn(u16),
    Update,
    Delete,
    Get,
    LastKey,
}

/// Statements by key. The least recently used one is evicted first.
#[derive(Debug)]
pub(crate) struct StatementCache<K> {
    entries: HashMap<K, Entry, BuildHasherDefault<WordHasher>>,
    capacity: usize,
    clock: u64,
}

#[derive(Debug)]
struct Entry {
    statement: StatementId,
    used: u64,
}

impl<K: Hash + Eq + Clone> StatementCache<K> {
    pub(crate) fn new(capacity: usize) -> Self {
        Self { entries: HashMap::default(), capacity, clock: 0 }
    }

    #[inline]
    pub(crate) fn get<Q: Hash + Eq + ?Sized>(&mut self, key: &Q) -> Option<StatementId>
    where
        K: Borrow<Q>,
    {
        self.clock += 1;
        let entry = self.entries.get_mut(key)?;
        entry.used = self.clock;
        Some(entry.statement)
    }

    /// Removes a statement from the cache, for a user who keeps it running.
    pub(crate) fn take<Q: Hash + Eq + ?Sized>(&mut self, key: &Q) -> Option<StatementId>
    where
        K: Borrow<Q>,
    {
        self.entries.remove(key).map(|entry| entry.statement)
    }

    /// Removes all statements.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = StatementId> {
        self.entries.drain().map(|(_, entry)| entry.statement)
    }

    /// Adds a statement. Returns the evicted one, which the caller finalizes.
    #[must_use]
    pub(crate) fn insert(&mut self, key: K, statement: StatementId) -> Option<StatementId> {
        self.clock += 1;
        let used = self.clock;
        if let Some(old) = self.entries.insert(key, Entry { statement, used }) {
            return Some(old.statement);
        }
        if self.entries.len() <= self.capacity {
            return None;
        }
        let oldest = self.entries.iter().min_by_key(|(_, entry)| entry.used);
        let oldest = oldest.map(|(key, _)| key.clone())?;
        self.take(&oldest)
    }
}
