//! The one module with `unsafe`: owned handles over SQLite's C interface, safe to use from outside.
//!
//! Why it is sound:
//!
//! * A [`Connection`] owns its `sqlite3*` and every `sqlite3_stmt*` made on it; statements are
//!   named by [`StatementId`]s, so none outlives its connection or is used beside it. Everything
//!   takes `&mut Connection`, which is `Send` and not `Sync`: one thread at a time, as SQLite's
//!   `NOMUTEX` mode asks.
//! * Texts and bytes are bound without a copy. A statement bound so is stepped only inside the
//!   call, or the [`Rows`](statement::Rows), that borrows the values; what it still points to afterwards is bound
//!   anew, all of it, before it is stepped again. [`Connection::begin`] copies instead.
//! * A [`RowRef`](row::RowRef) borrows what stepped it, so its texts end before the next step.

#![allow(unsafe_code)]

mod atomic_box;
mod bind;
mod collation;
mod connection;
mod row;
mod statement;

pub(crate) use atomic_box::AtomicBox;
pub(crate) use connection::{Connection, Failure, OpenFlags};
pub(crate) use statement::StatementId;

/// SQLite's result codes and limits that the engine looks at.
pub(crate) use libsqlite3_sys as codes;
