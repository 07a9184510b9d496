//! A connection and its prepared statements as they are, safe and without an engine around them:
//! for programs that speak SQL on behalf of others. Low-level: no settings are made, no error is
//! translated, values are those of SQLite.
//!
//! ```
//! use bobak_sqlite::raw::{FileAccess, Connection, Value, RawType};
//!
//! let mut db = Connection::open(c":memory:", FileAccess::Create)?;
//! let insert = db.prepare("CREATE TABLE t AS SELECT ?1 AS a")?.expect("a statement");
//! db.execute(insert, [Value::Text(b"12 monkeys")].into_iter())?;
//! let query = db.prepare("SELECT a FROM t")?.expect("a statement");
//! let mut rows = db.query(query, std::iter::empty())?;
//! let mut row = rows.next()?.expect("a row");
//! row.read([RawType::Int].into_iter(), |value| assert_eq!(value, Value::Int(12)))?;
//! # Ok::<(), bobak_sqlite::SqliteError>(())
//! ```

use crate::connection::statement_cache::StatementCache;
use crate::error::SqliteError;
use crate::ffi::{self, OpenFlags};
use std::ffi::CStr;
use std::iter::repeat_n;
use std::time::Duration;

pub use crate::ffi::{RawType, StatementId, version};
/// A value that is bound or read. Texts are bytes, usually UTF-8.
pub use bobak_core::codec::RawValue as Value;

/// How a file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileAccess {
    /// Read-only.
    Read,
    /// For reading and writing.
    Write,
    /// As `Write`; creates a missing file.
    Create,
}

/// An open connection. It can be sent to other threads; one uses it at a time.
#[derive(Debug)]
pub struct Connection {
    db: ffi::Connection,
    texts: StatementCache<Box<[u8]>>,
}

/// A running statement; dropping it resets the statement.
#[derive(Debug)]
pub struct RawRows<'a>(ffi::StatementRows<'a>);

/// The current row of a statement.
#[derive(Debug)]
pub struct RawRow<'a>(ffi::RowRef<'a>);

impl Connection {
    /// The capacity of the cache of [`prepare_cached`](Self::prepare_cached).
    pub const CACHED: usize = 128;

    /// Opens a database by its name in SQLite, including `:memory:` and URIs.
    /// | # Errors
    /// Those of SQLite, such as code 14 if the file cannot be opened.
    pub fn open(name: &CStr, access: FileAccess) -> Result<Self, SqliteError> {
        let flags = OpenFlags {
            read_only: access == FileAccess::Read,
            create: access == FileAccess::Create,
        };
        let db = ffi::Connection::open(name, flags, None)?;
        Ok(Self { db, texts: StatementCache::new(Self::CACHED) })
    }

    /// How long a call waits for locks of other connections before it fails with code 5. Default:
    /// it does not wait.
    pub fn set_busy_timeout(&mut self, timeout: Duration) {
        self.db.set_busy_timeout(timeout);
    }

    /// Whether foreign keys are enforced. Default: yes, unless SQLite was compiled otherwise.
    pub fn set_foreign_keys(&mut self, on: bool) {
        self.db.set_foreign_keys(on);
    }

    /// Interrupts running statements when `is_over` returns `true`; it is called every few
    /// milliseconds.
    pub fn interrupt_when(&mut self, is_over: fn() -> bool) {
        self.db.interrupt_when(is_over);
    }

    /// The maximum number of parameters of a statement.
    #[must_use]
    pub fn max_parameters(&self) -> usize {
        self.db.max_parameters()
    }

    /// The maximum size of a value, in bytes.
    #[must_use]
    pub fn max_length(&self) -> usize {
        self.db.max_length()
    }

    /// Prepares the first statement of a text; the rest is ignored. `None` if the text contains
    /// only white space and comments.
    /// | # Errors
    /// Those of SQLite.
    pub fn prepare(&mut self, sql: impl AsRef<[u8]>) -> Result<Option<StatementId>, SqliteError> {
        Ok(self.db.prepare(sql)?.0)
    }

    /// As [`prepare`](Self::prepare), but reuses the statement of the same text if it is among
    /// the last [`CACHED`](Self::CACHED). Do not [`finalize`](Self::finalize) it.
    /// | Not for statements that act while they are prepared, as some PRAGMAs do. Schema changes
    /// do no harm: SQLite prepares the statement again when it runs.
    /// | # Errors
    /// Those of SQLite.
    pub fn prepare_cached(
        &mut self,
        sql: impl AsRef<[u8]>,
    ) -> Result<Option<StatementId>, SqliteError> {
        let sql = sql.as_ref();
        if let Some(id) = self.texts.get(sql) {
            return Ok(Some(id));
        }
        let id = self.prepare(sql)?;
        if let Some(id) = id
            && let Some(old) = self.texts.insert(sql.into(), id)
        {
            self.db.finalize(old);
        }
        Ok(id)
    }

    /// Frees all statements of [`prepare_cached`](Self::prepare_cached).
    pub fn clear_cached(&mut self) {
        for id in self.texts.drain() {
            self.db.finalize(id);
        }
    }

    /// Frees a statement; does nothing if it is already freed.
    pub fn finalize(&mut self, statement: StatementId) {
        self.db.finalize(statement);
    }

    /// Runs a statement to its end and resets it. Discards its rows; parameters without a value
    /// are NULL.
    /// | # Errors
    /// Those of SQLite; code 25 for more values than parameters.
    #[inline]
    pub fn execute<'v>(
        &mut self,
        statement: StatementId,
        values: impl ExactSizeIterator<Item = Value<'v>>,
    ) -> Result<(), SqliteError> {
        let values = self.padded(statement, values);
        Ok(self.db.execute(statement, values)?)
    }

    /// Starts a statement, to step through its rows; parameters that get no value are NULL.
    ///
    /// # Errors
    /// As [`execute`](Self::execute).
    #[inline]
    pub fn query<'a, 'v: 'a>(
        &'a mut self,
        statement: StatementId,
        values: impl ExactSizeIterator<Item = Value<'v>>,
    ) -> Result<RawRows<'a>, SqliteError> {
        let values = self.padded(statement, values);
        Ok(RawRows(self.db.rows(statement, values)?))
    }

    fn padded<'v, I>(
        &self,
        statement: StatementId,
        values: I,
    ) -> impl Iterator<Item = Value<'v>> + use<'v, I>
    where
        I: ExactSizeIterator<Item = Value<'v>>,
    {
        let missing = self.db.parameters(statement).saturating_sub(values.len());
        values.chain(repeat_n(Value::Null, missing))
    }
}

impl RawRows<'_> {
    /// The next row; `None` at the end.
    /// | # Errors
    /// Those of SQLite.
    #[inline]
    #[allow(clippy::should_implement_trait, reason = "the row borrows what gave it")]
    pub fn next(&mut self) -> Result<Option<RawRow<'_>>, SqliteError> {
        Ok(self.0.next()?.map(RawRow))
    }
}

impl RawRow<'_> {
    /// Calls `each` with the values of the first columns, one for each kind, converted by SQLite;
    /// NULL for missing columns.
    /// | # Errors
    /// Code 7 if there is no memory for a conversion.
    #[inline]
    pub fn read<'r>(
        &'r mut self,
        kinds: impl Iterator<Item = RawType>,
        each: impl FnMut(Value<'r>),
    ) -> Result<(), SqliteError> {
        Ok(self.0.convert(kinds, each)?)
    }
}
