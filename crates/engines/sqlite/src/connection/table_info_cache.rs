//! What a connection knows about tables.

use bobak_core::WordHasher;
use std::collections::HashMap;
use std::hash::BuildHasherDefault;

/// The capacity of the cache.
pub(crate) const CAPACITY: usize = 256;

/// Properties of a table that decide how it is written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TableInfo {
    /// Whether it has rowids, as tables created by Bobak do.
    pub rowids: bool,
    /// Whether one of its foreign keys references the table itself.
    pub refers_to_itself: bool,
    /// Whether inserts fire triggers, other than those of change capture.
    pub has_triggers: bool,
    /// Whether AUTOINCREMENT generates its keys, so that a key need not be the largest plus one.
    pub counts_keys: bool,
    /// Whether a constraint has an ON CONFLICT clause.
    pub resolves_conflicts: bool,
    /// Whether it has foreign keys, or other tables reference it.
    pub foreign_keys: bool,
    /// Whether other rows may reference its rows.
    pub is_referenced: bool,
    /// Whether its only CHECKs are those of how Bobak stores its types, so that rows of values need none.
    pub checks_storage_only: bool,
}

/// The properties of the tables used so far, by schema id.
#[derive(Debug, Default)]
pub(crate) struct TableInfoCache {
    pub known: HashMap<u64, TableInfo, BuildHasherDefault<WordHasher>>,
    /// SQLite's version numbers of the main and the temporary schema.
    pub versions: (i64, i64),
}
