//! The one module with `unsafe`: owned handles over SQLite's C interface, safe to use from outside.
//!
//! Why it is sound:
//!
//! * A [`Connection`] owns its `sqlite3*` and every `sqlite3_stmt*` made on it; statements are
//!   named by [`StatementId`]s, so none outlives its connection or is used beside it. Everything
//!   takes `&mut Connection`, which is `Send` and not `Sync`: one thread at a time, as SQLite's
//!   `NOMUTEX` mode asks.
//! * Texts and bytes are bound without a copy. A statement bound so is stepped only inside the
//!   call, or the [`Rows`], that borrows the values; what it still points to afterwards is bound
//!   anew, all of it, before it is stepped again. [`Connection::begin`] copies instead.
//! * Virtual tables and functions are registered with boxes that SQLite frees by a function of the
//!   same type; their callbacks catch every panic, and reach the rest of the crate through safe
//!   traits ([`virtual_table`]).
//! * A [`Backup`] owns its target, and touches its source only in calls that are given the source's
//!   connection. One that is dropped unfinished leaves both in memory, since the source still
//!   writes to the target.
//! * The file of a connection is used past its connection in two ways: the bytes that it begins with are
//!   read, and a connection that does nothing else locks it ([`LockedFile`]).
//! * What rests in long statements, and what is told of the log, is kept by its connection, and read
//!   only from inside its calls.
//! * A [`RowRef`] borrows what stepped it, so its texts end before the next step. What converts a
//!   row's values takes it by `&mut`, since a conversion moves the bytes lent before.

#![allow(unsafe_code)]

mod actions;
mod atomic_box;
mod authorizer;
mod backup;
mod bind;
#[cfg(feature = "encryption")]
mod codec;
mod collation;
mod connection;
mod convert;
mod file;
mod functions;
mod index_info;
mod module;
mod pending;
mod rests;
mod row;
mod running;
mod session_slot;
mod statement;
mod stub_collation;
mod sum;
mod values;
mod vfs;
mod vfs_callbacks;
mod virtual_table;
mod wal;

pub use actions::{StatementAction, WriteKind};
pub(crate) use atomic_box::AtomicBox;
pub(crate) use backup::{Backup, BackupState};
pub use connection::version;
pub(crate) use connection::{Connection, Failure, OpenFlags};
pub use convert::Kind;
pub(crate) use file::LockedFile;
pub(crate) use functions::{Gather, MakeAggregate, Scalar};
pub use index_info::{Constraint, ConstraintOperator, IndexInfo, OrderStep, PlanCost};
pub(crate) use row::RowRef;
pub use running::RunningStatement;
pub use session_slot::{BorrowedSession, OwnedSession};
pub(crate) use statement::Rows;
pub use statement::StatementId;
pub use values::{Arguments, Output};
pub use vfs::{ResultCode, SharedRegion, Vfs, VfsFile, vfs_codes};
pub(crate) use vfs_callbacks::VfsRegistration;
pub use virtual_table::{
    Module, OnConflict, RowChange, UpdateOutcome, VirtualCursor, VirtualTable,
};

pub(crate) use wal::WalHook;

/// SQLite's result codes and limits that the engine looks at.
pub(crate) use libsqlite3_sys as codes;
