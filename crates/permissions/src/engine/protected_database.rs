//! A database that callers with different permissions use.

use super::tracking_cache::TrackingCache;
use bobak_core::{Engine, Result, TableSchema};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// A database under the name that grants refer to. All callers share it.
pub struct ProtectedDatabase {
    name: String,
    engine: Arc<dyn Engine>,
    /// Tables as the database has them, by lower-case name. Row rules rely on these, not on what a
    /// caller says about a table.
    tables: Mutex<HashMap<String, Arc<TableSchema>>>,
    tracking: TrackingCache,
}

impl ProtectedDatabase {
    /// A database under a name.
    #[must_use]
    pub fn new(name: &str, engine: Arc<dyn Engine>) -> Arc<Self> {
        Arc::new(Self {
            name: name.to_owned(),
            engine,
            tables: Mutex::default(),
            tracking: TrackingCache::default(),
        })
    }

    /// The database's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The engine without any checks.
    #[must_use]
    pub fn engine(&self) -> &Arc<dyn Engine> {
        &self.engine
    }

    /// A table as the database has it; `None` if it does not exist. The schema is read again if the
    /// cached one lacks one of these columns: it may have been added since.
    pub(super) fn table(
        &self,
        table: &str,
        columns: &[&str],
        tables: &dyn Fn() -> Result<Vec<TableSchema>>,
    ) -> Result<Option<Arc<TableSchema>>> {
        let name = table.to_ascii_lowercase();
        let lock = || self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        let has = |table: &TableSchema, column: &str| {
            table.columns().iter().any(|other| other.name.eq_ignore_ascii_case(column))
        };
        if let Some(cached) = lock().get(&name)
            && columns.iter().all(|column| has(cached, column))
        {
            return Ok(Some(Arc::clone(cached)));
        }
        let mut found = tables()?.into_iter();
        let Some(found) = found.find(|found| found.name().eq_ignore_ascii_case(table)) else {
            return Ok(None);
        };
        let found = Arc::new(found);
        lock().insert(name, Arc::clone(&found));
        Ok(Some(found))
    }

    /// Whether changes are captured, and the caller's name with them.
    pub(super) const fn tracking(&self) -> &TrackingCache {
        &self.tracking
    }

    /// Forgets cached schemas. Call it when the schema has changed by other ways than a caller's engine.
    pub fn forget_schema(&self) {
        self.tracking.clear();
        self.tables.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

impl std::fmt::Debug for ProtectedDatabase {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ProtectedDatabase").field("name", &self.name).finish_non_exhaustive()
    }
}
