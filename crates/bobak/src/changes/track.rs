//! Which tables are tracked.

use crate::Db;
use bobak_core::feed::{is_tracked, tracked};
use bobak_core::{Engine, Result, SchemaChange, TableSchema};
use std::sync::Arc;

/// How a table is tracked. See [`DbBuilder::track`](crate::DbBuilder::track).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrackOptions {
    history: bool,
}

impl TrackOptions {
    /// For readers of the feed.
    #[must_use]
    pub const fn new() -> Self {
        Self { history: false }
    }

    /// Whether what became of one record is asked for often: its key is then indexed in the log,
    /// which costs every write a little. Default no: [`Table::history`](crate::Table::history)
    /// looks at the whole log, as it does for keys in which case does not count. Counts for a table that is not tracked yet.
    #[must_use]
    pub const fn history(mut self, history: bool) -> Self {
        self.history = history;
        self
    }
}

/// A table that is to be tracked once it is there.
#[derive(Clone)]
pub(crate) struct Wanted {
    pub id: std::any::TypeId,
    pub table: &'static Arc<TableSchema>,
    pub options: TrackOptions,
}

impl Db {
    /// Tracks a table of the main engine from now on. Where it is tracked already its log is made to
    /// fit it again: after SQL that added a column. Where SQL dropped the table and made it anew, its
    /// changes since then are not known: who has read the feed up to there gets `NotFound` when he goes
    /// on. See [`feed`](crate::changes).
    ///
    /// # Errors
    /// `Schema` where it is not there; `Unsupported` where the engine can't promise to see every
    /// change of it: MariaDB and MySQL not of a table whose rows go, or change, with those that
    /// they refer to; for a table of more than 126 columns.
    pub fn track_table(&self, name: &str, options: TrackOptions) -> Result<()> {
        let engine = self.main_engine()?;
        let table = Arc::new(TableSchema::find_in(engine.tables()?, name)?);
        let history = options.history;
        engine.alter(&[SchemaChange::Track { table, history }])
    }

    /// Whether a table of the main engine is tracked, and its changes are written down as it is now:
    /// not after SQL that dropped it and made it anew, or added a column.
    ///
    /// # Errors
    /// `Schema` where a tracked table is not there; those of the engine.
    pub fn is_tracked(&self, name: &str) -> Result<bool> {
        is_tracked(&*self.main_engine()?.session()?, name)
    }

    /// Tracks a table of the main engine no longer; what was written down of it is lost.
    ///
    /// # Errors
    /// `Schema` where it is not there.
    pub fn untrack_table(&self, name: &str) -> Result<()> {
        let engine = self.main_engine()?;
        let table = TableSchema::find_in(engine.tables()?, name)?;
        engine.alter(&[SchemaChange::Untrack(Arc::new(table))])
    }

    /// The names of the main engine's tracked tables, in order.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn tracked_tables(&self) -> Result<Vec<String>> {
        let tracked = tracked(&*self.main_engine()?.session()?)?;
        let mut names: Vec<_> = tracked.into_iter().map(|tracked| tracked.name).collect();
        names.sort();
        Ok(names)
    }
}

/// Begins to track the tables of an engine that are to be and are not; gives their names.
pub(crate) fn track_missing(engine: &dyn Engine, wanted: &[&Wanted]) -> Result<Vec<String>> {
    let mut done = Vec::new();
    for Wanted { table, options, .. } in wanted {
        if track(engine, table, *options)? {
            done.push(table.name().to_owned());
        }
    }
    Ok(done)
}

fn track(engine: &dyn Engine, table: &Arc<TableSchema>, options: TrackOptions) -> Result<bool> {
    if is_tracked(&*engine.session()?, table.name())? {
        return Ok(false);
    }
    let (table, history) = (Arc::clone(table), options.history);
    engine.alter(&[SchemaChange::Track { table, history }]).map(|()| true)
}
