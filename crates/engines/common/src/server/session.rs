//! Sessions of database servers: a session takes a connection from the pool for each operation, and keeps one for the time
//! of a transaction.

use super::transaction::not_open;
use crate::in_row_callback;
use crate::{
    Connector, Pool, SavepointStep, ServerBatch, ServerTransaction, ServerWrite,
    TransactionConnection, is_row_error,
};
use bobak_core::engine::fallback;
use bobak_core::{
    Cursor, Error, ErrorKind, Interrupt, OnError, Outcome, Parameter, Result, ResultColumn, Row,
    Run, SchemaChange, Session, Source, TableSchema, TransactionControl, Verb, Write, WriteBatch,
};
use std::cell::{Cell, RefCell, RefMut};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What a [`ServerSession`] runs on its connection: the operations of [`Session`], of one engine.
pub trait ServerOperations: TransactionConnection + Send + Sized {
    /// The engine's name.
    const ENGINE: &'static str;

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

    /// Writes a row.
    ///
    /// # Errors
    /// As [`Session::write`].
    fn write(&mut self, write: &ServerWrite<'_>) -> Result<Outcome>;

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

    /// Sends the rows of a batch that are written in the same way, in a transaction. The caller undoes all after an error.
    ///
    /// # Errors
    /// As [`Session::batch`].
    fn send_run(sender: &mut ServerBatch<'_, Self>, run: &Run<'_>) -> Result<()>;

    /// Sends a batch in a transaction.
    ///
    /// # Errors
    /// As [`Session::batch`].
    fn send(
        &mut self,
        batch: &WriteBatch,
        on_error: OnError,
        each: &mut dyn FnMut(Result<Outcome>),
    ) -> Result<()> {
        let mut sender = ServerBatch { connection: self, on_error, each };
        batch.runs().try_for_each(|run| Self::send_run(&mut sender, &run))
    }

    /// Writes a batch outside of a transaction: all of it, or nothing.
    ///
    /// # Errors
    /// As [`Session::batch`].
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

    /// Runs a query.
    ///
    /// # Errors
    /// As [`Session::query`].
    fn query(
        &mut self,
        source: &Source<'_>,
        row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
    ) -> Result<()>;

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
    /// As [`Session::execute`].
    fn execute(&mut self, sql: &str, parameters: &[Parameter<'_>]) -> Result<u64>;

    /// The tables.
    ///
    /// # Errors
    /// As [`Session::tables`].
    fn tables(&mut self) -> Result<Vec<TableSchema>>;

    /// The views.
    ///
    /// # Errors
    /// As [`Session::views`].
    fn views(&mut self) -> Result<Vec<TableSchema>> {
        Ok(Vec::new())
    }

    /// Rejects changes of the schema that no table of the engine can have, before anything is sent.
    ///
    /// # Errors
    /// `Unsupported`.
    fn check_changes(changes: &[SchemaChange]) -> Result<()>;

    /// Why the schema cannot be changed in a transaction, if it cannot.
    fn no_alter_inside(&self) -> Option<&'static str>;

    /// Changes the schema; in a transaction, the caller undoes all of it after an error.
    ///
    /// # Errors
    /// As [`Session::alter`].
    fn alter(&mut self, changes: &[SchemaChange], is_inside: bool) -> Result<()>;

    /// Changes the schema outside of a transaction.
    ///
    /// # Errors
    /// As [`Session::alter`].
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

/// A session over the connections of a pool.
pub struct ServerSession<'e, C>
where
    C: Connector,
    C::Connection: ServerOperations,
{
    pool: &'e Arc<Pool<C>>,
    /// Borrowed for as long as an operation runs: one from inside another finds it taken.
    transaction: RefCell<Option<ServerTransaction<C>>>,
    in_transaction: Cell<bool>,
    /// Whether the columns of an SQL text with rows are noted, and the noted ones.
    wants_columns: Cell<bool>,
    columns: RefCell<Vec<ResultColumn>>,
}

impl<'e, C> ServerSession<'e, C>
where
    C: Connector,
    C::Connection: ServerOperations,
{
    /// A session without a connection.
    #[must_use]
    pub fn new(pool: &'e Arc<Pool<C>>) -> Self {
        let (transaction, in_transaction, wants_columns, columns) = Default::default();
        Self { pool, transaction, in_transaction, wants_columns, columns }
    }

    fn enter(&self) -> Result<RefMut<'_, Option<ServerTransaction<C>>>> {
        self.transaction.try_borrow_mut().map_err(|_| in_row_callback())
    }

    /// Begins a transaction: on a new connection, if that of the pool was lost while it was idle.
    fn begin(&self, is_replay: bool) -> Result<()> {
        let mut open = self.enter()?;
        if let Some(transaction) = &mut *open {
            return transaction.control(TransactionControl::Begin).map(drop);
        }
        let begin = |connection: &mut C::Connection| {
            if is_replay {
                connection.before_replay()?;
            }
            connection.begin(true)
        };
        let mut pooled = self.pool.acquire_owned()?;
        let begun = begin(&mut pooled);
        if begun.is_err() && pooled.is_broken() && pooled.is_reused() {
            self.pool.close_idle(|_| true);
            pooled.reconnect()?;
            begin(&mut pooled)?;
        } else {
            begun?;
        }
        *open = Some(ServerTransaction::begun(pooled));
        self.in_transaction.set(true);
        Ok(())
    }

    /// Runs something that only reads. It is repeated on a new connection if that of the pool was lost while it was idle,
    /// and `again` says so.
    fn read<R>(
        &self,
        again: impl Fn() -> bool,
        mut run: impl FnMut(&mut C::Connection) -> Result<R>,
    ) -> Result<R> {
        // Borrowed until the end: a reader must not call the session.
        let mut open = self.enter()?;
        if let Some(transaction) = &mut *open {
            return transaction.run(run);
        }
        let mut pooled = self.pool.acquire_owned()?;
        let done = pooled.read_alone(&mut run);
        if done.is_err() && pooled.is_broken() {
            self.pool.close_idle(|_| true);
            if pooled.is_reused() && again() {
                pooled.reconnect()?;
                return pooled.read_alone(run);
            }
        }
        done
    }

    /// Runs something that writes: alone it commits by itself, and is repeated if the server has ended it because of another
    /// transaction.
    fn write_with<R>(
        &self,
        has_steps: bool,
        mut run: impl FnMut(&mut C::Connection) -> Result<R>,
    ) -> Result<R> {
        let mut open = self.enter()?;
        if let Some(transaction) = &mut *open {
            return match has_steps {
                true => transaction.run_steps(run),
                false => transaction.run(run),
            };
        }
        let mut pooled = self.pool.acquire_owned()?;
        let end = pooled.retry_time().map(|time| Instant::now() + time);
        loop {
            match (pooled.write_alone(has_steps, &mut run), end) {
                (Err(error), Some(end)) if error.kind() == ErrorKind::Serialization => {
                    if Instant::now() >= end {
                        return Err(Error::new(ErrorKind::Busy, error.message().to_owned()));
                    }
                }
                (done, _) => {
                    if pooled.is_broken() {
                        self.pool.close_idle(|_| true);
                    }
                    return done;
                }
            }
        }
    }
}

impl<C> Session for ServerSession<'_, C>
where
    C: Connector + Send + Sync,
    C::Connection: ServerOperations,
{
    fn control(&self, step: TransactionControl<'_>) -> Result<()> {
        if step == TransactionControl::Begin {
            return self.begin(false);
        }
        let mut open = self.enter()?;
        let transaction = open.as_mut().ok_or_else(not_open)?;
        if transaction.control(step)? {
            return Ok(());
        }
        self.in_transaction.set(false);
        let commit = step == TransactionControl::Commit;
        open.take().map_or(Ok(()), |transaction| transaction.end(commit))
    }

    fn in_transaction(&self) -> bool {
        self.in_transaction.get()
    }

    fn begin_replay(&self, tables: &[&str]) -> Result<()> {
        fallback::reject_foreign_keys(&self.tables()?, tables)?;
        self.begin(true)
    }

    fn write(&self, write: &Write<'_>) -> Result<Outcome> {
        write.table.check_written(write.verb)?;
        let has_steps = C::Connection::has_steps(write.verb);
        self.write_with(has_steps, |connection| connection.write(&ServerWrite::of(write)))
    }

    fn batch(
        &self,
        batch: &WriteBatch,
        on_error: OnError,
        each: &mut dyn FnMut(Result<Outcome>),
    ) -> Result<()> {
        if batch.is_empty() {
            return Ok(());
        }
        batch.check_writable()?;
        let mut open = self.enter()?;
        let Some(transaction) = &mut *open else {
            return self.pool.acquire_owned()?.send_alone(batch, on_error, each);
        };
        let send = |connection: &mut C::Connection| connection.send(batch, on_error, each);
        match transaction.connection().has_savepoints() {
            true => transaction.run_steps(send),
            false => transaction.run_or_end(send),
        }
    }

    fn query(
        &self,
        source: &Source<'_>,
        row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
    ) -> Result<()> {
        if C::Connection::HAS_VECTORS && fallback::nearest(self, source, || self.enter(), row)? {
            return Ok(());
        }
        let handed = Cell::new(false);
        let mut run = |connection: &mut C::Connection| {
            connection.query(source, &mut |found| {
                handed.set(true);
                row(found)
            })?;
            if let Source::Sql { text, parameters } = source
                && (self.wants_columns.get() || !handed.get())
            {
                let columns = connection.result_columns(text, parameters);
                // What has run without rows has not failed, if it can't be described.
                *self.columns.borrow_mut() =
                    if handed.get() { columns? } else { columns.unwrap_or_default() };
            }
            Ok(())
        };
        let only_reads = match source {
            Source::Select(select) => {
                select.check_lock(self.in_transaction.get())?;
                select.check_search(C::Connection::ENGINE, false)?;
                select.check_vectors(C::Connection::ENGINE, C::Connection::HAS_VECTORS)?;
                true
            }
            Source::Sql { text, .. } => C::Connection::check_sql(text)?,
        };
        match only_reads {
            true => self.read(|| !handed.get(), run),
            false => self.write_with(false, &mut run),
        }
    }

    fn result_columns(&self, _: &str, _: &[Parameter<'_>]) -> Result<Option<Vec<ResultColumn>>> {
        Ok(Some(self.columns.take()).filter(|columns| !columns.is_empty()))
    }

    fn open(&self, source: &Source<'_>) -> Result<Cursor> {
        self.wants_columns.set(true);
        let opened = fallback::open(self, source);
        self.wants_columns.set(false);
        let (columns, mut cursor) = (self.columns.take(), opened?);
        if !columns.is_empty() {
            cursor.columns = columns.into();
        }
        Ok(cursor)
    }

    fn tables(&self) -> Result<Vec<TableSchema>> {
        self.read(|| true, C::Connection::tables)
    }

    fn views(&self) -> Result<Vec<TableSchema>> {
        self.read(|| true, C::Connection::views)
    }

    fn alter(&self, changes: &[SchemaChange]) -> Result<()> {
        C::Connection::check_changes(changes)?;
        let mut open = self.enter()?;
        let Some(transaction) = &mut *open else {
            drop(open);
            return C::Connection::alter_alone(self.pool, changes);
        };
        match transaction.connection().no_alter_inside() {
            Some(message) => Err(Error::new(ErrorKind::Unsupported, message)),
            None => transaction.run_steps(|connection| connection.alter(changes, true)),
        }
    }

    fn execute(&self, sql: &str, parameters: &[Parameter<'_>]) -> Result<u64> {
        C::Connection::check_sql(sql)?;
        self.write_with(false, |connection| connection.execute(sql, parameters))
    }
}

impl<C> Drop for ServerSession<'_, C>
where
    C: Connector,
    C::Connection: ServerOperations,
{
    fn drop(&mut self) {
        if let Some(transaction) = self.transaction.get_mut().take() {
            // Of a connection that is lost, the server rolls it back.
            let _ = transaction.end(false);
        }
    }
}
