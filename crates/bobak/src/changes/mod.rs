//! Change capture: every change of a tracked table, in commit order.
//!
//! Track a table with [`DbBuilder::track`](crate::DbBuilder::track) or [`Db::track_table`](crate::Db::track_table). From
//! then on its engine records each row that is inserted, updated or deleted, in the same transaction, whatever program changes it
//! and however: also by SQL, foreign keys and triggers. Tracking is a property of the database, not of the program: it
//! lasts until [`Db::untrack_table`](crate::Db::untrack_table).
//!
//! * [`Db::changes`](crate::Db::changes) reads changes, and waits for more.
//! * [`Db::consumer`](crate::Db::consumer) delivers each change at least once, also after a crash.
//! * [`Table::history`](crate::Table::history) lists the changes of one record, and
//!   [`Table::as_of`](crate::Table::as_of) returns its state at a moment.
//! * [`Db::with_actor`](crate::Db::with_actor) records who makes changes.
//! * [`Db::prune_changes`](crate::Db::prune_changes) removes old changes.

mod history;
mod track;

pub use bobak_changes::{
    Change, ChangeKind, ChangePage, Changes, ChangesIter, Consumer, TransactionBoundary,
};
pub use bobak_operations::retention::Keep;
pub use history::Revision;
pub use track::TrackOptions;

pub(crate) use track::{TrackedRecord, track_missing};
