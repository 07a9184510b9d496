//! A database that callers come to.

use super::engine::Guarded;
use super::screen::Screened;
use super::tracks::Tracks;
use crate::caller::Caller;
use bobak_core::{ColumnSchema, Condition, Engine, Result, TableSchema};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// A database, by the name that grants know it by, and its engine. One for all callers.
pub struct Protected {
    name: String,
    engine: Arc<dyn Engine>,
    /// The columns of tables that rules are about, by the table's name in lower case: rules believe
    /// the database, not what a caller says about it.
    columns: Mutex<HashMap<String, Arc<Vec<ColumnSchema>>>>,
    tracks: Tracks,
}

impl Protected {
    /// A database under a name.
    #[must_use]
    pub fn new(name: &str, engine: Arc<dyn Engine>) -> Arc<Self> {
        Arc::new(Self {
            name: name.to_owned(),
            engine,
            columns: Mutex::default(),
            tracks: Tracks::default(),
        })
    }

    /// The database's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The engine that does everything for everybody.
    #[must_use]
    pub fn engine(&self) -> &Arc<dyn Engine> {
        &self.engine
    }

    /// The engine for a caller: one that does what the caller may do. For the operator that is all
    /// but what [no SQL](crate::reads_only) may do through a door.
    #[must_use]
    pub fn engine_for(self: &Arc<Self>, caller: &Caller) -> Arc<dyn Engine> {
        if caller.is_operator() {
            return Arc::new(Screened::new(Arc::clone(&self.engine)));
        }
        Arc::new(Guarded::new(Arc::clone(self), caller.clone()))
    }

    /// Which rows of a table a caller may read, `None` for all of them: for those who hand out rows
    /// that no engine gave them, a feed of changes perhaps.
    ///
    /// # Errors
    /// `Schema` where the caller has no right on the table at all, `Denied` where it may not read.
    pub fn readable(
        self: &Arc<Self>,
        caller: &Caller,
        table: &Arc<TableSchema>,
    ) -> Result<Option<Condition>> {
        Guarded::new(Arc::clone(self), caller.clone()).readable(table)
    }

    /// The columns that a table really has; `None` where it is not there.
    pub(super) fn columns(
        &self,
        table: &str,
        tables: impl FnOnce() -> Result<Vec<TableSchema>>,
    ) -> Result<Option<Arc<Vec<ColumnSchema>>>> {
        let name = table.to_ascii_lowercase();
        let lock = || self.columns.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(columns) = lock().get(&name) {
            return Ok(Some(Arc::clone(columns)));
        }
        let mut found = tables()?.into_iter();
        let Some(found) = found.find(|found| found.name().eq_ignore_ascii_case(table)) else {
            return Ok(None);
        };
        let columns = Arc::new(found.columns().to_vec());
        lock().insert(name, Arc::clone(&columns));
        Ok(Some(columns))
    }

    /// Whether changes are written down, and with them who made them.
    pub(super) const fn tracks(&self) -> &Tracks {
        &self.tracks
    }

    /// To be called when the schema has changed.
    pub(super) fn forget_schema(&self) {
        self.tracks.forget();
        self.columns.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

impl std::fmt::Debug for Protected {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Protected").field("name", &self.name).finish_non_exhaustive()
    }
}
