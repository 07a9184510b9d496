//! Sessions.

use crate::alter::complete_abandoned;
use crate::batch;
use crate::connection::Connection;
use crate::mode::Mode;
use crate::pool::{Pool, PooledConnection};
use crate::query;
use crate::sql_text;
use crate::writes::FirebirdWrite;
use bobak_core::engine::fallback;
use bobak_core::{
    Cursor, Error, ErrorKind, OnError, Outcome, Parameter, Result, Row, SchemaChange, Session,
    Source, TableSchema, TransactionControl, Write, WriteBatch,
};
use bobak_engine_common::{Savepoints, reject_other_changes};
use std::cell::{Cell, RefCell, RefMut};
use std::sync::Arc;
use std::time::Instant;

/// A session of a [`Firebird`](crate::Firebird).
pub(crate) struct FirebirdSession<'e> {
    pool: &'e Arc<Pool>,
    /// Borrowed for as long as an operation runs: one from inside another finds it taken.
    transaction: RefCell<Option<OpenTransaction>>,
    in_transaction: Cell<bool>,
}

/// A transaction that was begun and has not ended.
struct OpenTransaction {
    pooled: PooledConnection,
    savepoints: Savepoints,
    /// Why it has ended, if it has.
    dead: Option<(ErrorKind, String)>,
}

/// The savepoint around what takes several statements.
const OWN: &str = "bobak statement";

impl OpenTransaction {
    /// Runs something on the connection; notes the errors that end the transaction.
    fn run<R>(&mut self, run: impl FnOnce(&mut Connection) -> Result<R>) -> Result<R> {
        if let Some((kind, message)) = &self.dead {
            let message = format!("the transaction has ended already: {message}");
            return Err(Error::new(*kind, message));
        }
        let done = run(&mut self.pooled);
        if let Err(error) = &done
            && self.pooled.is_broken()
        {
            self.dead = Some((error.kind(), error.message().to_owned()));
        }
        done
    }

    /// Runs something of several statements: all of it, or nothing.
    fn run_steps<R>(&mut self, run: impl FnOnce(&mut Connection) -> Result<R>) -> Result<R> {
        self.mark(OWN)?;
        let done = self.run(run);
        if self.dead.is_none() {
            if done.is_err() {
                bobak_core::Interrupt::hold_off(|| self.rollback_to(OWN))?;
            }
            bobak_core::Interrupt::hold_off(|| self.release(OWN))?;
        }
        done
    }

    fn end(mut self, commit: bool) -> Result<()> {
        let alive = self.run(|_| Ok(()));
        if self.pooled.is_broken() {
            return alive;
        }
        let ended = self.pooled.end(commit && alive.is_ok(), None);
        alive.and(if commit { ended } else { Ok(()) })
    }

    fn mark(&mut self, name: &str) -> Result<()> {
        let number = self.savepoints.next_number();
        self.run(|connection| connection.command(None, &format!("SAVEPOINT BOBAK_{number}")))?;
        self.savepoints.set(name, number);
        Ok(())
    }

    fn release(&mut self, name: &str) -> Result<()> {
        let savepoint = self.savepoints.find(name)?;
        let text = format!("RELEASE SAVEPOINT BOBAK_{}", savepoint.number);
        self.run(|connection| connection.command(None, &text))?;
        self.savepoints.released(savepoint);
        Ok(())
    }

    fn rollback_to(&mut self, name: &str) -> Result<()> {
        let savepoint = self.savepoints.find(name)?;
        let text = format!("ROLLBACK TO SAVEPOINT BOBAK_{}", savepoint.number);
        self.run(|connection| connection.command(None, &text))?;
        self.savepoints.rolled_back_to(savepoint);
        Ok(())
    }
}

impl<'e> FirebirdSession<'e> {
    pub(crate) fn new(pool: &'e Arc<Pool>) -> Self {
        Self { pool, transaction: RefCell::new(None), in_transaction: Cell::new(false) }
    }

    fn enter(&self) -> Result<RefMut<'_, Option<OpenTransaction>>> {
        self.transaction
            .try_borrow_mut()
            .map_err(|_| misuse("the session is in a row callback and accepts no other call"))
    }

    /// Begins a transaction, on a connection that holds no tables if `is_free`.
    fn begin(&self, open: &mut Option<OpenTransaction>, is_free: bool) -> Result<()> {
        if open.is_some() {
            return Err(misuse("a transaction is already open"));
        }
        let mut pooled = self.pool.acquire_owned()?;
        if is_free {
            pooled.forget_statements()?;
        }
        pooled.begin(Mode::Snapshot)?;
        *open = Some(OpenTransaction { pooled, savepoints: Savepoints::default(), dead: None });
        self.in_transaction.set(true);
        Ok(())
    }

    /// Runs something that only reads. It is repeated on a new connection if that of the pool was lost while it was idle,
    /// and `again` says so.
    fn read<R>(
        &self,
        again: impl Fn() -> bool,
        mut run: impl FnMut(&mut Connection) -> Result<R>,
    ) -> Result<R> {
        // Borrowed until the end: a reader must not call the session.
        let mut open = self.enter()?;
        if let Some(transaction) = &mut *open {
            return transaction.run(run);
        }
        let mut pooled = self.pool.acquire_owned()?;
        let done = pooled.in_mode(Mode::Read, &mut run);
        if done.is_err() && pooled.is_broken() {
            self.pool.close_idle(|_| true);
            if pooled.is_reused() && again() {
                pooled.reconnect()?;
                return pooled.in_mode(Mode::Read, run);
            }
        }
        done
    }

    /// Runs something that writes: alone in a transaction of its own, which is repeated if another transaction has changed the
    /// row between the reading and the writing of one statement.
    fn write_with<R>(
        &self,
        has_steps: bool,
        mut run: impl FnMut(&mut Connection) -> Result<R>,
    ) -> Result<R> {
        let mut open = self.enter()?;
        if let Some(transaction) = &mut *open {
            return match has_steps {
                true => transaction.run_steps(run),
                false => transaction.run(run),
            };
        }
        let mut pooled = self.pool.acquire_owned()?;
        let end = Instant::now() + pooled.busy_timeout;
        loop {
            match pooled.in_mode(Mode::Committed, &mut run) {
                Err(error) if error.kind() == ErrorKind::Serialization && Instant::now() < end => {}
                Err(error) if error.kind() == ErrorKind::Serialization => {
                    return Err(Error::new(ErrorKind::Busy, error.message().to_owned()));
                }
                other => return other,
            }
        }
    }
}

impl Session for FirebirdSession<'_> {
    fn control(&self, step: TransactionControl<'_>) -> Result<()> {
        let mut open = self.enter()?;
        if step == TransactionControl::Begin {
            return self.begin(&mut open, false);
        }
        let Some(transaction) = &mut *open else {
            return Err(misuse("no transaction is open"));
        };
        match step {
            TransactionControl::Savepoint(name) => transaction.mark(name),
            TransactionControl::Release(name) => transaction.release(name),
            TransactionControl::RollbackTo(name) => transaction.rollback_to(name),
            TransactionControl::Begin => Ok(()),
            TransactionControl::Commit | TransactionControl::Rollback => {
                self.in_transaction.set(false);
                let commit = step == TransactionControl::Commit;
                let ended = open.take().map_or(Ok(()), |transaction| transaction.end(commit));
                if commit { ended } else { Ok(()) }
            }
        }
    }

    fn in_transaction(&self) -> bool {
        self.in_transaction.get()
    }

    /// Migrations change tables on another connection while such a transaction is open.
    fn begin_replay(&self, tables: &[&str]) -> Result<()> {
        fallback::reject_foreign_keys(&self.tables()?, tables)?;
        self.begin(&mut *self.enter()?, true)
    }

    fn write(&self, write: &Write<'_>) -> Result<Outcome> {
        write.table.check_written(write.verb)?;
        let Write { table, verb, fields, values } = *write;
        let row = FirebirdWrite { table, verb, fields, row: &values };
        self.write_with(row.has_steps(), |connection| row.run(connection))
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
        if let Some(transaction) = &mut *open {
            return transaction
                .run_steps(|connection| batch::send(connection, batch, on_error, each));
        }
        let mut pooled = self.pool.acquire_owned()?;
        pooled.in_mode(Mode::Committed, |connection| batch::send(connection, batch, on_error, each))
    }

    fn query(
        &self,
        source: &Source<'_>,
        row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
    ) -> Result<()> {
        if fallback::nearest(self, source, || self.enter(), row)? {
            return Ok(());
        }
        let handed = Cell::new(false);
        let mut hand = |found: &dyn Row| {
            handed.set(true);
            row(found)
        };
        match source {
            Source::Select(select) => {
                select.check_lock(self.in_transaction.get())?;
                select.check_search("firebird", false)?;
            }
            Source::Sql { text, .. } => {
                sql_text::reject_control(text)?;
                if !bobak_sql::only_reads(text) {
                    return self
                        .write_with(false, |connection| query::run(connection, source, &mut hand));
                }
            }
        }
        self.read(|| !handed.get(), |connection| query::run(connection, source, &mut hand))
    }

    fn open(&self, source: &Source<'_>) -> Result<Cursor> {
        let mut cursor = bobak_core::engine::fallback::open(self, source)?;
        if let Source::Sql { text, parameters } = source {
            let (text, _) = sql_text::sql_text(text, parameters)?;
            cursor.columns =
                self.read(|| true, |connection| connection.result_columns(&text))?.into();
        }
        Ok(cursor)
    }

    fn tables(&self) -> Result<Vec<TableSchema>> {
        self.read(|| true, crate::catalog::tables)
    }

    fn views(&self) -> Result<Vec<TableSchema>> {
        self.read(|| true, crate::catalog::views)
    }

    fn alter(&self, changes: &[SchemaChange]) -> Result<()> {
        reject_other_changes(changes, "Firebird")?;
        let open = self.enter()?;
        if open.is_some() {
            let message = "Firebird makes changes of the schema known when it commits: change the \
                           schema outside a transaction";
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        drop(open);
        // The statements of connections that are not in use hold tables.
        self.pool.close_idle(|_| true);
        let mut pooled = self.pool.acquire_owned()?;
        let done = crate::alter::run(&mut pooled, changes);
        self.pool.connector().note_schema_change();
        if pooled.is_broken() {
            drop(pooled);
            // Of a change that has not ended; the error that it is for matters more than its own.
            let _ = bobak_core::Interrupt::hold_off(|| {
                self.pool.acquire_owned().map(|mut other| complete_abandoned(&mut other))
            });
        }
        done
    }

    fn execute(&self, sql: &str, parameters: &[Parameter<'_>]) -> Result<u64> {
        sql_text::reject_control(sql)?;
        self.write_with(false, |connection| sql_text::execute(connection, sql, parameters))
    }
}

impl Drop for FirebirdSession<'_> {
    fn drop(&mut self) {
        if let Some(transaction) = self.transaction.get_mut().take() {
            // Of a connection that is lost, the server rolls it back.
            let _ = transaction.end(false);
        }
    }
}

#[cold]
fn misuse(message: &str) -> Error {
    Error::new(ErrorKind::Misuse, message)
}
