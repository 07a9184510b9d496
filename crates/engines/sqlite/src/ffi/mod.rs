//! The only module with unsafe code: owned handles over SQLite's C interface with a safe API.
//!
//! Why it is sound:
//!
//! * A [`Connection`] owns its `sqlite3*` and every `sqlite3_stmt*` prepared on it. [`StatementId`]s
//!   name statements, so none outlives its connection or is used without it. Everything takes
//!   `&mut Connection`, which is `Send` and not `Sync`: one thread at a time, as SQLite's `NOMUTEX`
//!   mode requires.
//! * Texts and bytes are bound without a copy. Such a statement is stepped only inside the call, or
//!   the [`StatementRows`], that borrows the values; every value it still points to afterwards is bound again
//!   before the next step. [`Connection::begin`] copies instead.
//! * Virtual tables and functions are registered with boxes that SQLite frees by a function of the
//!   same type. Their callbacks catch every panic, and call safe traits ([`virtual_table`]).
//! * A [`BackupHandle`] owns its target, and accesses its source only in calls that receive the source's
//!   connection. One that is dropped unfinished leaks both, since the source still writes to the
//!   target.
//! * An open value belongs to its connection, which closes it before itself. It is accessed in calls that receive
//!   the connection.
//! * A connection's file is accessed directly in two ways only: reading its bytes, and locking it by
//!   a connection that does nothing else ([`LockedFile`]).
//! * A connection keeps the state of its callbacks, which are only called from inside its calls.
//! * A [`RowRef`] borrows what stepped it, so its texts end before the next step. Conversions take
//!   it by `&mut`, since they move bytes that were lent before.
//! * A [`BorrowedSession`] is accessible only on the thread that lends it, until the call ends.

#![allow(unsafe_code)]

mod actions;
mod atomic_box;
mod authorizer;
mod backup;
mod bind;
mod blob;
#[cfg(feature = "encryption")]
mod cipher_file;
#[cfg(feature = "encryption")]
mod cipher_vfs;
mod collation;
mod connection;
mod convert;
mod data_version;
mod file;
mod functions;
mod index_info;
#[cfg(feature = "sqlcipher")]
mod key;
mod module;
mod pending;
mod row;
mod running;
mod session_slot;
mod statement;
mod stub_collation;
mod sum;
mod text_functions;
mod throttle;
mod values;
mod vfs;
mod vfs_callbacks;
mod virtual_table;
mod wal;

pub use actions::{StatementAction, WriteKind};
pub(crate) use atomic_box::AtomicBox;
pub(crate) use backup::{BackupHandle, BackupState};
pub(crate) use bind::Binder;
pub(crate) use blob::BlobPlace;
#[cfg(feature = "encryption")]
pub(crate) use cipher_vfs::{cipher_vfs, file_uri, lending, plain_vfs};
pub use connection::version;
pub(crate) use connection::{Connection, Failure, OpenFlags};
pub use convert::RawType;
pub(crate) use file::LockedFile;
pub(crate) use functions::{Gather, MakeAggregate, Scalar};
pub use index_info::{Constraint, ConstraintOperator, IndexInfo, OrderStep, PlanCost};
pub(crate) use row::RowRef;
pub use running::RunningStatement;
pub use session_slot::{BorrowedSession, OwnedSession};
pub use statement::StatementId;
pub(crate) use statement::StatementRows;
pub use values::{Arguments, Output};
pub use vfs::{ResultCode, SharedRegion, Vfs, VfsFile, vfs_codes};
pub(crate) use vfs_callbacks::VfsHandle;
pub use virtual_table::{
    ConflictAction, Module, RowChange, UpdateOutcome, VirtualCursor, VirtualTable,
};

pub(crate) use wal::WalHook;

/// SQLite's result codes and limits that the engine looks at.
pub(crate) use libsqlite3_sys as codes;
