//! Extensions: tables and functions that another crate adds to the connections of a database.
//!
//! The engine knows extensions only by the traits of this module, and calls them before SQL text
//! runs. Federation (`bobak-federation`) is one. The tables themselves are
//! [virtual tables](crate::virtual_table).

use crate::connection::Connection;
use crate::connection::reject_transaction_steps;
use crate::error::translate;
use crate::ffi::Module;
use crate::functions::Function;
use bobak_core::{Error, Parameter, Result, Row, SqlAuthorizer, Value};
use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

pub use crate::ffi::{BorrowedSession, OwnedSession, StatementAction, StatementId, WriteKind};

/// Extends the connections of a database. See [`Sqlite::set_extension`](crate::Sqlite::set_extension).
pub trait Extension: Debug + Send + Sync {
    /// Called once for each connection, before it first runs SQL text.
    ///
    /// # Errors
    /// Any: the statement fails with it.
    fn connect(
        self: Arc<Self>,
        connection: &mut ExtendedConnection<'_>,
    ) -> Result<Box<dyn ConnectionExtension>>;

    /// Called after a statement failed with `error` since a table or column is missing. Returns
    /// `Ok` if there are other tables now, so that the statement is worth another attempt.
    ///
    /// # Errors
    /// The error that the statement fails with.
    fn refresh_tables(&self, error: Error) -> Result<()>;
}

/// The part of an [`Extension`] that belongs to one connection.
pub trait ConnectionExtension: Any + Debug + Send {
    /// Called before SQL text runs outside a transaction, and before a transaction begins.
    ///
    /// # Errors
    /// Any: the statement, or the begin, fails with it.
    fn begin(&mut self, connection: &mut ExtendedConnection<'_>) -> Result<()>;

    /// Called before a statement that may write runs, with all that it does, and whether it returns rows.
    ///
    /// # Errors
    /// Any: the statement fails with it.
    fn check_statement(
        &self,
        actions: &[StatementAction],
        returns_rows: bool,
        in_transaction: bool,
    ) -> Result<()>;

    /// Called before an open transaction writes to the database's own tables without SQL text.
    ///
    /// # Errors
    /// Any: the write fails with it.
    fn before_engine_write(&self) -> Result<()>;
}

/// A connection as its extension sees it.
#[derive(Debug)]
pub struct ExtendedConnection<'c>(pub(crate) &'c mut Connection);

impl ExtendedConnection<'_> {
    /// The connection's part of the extension, if it has this type.
    #[must_use]
    pub fn extension<E: ConnectionExtension>(&self) -> Option<&E> {
        let extension: &dyn Any = self.0.extension.as_deref()?;
        extension.downcast_ref()
    }

    /// Registers a module of virtual tables.
    ///
    /// # Errors
    /// `Misuse` for a name with a NUL.
    pub fn register_module(&mut self, name: &str, module: impl Module) -> Result<()> {
        self.0.db.register_module(name, module).map_err(|failure| translate(failure, None))
    }

    /// Registers a function.
    ///
    /// # Errors
    /// Those of [`SqliteBuilder::function`](crate::SqliteBuilder::function).
    pub fn register_function(&mut self, function: &Function) -> Result<()> {
        function.register(&mut self.0.db)
    }

    /// Runs `work`, which creates or drops virtual tables. Meanwhile nothing is denied, and the
    /// connection can write even if it is one that only reads.
    ///
    /// # Errors
    /// Those of `work`.
    pub fn define_tables(&mut self, work: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        self.0.buffer_cursors();
        self.0.typed_texts.clear();
        // SQLite prepares a kept statement again when it runs, too late for the names of its columns.
        for statement in self.0.texts.drain() {
            self.0.db.finalize(statement);
        }
        self.0.db.watch().set_denial(None, Vec::new());
        self.with_writes(work)
    }

    /// Denies statements from now on: each action for which `denies`, given the names, returns
    /// `true`. They fail with `Unsupported`.
    pub fn deny(&mut self, denies: fn(&StatementAction, &[String]) -> bool, names: Vec<String>) {
        self.0.db.watch().set_denial(Some(denies), names);
    }

    /// Runs `work` with writes allowed, also on a connection that only reads.
    ///
    /// # Errors
    /// Those of `work`.
    pub fn with_writes<R>(&mut self, work: impl FnOnce(&mut Self) -> Result<R>) -> Result<R> {
        let query_only = self.0.query_only;
        if query_only {
            self.0.set_query_only(false)?;
        }
        let done = work(self);
        if query_only {
            self.0.set_query_only(true)?;
        }
        done
    }

    /// Runs a statement that has no parameters and no rows.
    ///
    /// # Errors
    /// Those of the statement.
    pub fn execute(&mut self, sql: &str) -> Result<()> {
        self.0.run_owned(sql)
    }

    /// Submits all actions of a text to an authorizer.
    ///
    /// # Errors
    /// Those of the authorizer; as [`prepare`](Self::prepare).
    pub fn authorize(&mut self, sql: &str, authorizer: &Arc<dyn SqlAuthorizer>) -> Result<()> {
        self.0.check_text(sql, authorizer)
    }

    /// Prepares a text that is one statement. The connection keeps it for the next call.
    ///
    /// # Errors
    /// `Syntax` and `Schema` for a wrong text; `Unsupported` for a denied one.
    pub fn prepare(&mut self, sql: &str) -> Result<StatementId> {
        self.0.text_statement(sql)
    }

    /// What a prepared statement does.
    #[must_use]
    pub fn actions(&self, statement: StatementId) -> &[StatementAction] {
        self.0.db.actions(statement)
    }

    /// Whether a prepared statement only reads.
    #[must_use]
    pub fn is_read_only(&self, statement: StatementId) -> bool {
        self.0.db.is_read_only_statement(statement)
    }

    /// The names of a prepared statement's result columns; empty if it returns no rows.
    #[must_use]
    pub fn column_names(&self, statement: StatementId) -> Vec<String> {
        self.0.db.column_names(statement)
    }

    /// All rows of a query, copied.
    ///
    /// # Errors
    /// Those of the statement; `Mismatch` for a wrong number of parameters.
    pub fn query(
        &mut self,
        sql: &str,
        parameters: &[Value<'_>],
    ) -> Result<Vec<Vec<Value<'static>>>> {
        self.0.all_rows(sql, parameters)
    }

    /// A program's text in stored units: amounts, dates and times become what SQLite stores.
    ///
    /// # Errors
    /// `Mismatch` if it compares or combines values of types that cannot be; `Unsupported` if it
    /// cannot be analyzed.
    pub fn stored_text(&mut self, sql: &str, parameters: &[Parameter<'_>]) -> Result<String> {
        Ok(self.0.typed_text(sql, &Parameter::types(parameters), None)?.text(sql).to_owned())
    }

    /// Runs a program's statement, calling `row` with its rows until that returns `false`. Returns
    /// the number of rows changed.
    ///
    /// # Errors
    /// Those of [`stored_text`](Self::stored_text), of the statement and of `row`; `Mismatch` for a
    /// wrong number of parameters.
    pub fn run(
        &mut self,
        sql: &str,
        parameters: &[Parameter<'_>],
        row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
    ) -> Result<u64> {
        reject_transaction_steps(sql)?;
        let typed = self.0.typed_text(sql, &Parameter::types(parameters), None)?;
        let values = Parameter::values(parameters);
        let before = self.0.db.total_changes();
        self.0.each_row(typed.text(sql), &values, None, &mut typed.rows(row))?;
        let changed = self.0.db.total_changes() != before;
        Ok(if changed { self.0.db.changes() } else { 0 })
    }
}

impl Connection {
    /// Lets the extension prepare the connection for SQL text, or for a transaction.
    pub(crate) fn begin_extension(&mut self, extension: &Arc<dyn Extension>) -> Result<()> {
        let mut own = match self.extension.take() {
            Some(own) => own,
            None => Arc::clone(extension).connect(&mut ExtendedConnection(self))?,
        };
        let begun = own.begin(&mut ExtendedConnection(self));
        self.extension = Some(own);
        begun
    }

    /// Lets the extension check a statement that may write.
    pub(crate) fn check_statement(&self, id: StatementId, in_transaction: bool) -> Result<()> {
        match &self.extension {
            Some(extension) => {
                let returns_rows = !self.db.column_names(id).is_empty();
                extension.check_statement(self.db.actions(id), returns_rows, in_transaction)
            }
            None => Ok(()),
        }
    }
}
