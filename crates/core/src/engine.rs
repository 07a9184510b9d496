//! The contract between Bobak and what stores tables: two object-safe traits.
//!
//! An engine is an [`Engine`], which hands out [`Session`]s. Every engine passes the conformance
//! suite of `bobak-testkit`; the memory engine is the reference: where this text is silent, what
//! it does is right.
//!
//! # The contract
//!
//! * Values reach an engine complete and checked: keys made (but those of
//!   [`KeyGeneration::Engine`](crate::KeyGeneration), which come as NULL), stamps filled, lengths
//!   looked at, in the column's stored form. An engine MUST NOT change them.
//! * An operation MUST happen wholly or not at all, whatever the error.
//! * Errors MUST have the right [`ErrorKind`](crate::ErrorKind), and SHOULD name table and column:
//!   `Duplicate` for a key or unique rule, `Constraint` for NOT NULL, CHECK and foreign keys,
//!   `Schema` for a table that is missing, `Busy` where another writer did not end in time,
//!   `Unsupported`, before any I/O, for what the engine cannot do; `OutOfRange` also for a date
//!   outside the years 1000 to 9999 that the engine's own type does not reach.
//! * Outside a transaction each operation MUST be committed, as durably as the engine's settings
//!   say, when it returns `Ok`.
//! * A reader MUST see a state that was committed before its operation began, whole, and MUST NOT
//!   see later changes while its rows are handed out; inside a transaction it sees the
//!   transaction's own.
//! * No call may block for longer than the engine's busy time-out because of other sessions.

use crate::{
    Assign, BackupContent, BackupJob, Batch, Condition, Error, FieldSet, OnError, Outcome, Result,
    Row, RowBuffer, Select, SideEffects, TableSchema, Value,
};
use std::any::Any;
use std::sync::Arc;

/// Something that stores tables.
pub trait Engine: Any + Send + Sync {
    /// Its name, for messages: `sqlite`, `memory`.
    fn name(&self) -> &'static str;

    /// What it can do.
    fn capabilities(&self) -> Capabilities;

    /// Opens a session. Cheap: an engine with connections takes one from its pool, at first use.
    ///
    /// # Errors
    /// `Busy`, `Io` where there is none to be had.
    fn session(&self) -> Result<Box<dyn Session + '_>>;

    /// Writes one row, in a session of its own; an engine may spare itself what that costs. See
    /// [`Session::write`].
    ///
    /// # Errors
    /// As [`session`](Engine::session) and [`Session::write`].
    fn write(&self, write: &Write<'_>) -> Result<Outcome> {
        self.session()?.write(write)
    }

    /// Hands out the row with this key, in a session of its own. See [`Session::get`].
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

    /// The tables that are there. See [`Session::tables`].
    ///
    /// # Errors
    /// As [`Session::tables`].
    fn tables(&self) -> Result<Vec<TableSchema>> {
        self.session()?.tables()
    }

    /// Changes the schema, in a transaction of its own. See [`Session::alter`].
    ///
    /// # Errors
    /// As [`Session::alter`].
    fn alter(&self, changes: &[SchemaChange]) -> Result<()> {
        self.session()?.alter(changes)
    }

    /// About how many rows a table has, and what it costs to ask for some: for who plans a join.
    /// Must be quick, and wait for nobody: a server answers from what it knows already, see
    /// [`RowEstimates`](crate::RowEstimates). The default knows nothing.
    fn estimate(&self, table: &TableSchema) -> Estimate {
        let _ = table;
        Estimate::default()
    }

    /// This engine as one whose SQL can include the tables of other engines. Default: `None`.
    ///
    /// Not implied by [`Capabilities::sql`]. An engine that wraps another does not pass this on:
    /// statements would bypass the wrapper.
    fn sql_host(&self) -> Option<&dyn SqlHost> {
        None
    }

    /// Makes everything that was committed durable: a memory engine writes its snapshot, SQLite
    /// checkpoints its log. Nothing to do where commits are durable already.
    ///
    /// # Errors
    /// `Full`, `ReadOnly`, `Io`; what was durable before still is.
    fn flush(&self) -> Result<()>;

    /// Writes all that is committed to a new file, as of one moment, in the form in which the engine
    /// keeps it, while others read and write. When it returns `Ok` the file was read again and found
    /// sound, and is on disk; its name need not be. Where it fails, what is left of the file is the
    /// caller's to remove. The default refuses.
    ///
    /// # Errors
    /// `Unsupported` for an engine that keeps no file; `Full`, `ReadOnly`, `Io`; `Corrupt` where the
    /// database is damaged; `Busy` where others kept it from a step for the whole busy time-out.
    fn backup(&self, job: BackupJob<'_>) -> Result<BackupContent> {
        let _ = job;
        let message = format!(
            "the {} engine has no backup to a file: use its server's own, or copy its tables to \
             a file with `bobak copy`",
            self.name()
        );
        Err(Error::new(crate::ErrorKind::Unsupported, message))
    }
}

/// An engine whose SQL can include the tables of other engines.
///
/// `bobak-federation` implements that by SQLite's virtual tables, so the SQLite engine is the one
/// host. Others neither call nor implement this trait.
pub trait SqlHost: Any + Send + Sync {}

/// What [`Engine::estimate`] says. The unit of cost is one row read from memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Estimate {
    /// About how many rows; `None` where nobody knows.
    pub rows: Option<u64>,
    /// What one call costs before its first row comes: about 1 in memory, 10 for a file, some
    /// hundreds for a server.
    pub call: u32,
    /// What each row costs on top: 1 in memory, more where rows cross a wire.
    pub row: u32,
}

impl Default for Estimate {
    /// An engine that nothing is known of is taken to be far away.
    fn default() -> Self {
        Self { rows: None, call: 500, row: 3 }
    }
}

/// What an engine can do beyond the contract, as data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Capabilities {
    /// It runs SQL: [`Source::Sql`], [`Session::execute`].
    pub sql: bool,
    /// Its tables outlive the process.
    pub persistent: bool,
    /// Several sessions read at the same time.
    pub concurrent_readers: bool,
    /// A row is read by its key in this process, and without waiting for a writer: a thread that
    /// must not block may do it, unless the row is long.
    pub nonblocking_get: bool,
    /// Several sessions write at the same time: [`Control::Begin`] waits for nobody, and a clash
    /// shows at a write or at the commit, as `Serialization` or `Busy`. A row that was read in a
    /// transaction, and that another changed before it was written, is such a clash.
    pub concurrent_writers: bool,
    /// A key that the engine gives is one more than the largest in the table. Where it is not so,
    /// keys are only such that no row has them, and ascend within a session.
    pub sequential_keys: bool,
    /// Texts may hold NUL characters. Where they may not, a text with one is refused with
    /// `Unsupported`, before any I/O.
    pub nul_in_text: bool,
    /// Tables may have columns of [`Type::Any`](crate::Type::Any). Where they may not, such a
    /// table is refused with `Unsupported`.
    pub untyped_columns: bool,
    /// What it keeps is encrypted on the disk: backups can't be compressed, and nothing of it is to be
    /// written elsewhere unasked. A server does not say so of its own disk.
    pub encrypted: bool,
    /// A limit: each change of the schema commits by itself, so one inside a transaction is refused
    /// with `Unsupported`.
    pub implicit_ddl_commit: bool,
    /// A limit: floats are finite; an infinity is refused with `OutOfRange`, a sum beyond the
    /// largest float too.
    pub finite_floats: bool,
    /// A limit: texts and bytes in keys and unique indexes are as long as an index takes, some
    /// hundred characters; longer ones are refused with `TooLong`.
    pub limited_key_length: bool,
    /// A wish: each part of a batch costs some round trips, so parts should be long: tens of
    /// thousands of rows.
    pub large_batches: bool,
}

impl Capabilities {
    /// None of them.
    pub const NONE: Self = Self {
        sql: false,
        persistent: false,
        concurrent_readers: false,
        nonblocking_get: false,
        concurrent_writers: false,
        sequential_keys: false,
        nul_in_text: false,
        untyped_columns: false,
        encrypted: false,
        implicit_ddl_commit: false,
        finite_floats: false,
        limited_key_length: false,
        large_batches: false,
    };
}

/// One step of a schema's change. None of them loses data.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum SchemaChange {
    /// Creates the table with its indexes.
    CreateTable(Arc<TableSchema>),
    /// Adds a column to a table that is there. Old rows get its
    /// [`added_value`](crate::ColumnSchema::added_value).
    AddColumn {
        /// The table as it is to be.
        table: Arc<TableSchema>,
        /// The new column's place in it.
        column: usize,
    },
    /// Adds an index to a table that is there.
    AddIndex {
        /// The table as it is to be.
        table: Arc<TableSchema>,
        /// The new index's place in it.
        index: usize,
    },
    /// Writes every change of a table down from now on, in a log: see [`feed`](crate::feed). Nothing
    /// may go past it: not SQL, not what a foreign key does. Where the engine can't promise that,
    /// `Unsupported`. A table that is tracked already stays so. Columns added to the table later
    /// are added to its log.
    Track {
        /// The table as it is.
        table: Arc<TableSchema>,
        /// Whether the log of a table that had none gets indexes over the key.
        history: bool,
    },
    /// Writes its changes down no more, and drops its log.
    Untrack(Arc<TableSchema>),
}

/// One connection to an engine: what executes operations and transactions.
///
/// A session is used by one thread at a time. Dropping it rolls an open transaction back.
pub trait Session: Send {
    /// Begins, ends, or marks a place in a transaction.
    ///
    /// # Errors
    /// `Misuse` for a step that does not fit (a commit without a begin, a begin inside a
    /// transaction, an unknown savepoint); `Busy` where another writer did not end in time. After
    /// a failed `Commit` the transaction is rolled back.
    fn control(&self, step: Control<'_>) -> Result<()>;

    /// Writes one row.
    ///
    /// # Errors
    /// See the contract; `NotFound` for an update whose key no row has, `Conflict` where its
    /// version differs.
    fn write(&self, write: &Write<'_>) -> Result<Outcome>;

    /// Updates or deletes the rows that a condition keeps; gives their number.
    ///
    /// # Errors
    /// See the contract; `OutOfRange` where a sum overflows.
    fn change(&self, change: &Change<'_>) -> Result<u64>;

    /// Runs a batch's writes in order, in one transaction of its own, or inside the open one.
    ///
    /// `each` gets one result for each row, in order. With [`OnError::Stop`] the first error undoes
    /// the whole batch and is returned, with its row number; `each` may have been called for rows
    /// before it, which then are not there. With [`OnError::Continue`] only the wrong rows fail.
    ///
    /// # Errors
    /// See the contract.
    fn batch(
        &self,
        batch: &Batch,
        on_error: OnError,
        each: &mut dyn FnMut(Result<Outcome>),
    ) -> Result<()>;

    /// Hands out the row with this key, all columns in schema order; `false` where there is none.
    ///
    /// # Errors
    /// See the contract, and those of `row`.
    fn get(
        &self,
        table: &Arc<TableSchema>,
        key: &[Value<'_>],
        row: &mut dyn FnMut(&dyn Row) -> Result<()>,
    ) -> Result<bool>;

    /// Hands out rows one by one, until `row` says `false`. The fastest way to read.
    ///
    /// While it runs the session can do nothing else: calls from inside `row` give `Misuse`.
    ///
    /// # Errors
    /// See the contract, and those of `row`.
    fn query(
        &self,
        source: &Source<'_>,
        row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
    ) -> Result<()>;

    /// Opens a cursor, to fetch rows a part at a time while the session does other things. The
    /// rows are those of this moment, whatever the session writes later.
    ///
    /// # Errors
    /// See the contract.
    fn open(&self, source: &Source<'_>) -> Result<Cursor>;

    /// Fills `rows`, which is cleared first, with the cursor's next rows: about 64 KiB, one row at
    /// least; none where there are no more.
    ///
    /// # Errors
    /// See the contract; `Misuse` for a cursor that is not open.
    fn fetch(&self, cursor: CursorId, rows: &mut RowBuffer) -> Result<()>;

    /// Closes a cursor; nothing where it is closed.
    fn close(&self, cursor: CursorId);

    /// The tables that are there, in no order; inside a transaction those that it sees. The feed's
    /// [own](crate::feed::is_own) are left out.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    fn tables(&self) -> Result<Vec<TableSchema>>;

    /// The triggers of the tables, the feed's own included, in no order; `None` where the engine has
    /// no triggers, or can't tell: the default.
    ///
    /// # Errors
    /// As [`tables`](Self::tables).
    fn triggers(&self) -> Result<Option<Vec<crate::feed::Trigger>>> {
        Ok(None)
    }

    /// Changes the schema: all of the changes, or none; inside a transaction as part of it.
    ///
    /// # Errors
    /// `Schema` where a table is there already or is missing; `Unsupported` for a rule that the
    /// engine cannot keep; `ReadOnly`, `Full`, `Io`.
    fn alter(&self, changes: &[SchemaChange]) -> Result<()>;

    /// Runs an SQL statement that hands out no rows (or whose rows are not wanted); gives the
    /// number of rows changed.
    ///
    /// # Errors
    /// `Unsupported` where the engine has no SQL; `Syntax`; see the contract.
    fn execute(&self, sql: &str, parameters: &[Value<'_>]) -> Result<u64>;

    /// Says who makes the changes of the open transaction, for the log: to be called right after
    /// `Begin`, and with `None` right before `Commit`. Only where a table is tracked.
    ///
    /// # Errors
    /// `Schema` where none is; see the contract.
    fn set_actor(&self, who: Option<&str>) -> Result<()> {
        let value = who.map_or(Value::Null, |who| Value::from(who.to_owned()));
        let assign = [Assign::Set { column: 3, value }];
        let table = crate::feed::feed_schema();
        let named = self.change(&Change { table, condition: None, assign: Some(&assign) });
        named.map(|_| ())
    }

    /// Begins a transaction that only reads: it sees the state of this moment, and keeps no writer
    /// waiting. It ends as others do; what would write in it is refused.
    ///
    /// # Errors
    /// As [`Control::Begin`]; `Unsupported` where a reader would stand in the way of writers: the
    /// default.
    fn begin_reading(&self) -> Result<()> {
        let message = "the engine has no transactions that only read";
        Err(Error::new(crate::ErrorKind::Unsupported, message))
    }

    /// What writes change beside the rows that they name. The default knows the references of
    /// [`tables`](Session::tables): an engine with triggers tells more.
    ///
    /// # Errors
    /// As [`tables`](Session::tables).
    fn side_effects(&self) -> Result<SideEffects> {
        self.tables().map(|tables| SideEffects::of_references(&tables))
    }

    /// Has SQL text of this session asked about from now on: before a statement runs, `guard` is
    /// told each thing that it does, views looked through, and one that is refused ends it. What
    /// the engine does for other calls is not asked about. A guard takes the place of the one before.
    ///
    /// # Errors
    /// `Unsupported` where the engine can't tell what a statement does: the default.
    fn set_authorizer(&self, guard: Arc<dyn SqlAuthorizer>) -> Result<()> {
        let _ = guard;
        let message = "the engine can't tell what an SQL statement does";
        Err(Error::new(crate::ErrorKind::Unsupported, message))
    }
}

/// Says what SQL text may do. See [`Session::set_authorizer`].
pub trait SqlAuthorizer: Send + Sync {
    /// Lets an action pass.
    ///
    /// # Errors
    /// What the caller is told in place of the statement's result.
    fn check(&self, action: SqlAction<'_>) -> Result<()>;

    /// Whether an engine may keep what was said of a text's actions, though the schema may change:
    /// it then need not look at the text anew each time. Default: no.
    fn lasts(&self) -> bool {
        false
    }
}

/// One thing that an SQL statement does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SqlAction<'a> {
    /// It reads a table, a view, or a function that gives rows.
    Read(&'a str),
    /// It inserts rows into a table.
    Insert(&'a str),
    /// It updates rows of a table.
    Update(&'a str),
    /// It deletes rows of a table.
    Delete(&'a str),
    /// It calls a function.
    Call(&'a str),
    /// It reads, or writes, rows of a table that is none of the engine's own: another engine's, or
    /// one that the connection alone has.
    Foreign {
        /// Whether it writes.
        writes: bool,
    },
    /// It creates, alters or drops something.
    Schema {
        /// Something that only the connection has, and that goes with it.
        temporary: bool,
    },
    /// It reads or changes a setting.
    Pragma {
        /// The setting's name.
        name: &'a str,
        /// What it is set to, or asked about.
        value: Option<&'a str>,
    },
    /// It opens another file beside the database.
    Attach,
    /// It closes such a file.
    Detach,
    /// It writes the database anew.
    Vacuum {
        /// Into another file.
        into: bool,
    },
    /// Anything else: it collects statistics, builds indexes anew, …
    Other,
}

/// A step of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control<'a> {
    /// Begins a transaction that may write: it waits for other writers now, not later.
    Begin,
    /// Makes all of it durable.
    Commit,
    /// Undoes all of it.
    Rollback,
    /// Marks a place. Names are letters, digits and `_`; of two of the same name the later counts.
    Savepoint(&'a str),
    /// Forgets the mark; what was done since stays.
    Release(&'a str),
    /// Undoes what was done since the mark, which stays.
    RollbackTo(&'a str),
}

/// What happens to one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verb {
    /// A new row. `Duplicate` where its key or a unique value is there.
    Insert,
    /// A new row, or nothing where its key or a unique value is there.
    InsertOrIgnore,
    /// A new row; rows with its key or its unique values are deleted first.
    InsertOrReplace,
    /// A new row; or, where its key is there, an update of that row's `fields`, which raises its
    /// version.
    Upsert,
    /// New values for the `fields` of the row with this key. Where the table has a version column,
    /// the row's version must be the given one, and is raised by one.
    Update,
    /// The row with this key goes. Nothing where there is none: the outcome says so.
    Delete,
}

/// One row to write.
#[derive(Clone, Copy, Debug)]
pub struct Write<'a> {
    /// The table.
    pub table: &'a Arc<TableSchema>,
    /// What happens.
    pub verb: Verb,
    /// For `Update` and `Upsert`: the columns that are set.
    pub fields: FieldSet,
    /// All columns in schema order; for `Delete` the key's columns only, in key order.
    pub values: &'a [Value<'a>],
}

/// Many rows to update or delete by a condition.
#[derive(Clone, Copy, Debug)]
pub struct Change<'a> {
    /// The table.
    pub table: &'a Arc<TableSchema>,
    /// Which rows; all where there is none.
    pub condition: Option<&'a Condition>,
    /// What is set, resolved; `None` deletes the rows. Versions are raised, as by updates.
    pub assign: Option<&'a [Assign]>,
}

/// Where a query's rows come from.
#[derive(Clone, Copy, Debug)]
pub enum Source<'a> {
    /// A query over one table.
    Select(&'a Select),
    /// SQL text with `?` for each parameter.
    Sql {
        /// The text: one statement.
        text: &'a str,
        /// The parameters.
        parameters: &'a [Value<'a>],
    },
}

/// An open cursor.
#[derive(Clone, Debug)]
pub struct Cursor {
    /// What [`Session::fetch`] and [`Session::close`] take.
    pub id: CursorId,
    /// The names of its columns.
    pub columns: Arc<Vec<String>>,
}

/// The number of a cursor in its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CursorId(pub u64);

impl Source<'_> {
    /// The names of the result's columns, where the source is a query: those of the table, or
    /// `count`, `sum_x`, `min_x`, …
    #[must_use]
    pub fn select_names(select: &Select) -> Vec<String> {
        use crate::Expr;
        let name = |place: usize| select.table.columns().get(place).map_or("", |c| c.name.as_ref());
        select
            .columns
            .iter()
            .map(|expr| match *expr {
                Expr::Column(c) => name(c).to_owned(),
                Expr::Count => "count".to_owned(),
                Expr::CountOf(c) => format!("count_{}", name(c)),
                Expr::Sum(c) => format!("sum_{}", name(c)),
                Expr::Min(c) => format!("min_{}", name(c)),
                Expr::Max(c) => format!("max_{}", name(c)),
                Expr::Avg(c) => format!("avg_{}", name(c)),
            })
            .collect()
    }
}
