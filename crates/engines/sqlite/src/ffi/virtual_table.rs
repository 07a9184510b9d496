//! What a virtual table is to the rest of the crate: safe traits, which [`module`](super::module)
//! puts behind SQLite's C interface.

use super::index_info::IndexInfo;
use super::running::Running;
use super::values::{Arguments, Output};
use bobak_core::{Error, ErrorKind, Result};

/// Makes virtual tables: one for each connection that it is registered on.
pub(crate) trait Module: Send + Sized + 'static {
    /// The tables that it makes.
    type Table: VirtualTable;

    /// Whether its tables can be written.
    const WRITABLE: bool;
    /// Whether it is a table under its own name, without one being created.
    const EPONYMOUS: bool;

    /// Makes a table, and says by a `CREATE TABLE` which columns it has.
    fn connect(&self, name: &str, arguments: &[String]) -> Result<(Self::Table, String)>;
}

/// A virtual table of one connection.
pub(crate) trait VirtualTable: Send {
    /// Its cursors.
    type Cursor: VirtualCursor;

    /// Chooses how to read; `false` where there is no way with the conditions that are usable.
    fn best_index(&self, info: &mut IndexInfo<'_>) -> Result<bool>;

    /// Opens a cursor, which stands nowhere yet.
    fn open(&self) -> Result<Self::Cursor>;

    /// Inserts, updates or deletes a row.
    fn update(&self, change: RowChange<'_>) -> Result<Updated> {
        let _ = change;
        Err(Error::new(ErrorKind::Unsupported, "this table can't be written"))
    }

    /// The transaction begins to write to this table.
    fn begin(&self) -> Result<()> {
        Ok(())
    }

    /// Commits, for good: the last moment at which that may fail.
    fn sync(&self) -> Result<()> {
        Ok(())
    }

    /// The transaction has ended well.
    fn commit(&self) {}

    /// The transaction is undone.
    fn rollback(&self) {}

    /// Marks a place in the transaction.
    fn savepoint(&self, number: i32) -> Result<()> {
        let _ = number;
        Ok(())
    }

    /// Forgets this mark and those after it.
    fn release(&self, number: i32) -> Result<()> {
        let _ = number;
        Ok(())
    }

    /// Undoes what was done since the mark, which stays.
    fn rollback_to(&self, number: i32) -> Result<()> {
        let _ = number;
        Ok(())
    }
}

/// A cursor over a virtual table.
pub(crate) trait VirtualCursor: Send {
    /// Begins to read by a plan, and stands on the first row.
    fn filter(&mut self, plan: &str, arguments: Arguments<'_>, running: Running<'_>) -> Result<()>;

    /// Goes to the next row.
    fn next(&mut self) -> Result<()>;

    /// Whether it is past the last row.
    fn is_at_end(&self) -> bool;

    /// Gives the value of a column of the row.
    fn column(&self, place: usize, output: &mut Output<'_>);

    /// The row's number.
    fn rowid(&self) -> i64;
}

/// A row to insert, update or delete.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RowChange<'a> {
    /// The row with this rowid, or this key where the table has none, goes.
    Delete {
        /// The first of them.
        row: Arguments<'a>,
    },
    /// A new row.
    Insert {
        /// Two that do not count, then its columns.
        values: Arguments<'a>,
        /// What happens where it conflicts with a row that is there.
        conflict: OnConflict,
    },
    /// New values for a row.
    Update {
        /// Its rowid or key before and afterwards, then its columns.
        values: Arguments<'a>,
        /// What happens where it conflicts with another.
        conflict: OnConflict,
    },
}

/// How a statement ends, or goes on, at a row that breaks a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnConflict {
    /// The statement is undone (or ends there, or the transaction is undone: SQLite sees to that).
    Abort,
    /// The row is passed over.
    Ignore,
    /// Rows in its way are deleted.
    Replace,
}

/// What became of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Updated {
    /// It was written; with the rowid that a new one has.
    Written(Option<i64>),
    /// It was passed over, and does not count.
    Ignored,
}
