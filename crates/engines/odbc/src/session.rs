//! A session: takes a connection from the pool for each operation, and keeps one for the time of a transaction.

use crate::batch;
use crate::connection::{Connection, Pool, PooledConnection};
use crate::error::{OdbcPhase, ends_transaction};
use crate::product::ProductKind;
use crate::query;
use crate::schema;
use crate::writes::OdbcWrite;
use bobak_core::{
    Error, ErrorKind, OnError, Outcome, Parameter, Result, Row, SchemaChange, Session, Source,
    TableSchema, TransactionControl, Write, WriteBatch,
};
use bobak_engine_common::Savepoints;
use std::cell::{Cell, RefCell, RefMut};
use std::sync::Arc;

/// A session of an [`Odbc`](crate::Odbc).
pub(crate) struct OdbcSession<'e> {
    pool: &'e Arc<Pool>,
    /// Borrowed for as long as an operation runs: one from inside another finds it taken.
    transaction: RefCell<Option<OpenTransaction>>,
    in_transaction: Cell<bool>,
}

/// A transaction that was begun and has not ended.
struct OpenTransaction {
    pooled: PooledConnection,
    savepoints: Savepoints,
    /// Why the database has rolled it back, if it has.
    dead: Option<(ErrorKind, String)>,
}

/// The savepoint around what takes several statements.
const OWN: &str = "bobak statement";

impl OpenTransaction {
    fn begin(mut pooled: PooledConnection, is_callers: bool) -> Result<Self> {
        pooled.begin(is_callers)?;
        Ok(Self { pooled, savepoints: Savepoints::default(), dead: None })
    }

    fn check(&self) -> Result<()> {
        match &self.dead {
            None => Ok(()),
            Some((kind, message)) => {
                Err(Error::new(*kind, format!("the transaction has ended already: {message}")))
            }
        }
    }

    /// Runs something on the connection; notes the errors that end the transaction.
    fn run<R>(&mut self, run: impl FnOnce(&mut Connection) -> Result<R>) -> Result<R> {
        self.check()?;
        let done = run(&mut self.pooled);
        if let Err(error) = &done
            && (ends_transaction(error.kind()) || self.pooled.is_broken())
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
                self.rollback_to(OWN)?;
            }
            self.release(OWN)?;
        }
        done
    }

    fn end(mut self, commit: bool) -> Result<()> {
        let checked = self.check();
        if self.pooled.is_broken() {
            return checked;
        }
        let ended = self.pooled.end(commit && checked.is_ok());
        checked.and(if commit { ended } else { Ok(()) })
    }

    fn mark(&mut self, name: &str) -> Result<()> {
        if self.pooled.product.kind == ProductKind::Other {
            let message = "savepoints, in a database that Bobak does not know";
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        let number = self.savepoints.next_number();
        self.run(|connection| connection.command(&format!("SAVEPOINT bobak_{number}")))?;
        self.savepoints.set(name, number);
        Ok(())
    }

    fn release(&mut self, name: &str) -> Result<()> {
        let savepoint = self.savepoints.find(name)?;
        self.run(|connection| {
            connection.command(&format!("RELEASE SAVEPOINT bobak_{}", savepoint.number))
        })?;
        self.savepoints.released(savepoint);
        Ok(())
    }

    fn rollback_to(&mut self, name: &str) -> Result<()> {
        let savepoint = self.savepoints.find(name)?;
        self.run(|connection| {
            connection.command(&format!("ROLLBACK TO SAVEPOINT bobak_{}", savepoint.number))
        })?;
        self.savepoints.rolled_back_to(savepoint);
        Ok(())
    }
}

impl<'e> OdbcSession<'e> {
    pub(crate) fn new(pool: &'e Arc<Pool>) -> Self {
        Self { pool, transaction: RefCell::new(None), in_transaction: Cell::new(false) }
    }

    fn enter(&self) -> Result<RefMut<'_, Option<OpenTransaction>>> {
        self.transaction
            .try_borrow_mut()
            .map_err(|_| misuse("the session is in a row callback and accepts no other call"))
    }

    /// Runs something of one statement. What only reads is repeated on a new connection if that of the pool was lost while
    /// it was idle, and `again` says so.
    fn run<R>(
        &self,
        phase: OdbcPhase,
        again: impl Fn() -> bool,
        mut run: impl FnMut(&mut Connection) -> Result<R>,
    ) -> Result<R> {
        // Borrowed until the end: a reader must not call the session.
        let mut open = self.enter()?;
        if let Some(transaction) = &mut *open {
            return transaction.run(run);
        }
        let mut pooled = self.pool.acquire_owned()?;
        pooled.phase = phase;
        let done = run(&mut pooled);
        if done.is_err() && pooled.is_broken() {
            self.pool.close_idle(|_| true);
            if pooled.is_reused() && phase == OdbcPhase::Read && again() {
                pooled.reconnect()?;
                pooled.phase = phase;
                return run(&mut pooled);
            }
        }
        done
    }

    /// Runs something of several statements: all of it, or nothing.
    fn run_steps<R>(&self, run: impl FnOnce(&mut Connection) -> Result<R>) -> Result<R> {
        let mut open = self.enter()?;
        if let Some(transaction) = &mut *open {
            return transaction.run_steps(run);
        }
        let mut transaction = self.begin()?;
        let done = transaction.run(run);
        let ended = transaction.end(done.is_ok());
        done.and_then(|done| ended.map(|()| done))
    }

    fn begin(&self) -> Result<OpenTransaction> {
        OpenTransaction::begin(self.pool.acquire_owned()?, false)
    }

    /// Sends a batch to a database that may have no savepoints, in arrays and a transaction of its own; `false` if it must
    /// be sent row by row, and nothing was done.
    fn sent_at_once(
        &self,
        batch: &WriteBatch,
        each: &mut dyn FnMut(Result<Outcome>),
    ) -> Result<bool> {
        let mut own = self.begin()?;
        let sent = own.run(|connection| batch::send_at_once(connection, batch));
        let ended = own.end(matches!(sent, Ok(Some(_))));
        let Some(outcomes) = sent? else { return Ok(false) };
        ended?;
        outcomes.into_iter().for_each(|outcome| each(Ok(outcome)));
        Ok(true)
    }
}

impl Session for OdbcSession<'_> {
    fn control(&self, step: TransactionControl<'_>) -> Result<()> {
        let mut open = self.enter()?;
        if step == TransactionControl::Begin {
            if open.is_some() {
                return Err(misuse("a transaction is already open"));
            }
            *open = Some(OpenTransaction::begin(self.pool.acquire_owned()?, true)?);
            self.in_transaction.set(true);
            return Ok(());
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

    fn write(&self, write: &Write<'_>) -> Result<Outcome> {
        write.table.check_written(write.verb)?;
        let Write { table, verb, fields, values } = *write;
        let row = OdbcWrite { table, verb, fields, row: &values };
        if row.has_steps() {
            return self.run_steps(|connection| row.run(connection));
        }
        self.run(OdbcPhase::Write, || false, |connection| row.run(connection))
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
            return transaction.batch(batch, on_error, each);
        }
        let mut own = self.begin()?;
        if own.pooled.product.kind == ProductKind::Other
            && own.pooled.has_arrays
            && batch::is_all_inserts(batch)
        {
            own.end(false)?;
            if self.sent_at_once(batch, each)? {
                return Ok(());
            }
            own = self.begin()?;
        }
        let done = own.run(|connection| batch::send(connection, batch, on_error, each));
        let ended = own.end(done.is_ok());
        done.and(ended)
    }

    fn query(
        &self,
        source: &Source<'_>,
        row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
    ) -> Result<()> {
        if let Source::Select(select) = source {
            select.check_lock(self.in_transaction.get())?;
            select.check_search("odbc", false)?;
            select.check_vectors("odbc", false)?;
        }
        let handed = Cell::new(false);
        self.run(
            OdbcPhase::Read,
            || !handed.get(),
            |connection| {
                query::run(connection, source, &mut |lent| {
                    handed.set(true);
                    row(lent)
                })
            },
        )
    }

    fn tables(&self) -> Result<Vec<TableSchema>> {
        self.run(OdbcPhase::Read, || true, schema::tables)
    }

    fn views(&self) -> Result<Vec<TableSchema>> {
        self.run(OdbcPhase::Read, || true, schema::views)
    }

    fn alter(&self, changes: &[SchemaChange]) -> Result<()> {
        schema::reject_unsupported(changes)?;
        let mut open = self.enter()?;
        let product = match &*open {
            Some(transaction) => Arc::clone(&transaction.pooled.product),
            None => Arc::clone(&self.pool.acquire_owned()?.product),
        };
        if product.kind == ProductKind::MySql {
            if open.is_some() {
                let message = "this server commits at each schema change: change the schema \
                               outside a transaction";
                return Err(Error::new(ErrorKind::Unsupported, message));
            }
            drop(open);
            return self.run(
                OdbcPhase::Write,
                || false,
                |connection| schema::alter(connection, changes),
            );
        }
        if let Some(transaction) = &mut *open {
            return transaction.run_steps(|connection| schema::alter(connection, changes));
        }
        drop(open);
        self.run_steps(|connection| schema::alter(connection, changes))
    }

    fn execute(&self, sql: &str, parameters: &[Parameter<'_>]) -> Result<u64> {
        query::reject_control(sql)?;
        self.run(
            OdbcPhase::Write,
            || false,
            |connection| query::execute(connection, sql, parameters),
        )
    }
}

impl OpenTransaction {
    /// Sends a batch: all of it, or nothing.
    fn batch(
        &mut self,
        batch: &WriteBatch,
        on_error: OnError,
        each: &mut dyn FnMut(Result<Outcome>),
    ) -> Result<()> {
        if self.pooled.product.kind != ProductKind::Other {
            return self.run_steps(|connection| batch::send(connection, batch, on_error, each));
        }
        let done = self.run(|connection| batch::send(connection, batch, on_error, each));
        if let Err(error) = &done {
            // Without savepoints, only all of the transaction can be undone.
            self.dead.get_or_insert_with(|| (error.kind(), error.message().to_owned()));
        }
        done
    }
}

impl Drop for OdbcSession<'_> {
    fn drop(&mut self) {
        if let Some(transaction) = self.transaction.get_mut().take() {
            // Of a connection that is lost, the database rolls it back.
            let _ = transaction.end(false);
        }
    }
}

#[cold]
fn misuse(message: &str) -> Error {
    Error::new(ErrorKind::Misuse, message)
}
