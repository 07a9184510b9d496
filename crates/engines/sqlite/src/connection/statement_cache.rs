//! Prepared statements kept for the next time, a bounded number of them.

use crate::ffi::StatementId;
use bobak_core::{FieldSet, WordHasher};
use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash};

/// What tells one table statement from another: all that its text depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct TableStatementKey {
    /// The schema's id, so that statements of tables of one name are never mixed up.
    pub schema: u64,
    /// What the statement does.
    pub kind: StatementKind,
    /// How many rows it inserts.
    pub rows: u32,
    /// Whether the key's column is left out.
    pub without_key: bool,
    /// The columns that it sets.
    pub fields: FieldSet,
}

/// What a table statement does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum StatementKind {
    Insert,
    InsertOrFail,
    InsertOrIgnore,
    InsertOrReplace,
    Upsert,
    Update,
    Delete,
    Get,
    LastKey,
}

/// Statements by key; the ones used longest ago go first.
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

    /// Takes a statement out, for one who keeps it running.
    pub(crate) fn take<Q: Hash + Eq + ?Sized>(&mut self, key: &Q) -> Option<StatementId>
    where
        K: Borrow<Q>,
    {
        self.entries.remove(key).map(|entry| entry.statement)
    }

    /// Takes all statements out.
    pub(crate) fn drain(&mut self) -> impl Iterator<Item = StatementId> {
        self.entries.drain().map(|(_, entry)| entry.statement)
    }

    /// Keeps a statement; gives the one that must go for it, which the caller finalizes.
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
