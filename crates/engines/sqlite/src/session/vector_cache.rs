//! The vectors of tables, kept in memory between queries.
//! | SQLite reads several pages for each vector. So the second query for the nearest rows of the same content reads the
//! vectors into an array, in which later ones find the rows. An array is used only in a transaction that reads the
//! content of the array: the content's version, which changes with every commit of any process, is the same.
//! | Each connection counts versions for itself. Of several connections, one more, the observer, looks at the newest
//! version before and after a query's transaction begins. If it is the same, the transaction reads that version.

use super::database::Database;
use crate::connection::Connection;
use crate::pool::lock;
use bobak_core::engine::VectorArray;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The arrays of a database's vectors.
pub(crate) struct VectorCache {
    max_bytes: usize,
    arrays: Mutex<Arrays>,
    observer: Mutex<Observer>,
}

/// The vectors of one version. The least recently used come first.
#[derive(Default)]
struct Arrays {
    version: u32,
    columns: Vec<(VectorColumn, VectorState)>,
}

/// A column of vectors, with the key of its table.
#[derive(Clone, PartialEq)]
pub(crate) struct VectorColumn {
    pub table: String,
    pub key: String,
    pub vector: String,
    pub numbers: usize,
    pub nullable: bool,
}

/// What the cache has of a column.
#[derive(Clone)]
pub(crate) enum VectorState {
    /// A query has read the rows. The next one reads the vectors into an array.
    Queried,
    /// No array: queries read the rows.
    Unavailable,
    Array(Arc<VectorArray>),
}

/// Looks at the newest version, on a connection of its own.
#[derive(Default)]
struct Observer(Option<Box<Connection>>);

impl VectorCache {
    pub(crate) fn new(max_bytes: usize) -> Self {
        Self { max_bytes, arrays: Mutex::default(), observer: Mutex::default() }
    }

    pub(crate) const fn max_bytes(&self) -> usize {
        self.max_bytes
    }

    /// Called before a query's transaction begins, for [`version_read`](Self::version_read).
    pub(crate) fn version_before(&self, database: &Database) -> Option<u32> {
        if database.is_single() {
            return None;
        }
        lock(&self.observer).look(database)
    }

    /// The version that a connection's transaction reads; `None` if others may have committed since `before`.
    pub(crate) fn version_read(
        &self,
        database: &Database,
        connection: &Connection,
        before: Option<u32>,
    ) -> Option<u32> {
        if database.is_single() {
            return connection.db.data_version();
        }
        lock(&self.observer).look(database).filter(|version| before == Some(*version))
    }

    /// What there is of a column in this version. If it is [`Queried`](VectorState::Queried), the caller reads the array;
    /// meanwhile it is unavailable to others.
    pub(crate) fn find(&self, column: &VectorColumn, version: u32) -> VectorState {
        let mut arrays = lock(&self.arrays);
        if arrays.version != version {
            *arrays = Arrays { version, columns: Vec::new() };
        }
        let (found, state) = match arrays.take(column) {
            None => (VectorState::Unavailable, VectorState::Queried),
            Some(VectorState::Queried) => (VectorState::Queried, VectorState::Unavailable),
            Some(state) => (state.clone(), state),
        };
        arrays.columns.push((column.clone(), state));
        found
    }

    /// Sets what there is of a column, and drops arrays beyond the limit.
    pub(crate) fn set(&self, column: VectorColumn, version: u32, state: VectorState) {
        let mut arrays = lock(&self.arrays);
        if arrays.version != version {
            return;
        }
        arrays.take(&column);
        arrays.columns.push((column, state));
        let mut bytes = arrays.bytes();
        arrays.columns.retain(|(_, state)| {
            let is_beyond = bytes > self.max_bytes && state.bytes() > 0;
            bytes -= if is_beyond { state.bytes() } else { 0 };
            !is_beyond
        });
    }

    #[cfg(test)]
    pub(crate) fn bytes(&self) -> usize {
        lock(&self.arrays).bytes()
    }
}

impl Arrays {
    fn bytes(&self) -> usize {
        self.columns.iter().map(|(_, state)| state.bytes()).sum()
    }

    fn take(&mut self, column: &VectorColumn) -> Option<VectorState> {
        let place = self.columns.iter().position(|(other, _)| other == column)?;
        Some(self.columns.remove(place).1)
    }
}

impl VectorState {
    fn bytes(&self) -> usize {
        match self {
            Self::Array(array) => array.bytes(),
            Self::Queried | Self::Unavailable => 0,
        }
    }
}

impl Observer {
    fn look(&mut self, database: &Database) -> Option<u32> {
        if self.0.is_none() {
            let mut connection = database.new_reader().ok()?;
            // It must not wait for a writer that waits for the query's own connection.
            connection.db.set_busy_timeout(Duration::ZERO);
            self.0 = Some(connection);
        }
        self.0.as_mut()?.newest_version()
    }
}

impl fmt::Debug for VectorCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VectorCache").field("max_bytes", &self.max_bytes).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(name: &str) -> VectorColumn {
        let (table, key, vector) = ("t".to_owned(), "id".to_owned(), name.to_owned());
        VectorColumn { table, key, vector, numbers: 1, nullable: false }
    }

    fn array(vectors: i64) -> VectorState {
        let mut array = VectorArray::new(1);
        assert!((0..vectors).all(|key| array.push(key, &[0; 4])));
        VectorState::Array(Arc::new(array))
    }

    fn has(cache: &VectorCache, name: &str, version: u32) -> bool {
        matches!(cache.find(&column(name), version), VectorState::Array(_))
    }

    #[test]
    fn the_second_query_of_a_version_reads_the_array() {
        let cache = VectorCache::new(1_000);
        for version in [3, 4] {
            assert!(matches!(cache.find(&column("a"), version), VectorState::Unavailable));
            assert!(matches!(cache.find(&column("a"), version), VectorState::Queried));
            assert!(matches!(cache.find(&column("a"), version), VectorState::Unavailable));
            cache.set(column("a"), version, array(1));
            assert!(has(&cache, "a", version));
        }
        cache.set(column("a"), 3, array(1));
        cache.find(&column("a"), 5);
        assert!(!has(&cache, "a", 4));
    }

    #[test]
    fn the_least_recently_used_arrays_are_dropped() {
        let cache = VectorCache::new(16 * 10);
        for name in ["a", "b", "c"] {
            cache.find(&column(name), 0);
        }
        cache.set(column("a"), 0, array(5));
        cache.set(column("b"), 0, array(4));
        assert!(has(&cache, "a", 0));
        cache.set(column("c"), 0, array(2));
        assert!(has(&cache, "a", 0) && has(&cache, "c", 0) && !has(&cache, "b", 0));
        cache.set(column("b"), 0, array(10));
        assert!(has(&cache, "b", 0) && !has(&cache, "a", 0) && !has(&cache, "c", 0));
    }
}
