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
//! * [`Db::with_actor`](crate::Db::with_actor) says who makes changes.
//! * [`Db::prune_changes`](crate::Db::prune_changes) takes old ones out.
//!
//! What is read is in [`bobak_core::feed`]; so is what stands in front of an engine and names
//! who writes.

mod caller;
mod db;
mod history;
mod track;

pub use bobak_core::feed::{
    Change, ChangeKind, ChangePage, Changes, ChangesIter, TransactionBoundary,
};
pub use bobak_operations::retention::Keep;
pub use history::Revision;
pub use track::TrackOptions;

pub(crate) use track::{Wanted, track_missing};
