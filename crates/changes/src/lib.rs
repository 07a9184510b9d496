//! The change log: reading captured changes, and naming the actors who make them.
//!
//! Engines capture the changes of tracked tables: each table has a log, whose schema is in
//! [`bobak_core::change_log`]. This crate reads the logs.
//!
//! * [`Changes`] reads the changes of all or some tables in the order of their commits, and waits for
//!   more.
//! * [`Consumer`] is a reader with a name, whose position is stored.
//! * [`ChangeLog`] reads the log of one table, such as the history of one row.
//! * [`ActorEngine`] records an actor's name with every change.

mod actor;
mod boundary;
mod change;
mod consumer;
mod log;
mod page;
mod reader;
mod row;

pub use actor::ActorEngine;
pub use boundary::last_id;
pub use change::{Change, ChangeKind};
pub use consumer::{Consumer, consumers, remove_consumer};
pub use log::{
    ChangeLog, TableLayout, TrackedTable, check_capture, compare_number, is_tracked,
    is_tracked_as_now, last_up_to, layouts, logs, logs_in, table_moves, tracked, unchecked_logs,
};
pub use page::{ChangePage, TransactionBoundary, page};
pub use reader::{Changes, ChangesIter, CheckedPage};
