//! A database that callers come to.

use super::engine::Guarded;
use super::screen::Screened;
use super::tracks::Tracks;
use crate::caller::Caller;
use bobak_core::{Condition, Engine, Result, TableSchema};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// A database, by the name that grants know it by, and its engine. One for all callers.
pub struct Protected {
    name: String,
    engine: Arc<dyn Engine>,
    /// Tables as they are, by their names in lower case: rules believe the database, not what a
    /// caller says about it.
    tables: Mutex<HashMap<String, Arc<TableSchema>>>,
    tracks: Tracks,
}

impl Protected {
    /// A database under a name.
    #[must_use]
    pub fn new(name: &str, engine: Arc<dyn Engine>) -> Arc<Self> {
        Arc::new(Self {
            name: name.to_owned(),
            engine,
            tables: Mutex::default(),
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

    /// A table as it really is; `None` where it is not there. It is read anew where it has not all
    /// of these columns: who knows them may have seen it later.
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
        if let Some(known) = lock().get(&name)
            && columns.iter().all(|column| has(known, column))
        {
            return Ok(Some(Arc::clone(known)));
        }
        let mut found = tables()?.into_iter();
        let Some(found) = found.find(|found| found.name().eq_ignore_ascii_case(table)) else {
            return Ok(None);
        };
        let found = Arc::new(found);
        lock().insert(name, Arc::clone(&found));
        Ok(Some(found))
    }

    /// Whether changes are written down, and with them who made them.
    pub(super) const fn tracks(&self) -> &Tracks {
        &self.tracks
    }

    /// To be called when the schema has changed.
    pub(super) fn forget_schema(&self) {
        self.tracks.forget();
        self.tables.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

impl std::fmt::Debug for Protected {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Protected").field("name", &self.name).finish_non_exhaustive()
    }
}
