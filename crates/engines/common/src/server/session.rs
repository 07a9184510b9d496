//! Sessions of database servers: a session takes a connection from the pool for each operation, and keeps one for the time
//! of a transaction.

use super::transaction::not_open;
use crate::in_row_callback;
use crate::{
    Connector, Pool, RowSteps, ServerOperations, ServerTransaction, ServerWrite,
    TransactionConnection,
};
use bobak_core::engine::fallback;
use bobak_core::{
    Cursor, Error, ErrorKind, OnError, Outcome, Parameter, Result, ResultColumn, Row, SchemaChange,
    SchemaDetails, Session, Source, TableSchema, TransactionControl, Write, WriteBatch,
};
use std::cell::{Cell, RefCell, RefMut};
use std::sync::Arc;
use std::time::Instant;

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
        self.write_with(has_steps, |connection| connection.write_row(&ServerWrite::of(write)))
    }

    fn batch(
        &self,
        batch: &WriteBatch,
        on_error: OnError,
        each: &mut dyn FnMut(Result<Outcome>),
    ) -> Result<()> {
        if batch.check_writable().is_err() {
            let send = |rows: &WriteBatch, each: &mut dyn FnMut(Result<Outcome>)| {
                self.batch(rows, on_error, each)
            };
            return batch.send_writable(on_error, each, send);
        }
        if batch.is_empty() {
            return Ok(());
        }
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

    fn schema_details(&self) -> Result<SchemaDetails> {
        self.read(|| true, C::Connection::schema_details)
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
