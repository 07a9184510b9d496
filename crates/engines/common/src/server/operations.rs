//! What a connection of a database server does for its sessions.

use crate::{
    AddTableRow, Connector, LostTable, Pool, RowSteps, SavepointStep, ServerBatch, ServerWrite,
    StatementValue, is_row_error, lock_rows, query_table, read_catalog, reject_table_changes,
    reject_vectors, rows_to_lock,
};
use bobak_core::codec::EncodedRow;
use bobak_core::{
    Error, ErrorKind, Interrupt, OnError, Outcome, Parameter, Result, ResultColumn, Row, RowLock,
    Run, SchemaChange, SchemaDetails, Select, Source, TableSchema, Value, Verb, WriteBatch,
};
use std::sync::Arc;
use std::time::Duration;

/// What a [`ServerSession`](crate::ServerSession) runs on its connection: the operations of
/// [`Session`](bobak_core::Session), of one engine.
pub trait ServerOperations: RowSteps + Send {
    /// The engine's name.
    const ENGINE: &'static str;

    /// The server's name, for messages.
    const SERVER: &'static str;

    /// The queries of the catalog for tables, as [`read_catalog`] takes them.
    const CATALOG: &[(&str, AddTableRow)] = &[];

    /// Fewer rows than this are sent one by one.
    const FEW: usize = 4;

    /// Whether queries for the nearest rows are answered, by reading all.
    const HAS_VECTORS: bool = false;

    /// Begins a transaction: of the caller, at the isolation of the settings, or around one operation, which sees what is
    /// committed.
    ///
    /// # Errors
    /// Those of the server.
    fn begin(&mut self, is_callers: bool) -> Result<()>;

    /// Runs something in a transaction of its own, which sees what is committed.
    ///
    /// # Errors
    /// Those of `run` and of the transaction.
    fn atomically<R>(&mut self, run: impl FnOnce(&mut Self) -> Result<R>) -> Result<R> {
        self.begin(false)?;
        let done = run(self);
        if self.is_broken() {
            return done;
        }
        let ended = self.end(done.is_ok());
        done.and_then(|done| ended.map(|()| done))
    }

    /// Runs something that only reads, outside of a transaction.
    ///
    /// # Errors
    /// Those of `run`.
    fn read_alone<R>(&mut self, run: impl FnOnce(&mut Self) -> Result<R>) -> Result<R> {
        run(self)
    }

    /// Runs something that writes, outside of a transaction: all of it, or nothing. It may be of several statements, if
    /// the second argument says so.
    ///
    /// # Errors
    /// Those of `run` and of a transaction.
    fn write_alone<R>(&mut self, _: bool, run: impl FnOnce(&mut Self) -> Result<R>) -> Result<R> {
        self.atomically(run)
    }

    /// For how long a write is repeated that the server has ended because of another transaction; `None` if it is not.
    fn retry_time(&self) -> Option<Duration>;

    /// Whether savepoints can be set. Without them an error in a batch ends the caller's transaction.
    fn has_savepoints(&self) -> bool {
        true
    }

    /// Whether several statements of a write change rows, and must be undone together. Of an upsert's, one does; what a failed
    /// insert takes from a sequence is not undone in any case.
    fn has_steps(verb: Verb) -> bool {
        verb == Verb::InsertOrReplace
    }

    /// Whether an error of rows that were sent together may be that of one: then each half is sent.
    fn may_be_of_row(&self, error: &Error) -> bool {
        is_row_error(error.kind())
    }

    /// Runs something in a transaction; if it fails, undoes it, so that the transaction goes on without it.
    ///
    /// # Errors
    /// Those of `run` and of a savepoint.
    fn undoing<R>(&mut self, run: impl FnOnce(&mut Self) -> Result<R>) -> Result<R> {
        const PART: &str = "bobak_part";
        self.savepoint(SavepointStep::Set, PART)?;
        let done = run(self);
        match &done {
            Err(error) if self.has_ended(error) => return done,
            Err(_) => Interrupt::hold_off(|| self.savepoint(SavepointStep::RollBackTo, PART))?,
            Ok(_) => {}
        }
        Interrupt::hold_off(|| self.savepoint(SavepointStep::Release, PART))?;
        done
    }

    /// How many of the rows of a batch are its next part, and whether they are sent together. All need a key, or none does.
    fn part(&self, run: &Run<'_>, rows: &[EncodedRow<'_>], made: bool) -> (usize, bool);

    /// Writes rows of a batch in a transaction: all, or none. They need a key if the last argument says so.
    ///
    /// # Errors
    /// As [`Session::batch`](bobak_core::Session::batch).
    fn send_together(
        &mut self,
        _: &Run<'_>,
        writes: &[ServerWrite<'_>],
        _made: bool,
    ) -> Result<Vec<Outcome>> {
        writes.iter().map(|write| self.write_row(write)).collect()
    }

    /// Sends a part of a batch in a transaction; `first` is the number of the first row, and whether the rows need a key. The
    /// caller undoes all after an error.
    ///
    /// # Errors
    /// As [`Session::batch`](bobak_core::Session::batch).
    fn send_part(
        sender: &mut ServerBatch<'_, Self>,
        run: &Run<'_>,
        rows: &[EncodedRow<'_>],
        first: (u64, bool),
    ) -> Result<()> {
        sender.in_halves(run, rows, first)
    }

    /// Sends a batch in a transaction.
    ///
    /// # Errors
    /// As [`Session::batch`](bobak_core::Session::batch).
    fn send(
        &mut self,
        batch: &WriteBatch,
        on_error: OnError,
        each: &mut dyn FnMut(Result<Outcome>),
    ) -> Result<()> {
        let mut sender = ServerBatch { connection: self, on_error, each };
        batch.runs().try_for_each(|run| sender.send_run(&run))
    }

    /// Writes a batch outside of a transaction: all of it, or nothing.
    ///
    /// # Errors
    /// As [`Session::batch`](bobak_core::Session::batch).
    fn send_alone(
        &mut self,
        batch: &WriteBatch,
        on_error: OnError,
        each: &mut dyn FnMut(Result<Outcome>),
    ) -> Result<()> {
        self.write_alone(true, |connection| connection.send(batch, on_error, each))
    }

    /// Rejects SQL text that the session must not run; returns whether it only reads.
    ///
    /// # Errors
    /// `Misuse`.
    fn check_sql(text: &str) -> Result<bool>;

    /// SQL text of a program as the server takes it.
    ///
    /// # Errors
    /// `Syntax`; `Misuse` for another number of parameters.
    fn sql_text(&self, text: &str, parameters: &[Parameter<'_>]) -> Result<String>;

    /// Locks a row, which has all columns, if it is still there. Its values may be replaced by those of now. An engine whose
    /// [`select`](Self::select) locks rows has no need of it.
    ///
    /// # Errors
    /// `Busy` if another transaction has locked it.
    fn lock_row(&mut self, _: &Select, _: RowLock, _: &mut Vec<Value<'static>>) -> Result<bool> {
        Err(Error::new(ErrorKind::Unsupported, "row locks are not supported on this server"))
    }

    /// Runs a query of a table.
    ///
    /// # Errors
    /// As [`Session::query`](bobak_core::Session::query).
    fn select(
        &mut self,
        select: &Select,
        row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
    ) -> Result<()> {
        let Some(lock) = select.lock else { return query_table(self, select, row) };
        let rows = rows_to_lock(select, |plain, row| query_table(self, plain, row))?;
        lock_rows(select, rows, row, |values| self.lock_row(select, lock, values))
    }

    /// Runs a query.
    ///
    /// # Errors
    /// As [`Session::query`](bobak_core::Session::query).
    fn query(
        &mut self,
        source: &Source<'_>,
        row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
    ) -> Result<()> {
        match *source {
            Source::Select(select) => self.select(select, row),
            Source::Sql { text, parameters } => {
                let text = self.sql_text(text, parameters)?;
                self.each(None, &text, &StatementValue::parameters(parameters), row)
            }
        }
    }

    /// The columns of the SQL text that was run last, for a cursor; none if the rows say it.
    ///
    /// # Errors
    /// Those of the server.
    fn result_columns(&mut self, _: &str, _: &[Parameter<'_>]) -> Result<Vec<ResultColumn>> {
        Ok(Vec::new())
    }

    /// Runs SQL text.
    ///
    /// # Errors
    /// As [`Session::execute`](bobak_core::Session::execute).
    fn execute(&mut self, sql: &str, parameters: &[Parameter<'_>]) -> Result<u64> {
        let text = self.sql_text(sql, parameters)?;
        self.run(None, &text, &StatementValue::parameters(parameters))
    }

    /// The tables of [`CATALOG`](Self::CATALOG), and those without a schema.
    ///
    /// # Errors
    /// Those of the server and the connection.
    fn read_catalog(&mut self) -> Result<(Vec<TableSchema>, Vec<LostTable>)> {
        read_catalog(&self.dialect(), Self::CATALOG, |sql, add| {
            self.each(None, sql, &[], &mut |row| {
                add(row);
                Ok(true)
            })
        })
    }

    /// The tables: those of [`CATALOG`](Self::CATALOG).
    ///
    /// # Errors
    /// As [`Session::tables`](bobak_core::Session::tables).
    fn tables(&mut self) -> Result<Vec<TableSchema>> {
        Ok(self.read_catalog()?.0)
    }

    /// The views.
    ///
    /// # Errors
    /// As [`Session::views`](bobak_core::Session::views).
    fn views(&mut self) -> Result<Vec<TableSchema>> {
        Ok(Vec::new())
    }

    /// The tables of [`CATALOG`](Self::CATALOG) that have no schema, as losses.
    ///
    /// # Errors
    /// Those of the server and the connection.
    fn lost_tables(&mut self) -> Result<SchemaDetails> {
        let mut details = SchemaDetails::default();
        let (_, lost) = self.read_catalog()?;
        for (name, columns) in &lost {
            details.lose_table(name, columns.iter().map(String::as_str));
        }
        Ok(details)
    }

    /// What the schemas of the tables do not express: by default the tables without a schema, and the views.
    ///
    /// # Errors
    /// As [`Session::schema_details`](bobak_core::Session::schema_details).
    fn schema_details(&mut self) -> Result<SchemaDetails> {
        let mut details = self.lost_tables()?;
        for view in self.views()? {
            details.lose(view.name(), "view");
        }
        Ok(details)
    }

    /// Rejects changes of the schema that no table of the engine can have, before anything is sent.
    ///
    /// # Errors
    /// `Unsupported`.
    fn check_changes(changes: &[SchemaChange]) -> Result<()> {
        reject_table_changes(changes, Self::SERVER)?;
        reject_vectors(changes, Self::SERVER)
    }

    /// Why the schema cannot be changed in a transaction, if it cannot.
    fn no_alter_inside(&self) -> Option<&'static str>;

    /// Changes the schema; in a transaction, the caller undoes all of it after an error.
    ///
    /// # Errors
    /// As [`Session::alter`](bobak_core::Session::alter).
    fn alter(&mut self, changes: &[SchemaChange], is_inside: bool) -> Result<()>;

    /// Changes the schema outside of a transaction.
    ///
    /// # Errors
    /// As [`Session::alter`](bobak_core::Session::alter).
    fn alter_alone<C>(pool: &Arc<Pool<C>>, changes: &[SchemaChange]) -> Result<()>
    where
        C: Connector<Connection = Self>,
    {
        pool.acquire_owned()?.alter(changes, false)
    }

    /// Prepares the connection for a transaction during which others change tables.
    ///
    /// # Errors
    /// Those of the server.
    fn before_replay(&mut self) -> Result<()> {
        Ok(())
    }
}
