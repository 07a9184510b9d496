//! What a connection knows about tables.

use bobak_core::WordHasher;
use std::collections::HashMap;
use std::hash::BuildHasherDefault;

/// How many tables are remembered.
pub(crate) const MOST: usize = 256;

/// TableInfo about a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TableInfo {
    /// Whether its rows have rowids: those of Bobak's own tables have.
    pub rowids: bool,
    /// Whether a foreign key of it refers to itself.
    pub refers_to_itself: bool,
    /// Whether inserts set something off, but for what writes them down.
    pub has_triggers: bool,
    /// Whether its keys are made by AUTOINCREMENT, and so not always one more than the largest.
    pub counts_keys: bool,
    /// Whether a constraint of it says by itself what to do with a row in its way (ON CONFLICT).
    pub resolves_conflicts: bool,
    /// Whether it has foreign keys, or others have some that refer to it.
    pub foreign_keys: bool,
}

/// The table_info of the tables asked for so far, by their schemas' ids.
#[derive(Debug, Default)]
pub(crate) struct TableInfoCache {
    pub known: HashMap<u64, TableInfo, BuildHasherDefault<WordHasher>>,
    /// SQLite's counts of changes of the schema, and of what is temporary.
    pub versions: (i64, i64),
}
