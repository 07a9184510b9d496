//! Bobak keeps records: plain structs in an SQLite file or in memory, through one API, at the
//! speed of the engine beneath.
//!
//! ```no_run
#![doc = include_str!("../tests/it/first_program.rs")]
//! ```
//!
//! * [`Db`] is a database: open it by a URL, or by [`Db::builder`].
//! * [`Table`] is the typed handle on one record type; [`Record`](derive@Record) makes a struct a
//!   record.
//! * [`Query`] says which records; it is made with the typed [`Column`]s of the record.
//! * [`Batch`] sends many writes as one; a [`Pipeline`] takes writes whose results are fetched
//!   later; [`Transaction`] makes them all happen or none.
//! * [`Db::backup`] takes a backup while others write, [`Db::restore`] puts it back; an [`Archive`] has the
//!   changes since, to restore a moment in time.
//! * [`Replica`] keeps another database as this one is, whatever its engine.
//! * [`Db::copy_to`] moves tables to another database, whatever its engine.
//! * [`feed`] is every change of chosen tables, for followers, live views and history.
//! * [`DynTable`] and [`DynRow`] serve tables that no struct describes.
//! * With the feature `async`, module `aio` has the same for async code, on any runtime.
//! * Every call fails with one [`Error`], whose [`ErrorKind`] says why.

mod access;
#[cfg(feature = "async")]
pub mod aio;
mod batch;
mod builder;
#[cfg(feature = "cache")]
mod cache;
mod db;
mod diff;
mod dynamic;
pub mod feed;
mod operations;
mod outcomes;
mod parameters;
mod pipeline;
mod retry;
mod route;
mod rows;
mod sql;
mod table;
mod transaction;
mod url;

pub use batch::{Batch, BatchOptions, BatchReport, OnConflict};
pub use bobak_core::{
    AnyColumn, Assignment, BackupPhase, BackupStep, Collation, Column, ColumnSchema, Currency,
    Date, DateTime, DynRow, Error, ErrorKind, Expression, Field, Filter, Foreign, FromRow,
    GivenKey, IndexSchema, Interrupt, IntoStored, Json, Key, KeyGeneration, OnDelete, OnError,
    Operand, Order, Outcome, Query, Record, Reference, Result, Role, Row, Selection, SelectionPart,
    Storage, Summable, TableSchema, TableSchemaBuilder, Time, Timestamp, Type, Unverified, Uuid,
    Value, ValueRef, count,
};
pub use bobak_derive::{Field, FromRow, Record};
pub use bobak_operations::archive::{Archive, ArchiveReport, ArchiveSpan};
pub use bobak_operations::backup::{BackupOptions, BackupReport, Checksum, Compression};
pub use bobak_operations::copy::{CopyOptions, CopyProgress, CopyReport};
pub use bobak_operations::replication::{CheckedTable, Replica, ReplicaCheck, ReplicationReport};
pub use bobak_operations::restore::{
    RecoveryTarget, ReplayOptions, ReplayReport, RestoreOptions, RestoreReport,
};
pub use builder::DbBuilder;
#[cfg(feature = "cache")]
pub use cache::{CacheOptions, CacheStats};
pub use db::Db;
pub use diff::{Difference, diff};
pub use dynamic::{DynRows, DynTable};
pub use parameters::Parameters;
pub use pipeline::{Pipeline, PipelineOptions, Ticket};
pub use rows::Rows;
pub use table::Table;
pub use transaction::{Savepoint, Transaction};

/// The engines, their settings, and the contract that new ones keep.
pub mod engine {
    pub use bobak_core::{
        Assign, BackupContent, BackupJob, Batch, Capabilities, Change, Comparison, Condition,
        Control, Cursor, CursorId, Engine, Estimate, Expr, FieldSet, RowBuffer, Run, SchemaChange,
        Select, Session, Source, Verb, Write, codec, prepare_insert, prepare_update,
        prepare_waiting,
    };
    pub use bobak_memory as memory;
    #[cfg(feature = "remote")]
    pub use bobak_remote as remote;
    #[cfg(feature = "sqlite")]
    pub use bobak_sqlite as sqlite;

    pub use crate::url::open;
    pub use bobak_operations::backup::{backup, clear_abandoned};
}

/// Everything that most programs need, in one `use`.
pub mod prelude {
    pub use crate::{
        Batch, BatchOptions, Currency, Date, DateTime, Db, DynRow, Error, ErrorKind, Field,
        FromRow, Json, Query, Record, Table, Time, Timestamp, Transaction, Uuid, Value, count,
    };
}

/// What the derives' expansions name. Not part of the API.
#[doc(hidden)]
pub mod __private {
    pub use bobak_core::*;
    pub use std::sync::Arc;
}
