//! The engine contract: two object-safe traits between Bobak and whatever stores tables.
//!
//! An [`Engine`] stores tables and opens [`Session`]s; a session runs operations and transactions.
//! A new engine implements eight methods:
//!
//! | trait | method | what it does |
//! |---|---|---|
//! | [`Engine`] | [`name`](Engine::name) | names the engine in messages |
//! | | [`session`](Engine::session) | opens a session |
//! | [`Session`] | [`control`](Session::control) | begins, commits and rolls back transactions and savepoints |
//! | | [`in_transaction`](Session::in_transaction) | reports whether a transaction is open |
//! | | [`write`](Session::write) | inserts, updates or deletes one row |
//! | | [`query`](Session::query) | runs a query over one table |
//! | | [`tables`](Session::tables) | lists the tables |
//! | | [`alter`](Session::alter) | creates and changes tables |
//!
//! Every other method has a correct default: batches run row by row, cursors buffer their rows,
//! lookups and bulk changes run as queries and single writes, and features that an engine may lack
//! (SQL, backup, authorizers, read-only transactions) return `Unsupported`. An engine overrides a
//! default to be faster, or to offer the feature.
//!
//! Every engine must pass the conformance suite of `bobak-testkit`. If this text leaves a question
//! open, the memory engine (`bobak-memory`) is the reference.
//!
//! # The contract
//!
//! * **Values.** Values reach an engine complete and checked, in their columns' stored form: keys
//!   are made (except those of [`KeyGeneration::Engine`](crate::KeyGeneration), which arrive as
//!   NULL), timestamps are filled, lengths are checked. An engine MUST store them unchanged.
//! * **Atomicity.** An operation MUST take effect completely or not at all, whatever the error. A
//!   failed operation inside a transaction MUST leave the transaction as it was before, or end it.
//! * **Durability.** Outside a transaction, an operation MUST be committed when it returns `Ok`, as
//!   durably as the engine's settings promise.
//! * **Isolation.** A read MUST see one committed state, no older than the start of the operation.
//!   It MUST NOT see changes made while its rows are handed out. Inside a transaction it also sees
//!   the changes of that transaction.
//! * **Waiting.** A call MUST NOT wait for other sessions longer than the engine's busy timeout. It
//!   then fails with `Busy`.
//! * **Interruption.** A query, batch or statement SHOULD call
//!   [`Interrupt::check`](crate::Interrupt::check) regularly.
//! * **Errors.** An error MUST have the right [`ErrorKind`], and SHOULD name the
//!   table and the column:
//!   * `Duplicate`: a key or a unique value exists already;
//!   * `Constraint`: a NOT NULL, CHECK or foreign key rule rejects the row;
//!   * `Schema`: a table or column is missing;
//!   * `Busy`: another writer did not finish within the busy timeout;
//!   * `Unsupported`: the engine cannot do this; it MUST find out before any I/O;
//!   * `OutOfRange`: a number is too large for its column, or the engine's own date type does not
//!     reach a date outside the years 1000 to 9999;
//!   * `Full`, `ReadOnly`, `Io`, `Corrupt`, `Unreachable`, `Timeout`: the storage or the connection
//!     failed.

mod authorizer;
mod candidates;
mod capabilities;
mod cursor;
mod explain;
pub mod fallback;
mod layer;
mod length_limit;
mod monitored;
mod nearest;
pub mod plan;
mod schema_change;
mod session;
mod side_effects;
mod source;
mod transaction;
mod value_parts;
mod vector_array;
mod write;

pub use authorizer::{SqlAction, SqlAuthorizer};
pub use capabilities::{Capabilities, Estimate};
pub use cursor::{Cursor, CursorId};
pub use layer::{EngineLayer, SessionLayer};
pub use length_limit::LengthLimit;
pub use monitored::MonitoredEngine;
pub use nearest::nearest_rows;
pub use schema_change::SchemaChange;
pub use session::Session;
pub use side_effects::SideEffects;
pub use source::Source;
pub use transaction::{TransactionControl, atomically};
pub use value_parts::{ValueAddress, ValueInput, ValueRange, ValueState};
pub use vector_array::VectorArray;
pub use write::{BulkChange, Verb, Write};

use crate::rules::FieldRules;
use crate::statements::StatementMonitor;
use crate::{
    BackupContent, BackupFormat, BackupJob, Error, ErrorKind, Outcome, QueryTemplate, Result, Row,
    SlotValues, TableSchema, Value,
};
use std::any::Any;
use std::path::Path;
use std::sync::Arc;

/// Stores tables. See the [module](self) for the contract.
pub trait Engine: Any + Send + Sync {
    /// Required. The engine's name in messages, in lower case: `sqlite`, `memory`.
    fn name(&self) -> &'static str;

    /// Required. Opens a session.
    ///
    /// This SHOULD be cheap. An engine with connections SHOULD take one from its pool when the
    /// session first needs it.
    ///
    /// # Errors
    /// `Busy` if no connection becomes free in time; `Unreachable`, `Io`.
    fn session(&self) -> Result<Box<dyn Session + '_>>;

    /// What the engine can do beyond the contract. Default: [`Capabilities::NONE`].
    fn capabilities(&self) -> Capabilities {
        Capabilities::NONE
    }

    /// Writes one row outside any transaction. Default: [`Session::write`] in a new session; an
    /// engine MAY save the cost of the session.
    ///
    /// # Errors
    /// As [`session`](Engine::session) and [`Session::write`].
    fn write(&self, write: &Write<'_>) -> Result<Outcome> {
        self.session()?.write(write)
    }

    /// Looks a row up by its key, outside any transaction. Default: [`Session::get`] in a new
    /// session.
    ///
    /// # Errors
    /// As [`session`](Engine::session) and [`Session::get`].
    fn get(
        &self,
        table: &Arc<TableSchema>,
        key: &[Value<'_>],
        row: &mut dyn FnMut(&dyn Row) -> Result<()>,
    ) -> Result<bool> {
        self.session()?.get(table, key, row)
    }

    /// Runs a prepared query outside any transaction. Default: `None`, so that callers run the query itself. An engine
    /// that overrides it MUST override [`Session::run_template`] too.
    ///
    /// # Errors
    /// As [`session`](Engine::session) and [`Session::run_template`].
    fn run_template(
        &self,
        template: &QueryTemplate,
        values: &SlotValues<'_>,
        row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
    ) -> Result<Option<u64>> {
        let _ = (template, values, row);
        Ok(None)
    }

    /// Lists the tables. Default: [`Session::tables`] in a new session.
    ///
    /// # Errors
    /// As [`session`](Engine::session) and [`Session::tables`].
    fn tables(&self) -> Result<Vec<TableSchema>> {
        self.session()?.tables()
    }

    /// Changes the schema, in a transaction of its own. Default: [`Session::alter`] in a new
    /// session.
    ///
    /// # Errors
    /// As [`session`](Engine::session) and [`Session::alter`].
    fn alter(&self, changes: &[SchemaChange]) -> Result<()> {
        self.session()?.alter(changes)
    }

    /// Estimates the number of rows of a table and the cost of reading them, for join planning.
    /// Default: [`Estimate::default`], an unknown and distant table.
    ///
    /// It MUST return quickly and MUST NOT wait for locks or other sessions. An engine in front of a
    /// server SHOULD use numbers it already has: see [`RowEstimates`](crate::RowEstimates).
    fn estimate(&self, table: &TableSchema) -> Estimate {
        let _ = table;
        Estimate::default()
    }

    /// How long a value of a column of a table with this schema may be in the engine's tables, if the schema gives it no
    /// limit or a higher one. Default: `None`, no limit that is known before.
    ///
    /// A copy checks it before it writes anything. An engine with [`Capabilities::limited_key_length`] SHOULD
    /// implement it.
    fn length_limit(&self, table: &TableSchema, column: usize) -> Option<LengthLimit> {
        let _ = (table, column);
        None
    }

    /// This engine as one whose SQL can include the tables of other engines. Default: `None`.
    ///
    /// Not implied by [`Capabilities::sql`]. A [layer](EngineLayer) does not pass this on: statements
    /// would bypass the layer.
    fn sql_host(&self) -> Option<&dyn SqlHost> {
        None
    }

    /// The monitor that sees the engine's statements. Default: `None`. A [`MonitoredEngine`] has one, and so have the
    /// layers in front of it.
    fn statements(&self) -> Option<&Arc<StatementMonitor>> {
        None
    }

    /// The rules of fields that the engine applies to the rows of a table which are written, each with the column's
    /// index in `table`. Default: none. The facade's rule layer, which knows the records, has them.
    fn field_rules(&self, table: &TableSchema) -> Vec<FieldRules> {
        let _ = table;
        Vec::new()
    }

    /// Makes every committed change durable: the memory engine writes its snapshot, SQLite
    /// checkpoints its write-ahead log. Default: does nothing, for engines whose commits are durable
    /// already.
    ///
    /// # Errors
    /// `Full`, `ReadOnly`, `Io`; what was durable before still is.
    fn flush(&self) -> Result<()> {
        Ok(())
    }

    /// Writes a consistent copy of everything committed to a new file, in the engine's own format,
    /// while other sessions read and write. Default: `Unsupported`.
    ///
    /// When it returns `Ok`, the file MUST have been read back, verified and synced to disk; its
    /// directory entry need not be synced. If it fails, the caller removes what is left of the file.
    ///
    /// # Errors
    /// `Unsupported` if the engine stores no file; `Full`, `ReadOnly`, `Io`; `Corrupt` if the
    /// database is damaged; `Busy` if other sessions blocked a step for the whole busy timeout.
    fn backup(&self, job: BackupJob<'_>) -> Result<BackupContent> {
        let _ = job;
        let message = format!(
            "the {} engine has no backup to a file: use its server's own, or copy its tables to \
             a file with `bobak copy`",
            self.name()
        );
        Err(Error::new(ErrorKind::Unsupported, message))
    }

    /// The format of the files that [`backup`](Engine::backup) writes. Default: `None`, no backups to files. An
    /// engine that overrides `backup` MUST override this too.
    fn backup_format(&self) -> Option<BackupFormat> {
        None
    }

    /// The key of the engine's files: an `EncryptionKey` of the crate `bobak-encryption`. Default: `None`. A compressed
    /// backup of an [encrypted](Capabilities::encrypted) engine is encrypted with it, and not possible without it.
    fn backup_key(&self) -> Option<&dyn Any> {
        None
    }

    /// Opens an unpacked backup as a database of the same kind, which runs the same SQL, so that changes can be
    /// tried on it. Default: `None`; callers then copy the tables into memory.
    ///
    /// # Errors
    /// `Io`, `Corrupt`.
    fn open_backup(&self, file: &Path) -> Result<Option<Box<dyn Engine>>> {
        let _ = file;
        Ok(None)
    }
}

/// An engine whose SQL can include the tables of other engines.
///
/// `bobak-federation` implements that by SQLite's virtual tables, so the SQLite engine is the one
/// host. Others neither call nor implement this trait.
pub trait SqlHost: Any + Send + Sync {}
