//! Safe traits for virtual tables; [`module`](super::module) puts them behind SQLite's C interface.

use super::index_info::IndexInfo;
use super::running::RunningStatement;
use super::values::{Arguments, Output};
use bobak_core::{Error, ErrorKind, Result};

/// A module: creates virtual tables on one connection.
pub trait Module: Send + Sized + 'static {
    /// The tables that it creates.
    type Table: VirtualTable;

    /// Whether SQL can write to its tables.
    const WRITABLE: bool;
    /// Whether the module itself can be used as a table, without `CREATE VIRTUAL TABLE`.
    const EPONYMOUS: bool;

    /// Connects to a table. Returns it with a `CREATE TABLE` statement that declares its columns.
    ///
    /// # Errors
    /// Any: the statement fails with it.
    fn connect(&self, name: &str, arguments: &[String]) -> Result<(Self::Table, String)>;
}

/// A virtual table of one connection.
///
/// A statement fails with the error that a method returns; a panic becomes an error.
pub trait VirtualTable: Send {
    /// Its cursors.
    type Cursor: VirtualCursor;

    /// Chooses a plan for the planner's question. Returns `false` if the usable conditions do not
    /// suffice to read the table.
    ///
    /// # Errors
    /// Any.
    fn best_index(&self, info: &mut IndexInfo<'_>) -> Result<bool>;

    /// Opens a cursor; [`VirtualCursor::filter`] positions it.
    ///
    /// # Errors
    /// Any.
    fn open(&self) -> Result<Self::Cursor>;

    /// Inserts, updates or deletes a row. Default: rejected.
    ///
    /// # Errors
    /// Any; `Duplicate` and `Constraint` let `OR IGNORE` skip the row.
    fn update(&self, change: RowChange<'_>) -> Result<UpdateOutcome> {
        let _ = change;
        Err(Error::new(ErrorKind::Unsupported, "the table is read-only"))
    }

    /// Called at the first write to this table in a transaction.
    ///
    /// # Errors
    /// Any.
    fn begin(&self) -> Result<()> {
        Ok(())
    }

    /// Makes the writes durable, before SQLite commits: the last step that can fail.
    ///
    /// # Errors
    /// Any: the transaction is rolled back.
    fn sync(&self) -> Result<()> {
        Ok(())
    }

    /// Called after the transaction has committed.
    fn commit(&self) {}

    /// Undoes the transaction.
    fn rollback(&self) {}

    /// Sets a savepoint.
    ///
    /// # Errors
    /// Any.
    fn savepoint(&self, number: i32) -> Result<()> {
        let _ = number;
        Ok(())
    }

    /// Releases this savepoint and later ones.
    ///
    /// # Errors
    /// Any.
    fn release(&self, number: i32) -> Result<()> {
        let _ = number;
        Ok(())
    }

    /// Undoes what was done since the savepoint, which remains.
    ///
    /// # Errors
    /// Any.
    fn rollback_to(&self, number: i32) -> Result<()> {
        let _ = number;
        Ok(())
    }
}

/// A cursor over a virtual table.
pub trait VirtualCursor: Send {
    /// Starts to read by the plan of [`IndexInfo::set_plan`] and moves to the first row.
    ///
    /// # Errors
    /// Any.
    fn filter(
        &mut self,
        plan: &str,
        arguments: Arguments<'_>,
        statement: RunningStatement<'_>,
    ) -> Result<()>;

    /// Moves to the next row.
    ///
    /// # Errors
    /// Any.
    fn next(&mut self) -> Result<()>;

    /// Whether the cursor is past the last row.
    fn is_at_end(&self) -> bool;

    /// Sets the value of the row's column at this position.
    fn column(&self, position: usize, output: &mut Output<'_>);

    /// The row's rowid.
    fn rowid(&self) -> i64;
}

/// A row to insert, update or delete.
#[derive(Clone, Copy, Debug)]
pub enum RowChange<'a> {
    /// Deletes a row.
    Delete {
        /// One value: its rowid, or its key if the table has no rowids.
        row: Arguments<'a>,
    },
    /// Inserts a row.
    Insert {
        /// Two values to ignore, then its columns.
        values: Arguments<'a>,
        /// What to do if the row violates a constraint.
        conflict: ConflictAction,
    },
    /// Updates a row.
    Update {
        /// Its old and new rowid (or key), then its columns.
        values: Arguments<'a>,
        /// What to do if the row violates a constraint.
        conflict: ConflictAction,
    },
}

/// What a statement does with a row that violates a constraint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConflictAction {
    /// Fails. SQLite undoes the statement (or stops it, or rolls the transaction back).
    Abort,
    /// Skips the row.
    Ignore,
    /// Deletes the rows that conflict with it.
    Replace,
}

/// The outcome of writing one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpdateOutcome {
    /// Written; the rowid of a new row.
    Written(Option<i64>),
    /// Skipped: SQLite does not count it.
    Ignored,
}
