//! An open transaction: its connection, its savepoints, and whether the server has rolled it back.

use super::MySqlSession;
use crate::batch;
use crate::connection::Connection;
use crate::connection::pool::PooledConnection;
use crate::error::{Phase, ends_transaction};
use bobak_core::{Error, ErrorKind, OnError, Outcome, Result, WriteBatch};
use bobak_engine_common::Savepoints;

/// A transaction that was begun and has not ended.
pub(crate) struct OpenTransaction {
    pooled: PooledConnection,
    savepoints: Savepoints,
    /// Why the server has rolled it back, if it has.
    dead: Option<(ErrorKind, String)>,
}

impl OpenTransaction {
    /// Begins one.
    pub(crate) fn begin(mut pooled: PooledConnection) -> Result<Self, (Error, PooledConnection)> {
        pooled.phase = Phase::Read;
        match pooled.command("START TRANSACTION") {
            Ok(()) => {
                pooled.phase = Phase::Inside;
                Ok(Self { pooled, savepoints: Savepoints::default(), dead: None })
            }
            Err(error) => Err((error, pooled)),
        }
    }

    /// Runs something on the connection.
    ///
    /// # Errors
    /// Those of `run`; the error that ended the transaction, again, where one did.
    pub(crate) fn run<R>(&mut self, run: impl FnOnce(&mut Connection) -> Result<R>) -> Result<R> {
        self.check()?;
        let done = run(&mut self.pooled);
        if let Err(error) = &done {
            self.note(error);
        }
        done
    }

    /// Must be called with every error: some end the transaction.
    pub(crate) fn note(&mut self, error: &Error) {
        if ends_transaction(error.kind()) || self.pooled.is_broken() {
            self.dead = Some((error.kind(), error.message().to_owned()));
        }
    }

    fn check(&self) -> Result<()> {
        match &self.dead {
            None => Ok(()),
            Some((kind, message)) => {
                Err(Error::new(*kind, format!("the transaction has ended already: {message}")))
            }
        }
    }

    /// Whether nothing can be done in it any more.
    pub(crate) const fn is_dead(&self) -> bool {
        self.dead.is_some()
    }

    /// The connection, for a cursor; it comes back by [`put`](Self::put).
    pub(crate) fn lend(&mut self) -> Result<Box<Connection>> {
        self.check()?;
        let message = "the transaction's connection is in use";
        self.pooled.detach().ok_or_else(|| Error::new(ErrorKind::Misuse, message))
    }

    /// Takes the connection back.
    pub(crate) fn put(&mut self, connection: Box<Connection>) {
        if connection.is_broken() && self.dead.is_none() {
            let message = "the connection to the server broke, and the transaction was rolled back";
            self.dead = Some((ErrorKind::Unreachable, message.to_owned()));
        }
        self.pooled.attach(connection);
    }

    /// Commits. After an error the transaction is rolled back, or its outcome is unknown.
    pub(crate) fn commit(mut self) -> Result<()> {
        if let Err(error) = self.check() {
            self.undo();
            return Err(error);
        }
        self.pooled.phase = Phase::Commit;
        let done = self.pooled.command("COMMIT");
        if done.is_err() {
            self.undo();
        }
        done
    }

    /// Undoes all of it. A server that can't be asked does it by itself.
    pub(crate) fn rollback(mut self) {
        self.undo();
    }

    fn undo(&mut self) {
        if !self.pooled.is_broken() {
            self.pooled.phase = Phase::Read;
            // Where it fails the connection is broken, and the connection is not used again.
            let _ = self.pooled.command("ROLLBACK");
        }
    }

    /// Marks a place.
    pub(crate) fn mark(&mut self, name: &str) -> Result<()> {
        let number = self.savepoints.next_number();
        self.run(|connection| connection.command(&format!("SAVEPOINT bobak_{number}")))?;
        self.savepoints.set(name, number);
        Ok(())
    }

    /// Forgets a mark and those after it.
    pub(crate) fn release(&mut self, name: &str) -> Result<()> {
        let savepoint = self.savepoints.find(name)?;
        self.run(|connection| {
            connection.command(&format!("RELEASE SAVEPOINT bobak_{}", savepoint.number))
        })?;
        self.savepoints.released(savepoint);
        Ok(())
    }

    /// Undoes what was done since a mark, which stays.
    pub(crate) fn rollback_to(&mut self, name: &str) -> Result<()> {
        let savepoint = self.savepoints.find(name)?;
        self.run(|connection| {
            connection.command(&format!("ROLLBACK TO SAVEPOINT bobak_{}", savepoint.number))
        })?;
        self.savepoints.rolled_back_to(savepoint);
        Ok(())
    }
}

impl MySqlSession<'_> {
    /// Runs a batch in the open transaction; an error undoes all of it.
    pub(super) fn batch_inside(
        &self,
        transaction: &mut OpenTransaction,
        batch: &WriteBatch,
        on_error: OnError,
        each: &mut dyn FnMut(Result<Outcome>),
    ) -> Result<()> {
        const SAVEPOINT: &str = "bobak batch";
        transaction.mark(SAVEPOINT)?;
        let done = transaction
            .run(|connection| batch::send(connection, self.engine, batch, on_error, each));
        if transaction.is_dead() {
            return done;
        }
        if done.is_err() {
            transaction.rollback_to(SAVEPOINT)?;
        }
        transaction.release(SAVEPOINT)?;
        done
    }
}
