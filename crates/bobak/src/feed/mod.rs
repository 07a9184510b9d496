//! The change feed: every change of a tracked table, in the order of commits.
//!
//! A table is tracked where the builder ([`DbBuilder::track`](crate::DbBuilder::track)) or
//! [`Db::track_table`](crate::Db::track_table) says so. From then on its engine writes down each
//! row that is inserted, updated or deleted, in the same transaction, whoever does it and by what
//! means: SQL and what foreign keys do included. That belongs to the database, not to the program:
//! it stays until [`Db::untrack_table`](crate::Db::untrack_table).
//!
//! * [`Db::changes`](crate::Db::changes) reads them, and waits for more.
//! * [`Table::history`](crate::Table::history) tells what became of one record, and
//!   [`Table::as_of`](crate::Table::as_of) what it was at a moment.
//! * [`Db::as_caller`](crate::Db::as_caller) says who makes changes.
//! * [`Db::prune_changes`](crate::Db::prune_changes) takes old ones out.
//!
//! `change` is one of them, `read` puts the logs of several tables in order, `caller` stands in
//! front of an engine and names who writes.

mod caller;
mod change;
mod changes;
mod history;
mod prune;
mod read;
mod track;

pub use change::{Change, ChangeKind};
pub use changes::{ChangePage, Changes, ChangesIter};
pub use history::Revision;
pub use prune::Keep;
pub use track::TrackOptions;

pub(crate) use read::{Log, last as last_id, logs_in, page};
pub(crate) use track::{Wanted, track_missing};

use bobak_core::{Engine, Result, TableSchema};
use std::sync::Arc;

/// The tracked tables of an engine, by name.
pub(crate) fn logs(engine: &dyn Engine) -> Result<Vec<Arc<TableSchema>>> {
    Ok(read::logs(engine)?.into_iter().map(|log| log.table).collect())
}
