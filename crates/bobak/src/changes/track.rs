//! Tracking tables: recording their changes.

use bobak_changes::is_tracked_as_now;
use bobak_core::{Engine, Result, SchemaChange, TableSchema};
use std::any::TypeId;
use std::sync::Arc;

/// How a table is tracked. See [`DbBuilder::track`](crate::DbBuilder::track).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrackOptions {
    pub(crate) history: bool,
}

impl TrackOptions {
    /// Without an index for the history of single records.
    #[must_use]
    pub const fn new() -> Self {
        Self { history: false }
    }

    /// Whether the change log has an index by record key, which makes [`Table::history`](crate::Table::history) fast and
    /// every write a little slower. Default: no. History then reads the whole log, as it always does for keys that are
    /// compared without regard to case. Has an effect only on a table that is not tracked yet.
    #[must_use]
    pub const fn history(mut self, history: bool) -> Self {
        self.history = history;
        self
    }
}

/// A record type to be tracked once its table exists.
#[derive(Clone)]
pub(crate) struct TrackedRecord {
    pub id: TypeId,
    pub table: &'static Arc<TableSchema>,
    pub options: TrackOptions,
}

/// Starts to track those tables that are not tracked yet; returns their names.
pub(crate) fn track_missing(
    engine: &dyn Engine,
    records: &[&TrackedRecord],
) -> Result<Vec<String>> {
    let mut done = Vec::new();
    for TrackedRecord { table, options, .. } in records {
        if track(engine, table, *options)? {
            done.push(table.name().to_owned());
        }
    }
    Ok(done)
}

fn track(engine: &dyn Engine, table: &Arc<TableSchema>, options: TrackOptions) -> Result<bool> {
    if is_tracked_as_now(&*engine.session()?, table.name())? {
        return Ok(false);
    }
    let (table, history) = (Arc::clone(table), options.history);
    engine.alter(&[SchemaChange::Track { table, history }]).map(|()| true)
}
