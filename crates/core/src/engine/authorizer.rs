//! Authorizers: a decision about each action of an SQL statement before the statement runs.

use crate::{Result, Verb};

/// Decides which actions SQL text may take. See
/// [`Session::set_authorizer`](crate::Session::set_authorizer).
pub trait SqlAuthorizer: Send + Sync {
    /// Allows or rejects one action.
    ///
    /// # Errors
    /// An error rejects the statement; the caller gets this error.
    fn check(&self, action: SqlAction<'_>) -> Result<()>;

    /// Whether the engine may reuse the decision about a statement's text after the schema changed,
    /// instead of asking again. Default: `false`.
    fn lasts(&self) -> bool {
        false
    }
}

/// One action of an SQL statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SqlAction<'a> {
    /// Reads a table, a view or a table-valued function.
    Read(&'a str),
    /// Inserts rows into a table.
    Insert(&'a str),
    /// Updates rows of a table.
    Update(&'a str),
    /// Deletes rows of a table.
    Delete(&'a str),
    /// Calls a function.
    Call(&'a str),
    /// Reads or writes a table outside the engine's own database: one of an attached engine, or a
    /// temporary table of the connection.
    Foreign {
        /// The name of the attached engine; `temp` for a temporary table.
        database: &'a str,
        /// The table.
        table: &'a str,
        /// How the statement writes it: [`Verb::Insert`], [`Verb::Update`] or [`Verb::Delete`];
        /// `None` if it reads.
        verb: Option<Verb>,
    },
    /// Creates, alters or drops something.
    Schema {
        /// Whether it is temporary: visible to this connection only, and dropped with it.
        temporary: bool,
    },
    /// Reads or changes a setting of the connection.
    Pragma {
        /// The setting's name.
        name: &'a str,
        /// The new value, or the argument of a query.
        value: Option<&'a str>,
    },
    /// Attaches another database file.
    Attach,
    /// Detaches a database file.
    Detach,
    /// Rewrites the database file.
    Vacuum {
        /// Whether the result goes to another file.
        into: bool,
    },
    /// Only reads, of tables and by functions that are not known: a query in the dialect of an engine that cannot tell.
    Query,
    /// Anything else, such as collecting statistics or rebuilding indexes.
    Other,
}
