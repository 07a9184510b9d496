//! An open transaction on a server: its connection, its savepoints, and whether the server has ended it.

use crate::{Connector, Pool, PooledConnection, Savepoints};
use bobak_core::{Error, ErrorKind, Interrupt, Result, TransactionControl};
use std::sync::Arc;

/// What is done with a savepoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SavepointStep {
    /// It is set.
    Set,
    /// It and those after it are forgotten. Some servers do that with the transaction only.
    Release,
    /// What was done since is undone; it stays.
    RollBackTo,
}

impl SavepointStep {
    /// The statement of standard SQL, with a savepoint's name.
    #[must_use]
    pub fn text(self, name: &str) -> String {
        let verb = match self {
            Self::Set => "SAVEPOINT",
            Self::Release => "RELEASE SAVEPOINT",
            Self::RollBackTo => "ROLLBACK TO SAVEPOINT",
        };
        format!("{verb} {name}")
    }
}

/// A connection as a [`ServerTransaction`] uses it.
pub trait TransactionConnection {
    /// Whether the connection is lost, so that nothing can be sent on it.
    fn is_broken(&self) -> bool;

    /// Whether the server has ended the transaction with this error.
    fn has_ended(&self, _: &Error) -> bool {
        self.is_broken()
    }

    /// Commits or rolls back. After an error of a commit, the transaction is rolled back or the connection is broken.
    ///
    /// # Errors
    /// Those of the server; `Unknown` if the connection broke in a commit.
    fn end(&mut self, commit: bool) -> Result<()>;

    /// Does something with the savepoint of a name, of letters, digits and `_`.
    ///
    /// # Errors
    /// Those of the server.
    fn savepoint(&mut self, step: SavepointStep, name: &str) -> Result<()>;
}

/// A transaction that was begun and has not ended.
pub struct ServerTransaction<C: Connector> {
    pooled: PooledConnection<Arc<Pool<C>>, C>,
    savepoints: Savepoints,
    /// Why the server has ended it, if it has.
    dead: Option<(ErrorKind, String)>,
}

/// The savepoint around what takes several statements.
const OWN: &str = "bobak statement";

impl<C> ServerTransaction<C>
where
    C: Connector,
    C::Connection: TransactionConnection,
{
    /// One that was begun on this connection.
    #[must_use]
    pub fn begun(pooled: PooledConnection<Arc<Pool<C>>, C>) -> Self {
        Self { pooled, savepoints: Savepoints::default(), dead: None }
    }

    /// The connection, which nothing may be sent on.
    #[must_use]
    pub fn connection(&self) -> &C::Connection {
        &self.pooled
    }

    fn check(&self) -> Result<()> {
        match &self.dead {
            None => Ok(()),
            Some((kind, message)) => {
                Err(Error::new(*kind, format!("the transaction has ended already: {message}")))
            }
        }
    }

    /// Runs something on the connection.
    ///
    /// # Errors
    /// Those of `run`; the error that ended the transaction, again.
    pub fn run<R>(&mut self, run: impl FnOnce(&mut C::Connection) -> Result<R>) -> Result<R> {
        self.check()?;
        let done = run(&mut self.pooled);
        if let Err(error) = &done {
            self.note(error);
        }
        done
    }

    /// Notes an error of the connection that [`lend`](Self::lend) gave: it may have ended the transaction.
    pub fn note(&mut self, error: &Error) {
        if self.pooled.has_ended(error) {
            self.dead = Some((error.kind(), error.message().to_owned()));
        }
    }

    /// Runs something of several statements: all of it, or nothing.
    ///
    /// # Errors
    /// As [`run`](Self::run); those of a savepoint.
    pub fn run_steps<R>(&mut self, run: impl FnOnce(&mut C::Connection) -> Result<R>) -> Result<R> {
        self.savepoint(SavepointStep::Set, OWN)?;
        let done = self.run(run);
        if self.dead.is_none() {
            Interrupt::hold_off(|| {
                if done.is_err() {
                    self.savepoint(SavepointStep::RollBackTo, OWN)?;
                }
                self.savepoint(SavepointStep::Release, OWN)
            })?;
        }
        done
    }

    /// Runs something of several statements on a server without savepoints: an error ends the transaction.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn run_or_end<R>(
        &mut self,
        run: impl FnOnce(&mut C::Connection) -> Result<R>,
    ) -> Result<R> {
        let done = self.run(run);
        if let Err(error) = &done {
            self.dead.get_or_insert_with(|| (error.kind(), error.message().to_owned()));
        }
        done
    }

    fn savepoint(&mut self, step: SavepointStep, name: &str) -> Result<()> {
        let of = |number: u64| format!("bobak_{number}");
        if step == SavepointStep::Set {
            let number = self.savepoints.next_number();
            self.run(|connection| connection.savepoint(step, &of(number)))?;
            self.savepoints.set(name, number);
            return Ok(());
        }
        let savepoint = self.savepoints.find(name)?;
        self.run(|connection| connection.savepoint(step, &of(savepoint.number)))?;
        match step {
            SavepointStep::RollBackTo => self.savepoints.rolled_back_to(savepoint),
            _ => self.savepoints.released(savepoint),
        }
        Ok(())
    }

    /// Sets, releases or rolls back to a savepoint; `false` for a step that ends the transaction, which the caller must end.
    ///
    /// # Errors
    /// `Misuse` for a step that begins one, and for a savepoint that there is not; those of the server.
    pub fn control(&mut self, step: TransactionControl<'_>) -> Result<bool> {
        let (step, name) = match step {
            TransactionControl::Begin => {
                return Err(Error::new(ErrorKind::Misuse, "a transaction is already open"));
            }
            TransactionControl::Commit | TransactionControl::Rollback => return Ok(false),
            TransactionControl::Savepoint(name) => (SavepointStep::Set, name),
            TransactionControl::Release(name) => (SavepointStep::Release, name),
            TransactionControl::RollbackTo(name) => (SavepointStep::RollBackTo, name),
        };
        self.savepoint(step, name).map(|()| true)
    }

    /// Ends it. A server that cannot be asked rolls it back by itself.
    ///
    /// # Errors
    /// Of a commit: those of the server, and the error that ended the transaction before.
    pub fn end(mut self, commit: bool) -> Result<()> {
        let checked = self.check();
        let ended = match self.pooled.is_broken() {
            true => Err(broken()),
            false => self.pooled.end(commit && checked.is_ok()),
        };
        if commit { checked.and(ended) } else { Ok(()) }
    }

    /// The connection, for a cursor; it comes back by [`put`](Self::put).
    ///
    /// # Errors
    /// As [`run`](Self::run); `Misuse` if another cursor has it.
    pub fn lend(&mut self) -> Result<Box<C::Connection>> {
        self.check()?;
        let message = "the transaction's connection is in use";
        self.pooled.detach().ok_or_else(|| Error::new(ErrorKind::Misuse, message))
    }

    /// Takes the connection back.
    pub fn put(&mut self, connection: Box<C::Connection>) {
        if connection.is_broken() && self.dead.is_none() {
            let error = broken();
            self.dead = Some((error.kind(), error.message().to_owned()));
        }
        self.pooled.attach(connection);
    }
}

#[cold]
fn broken() -> Error {
    let message = "the connection to the server broke, and the transaction was rolled back";
    Error::new(ErrorKind::Unreachable, message)
}

/// The error for what needs a transaction.
#[cold]
#[must_use]
pub fn not_open() -> Error {
    Error::new(ErrorKind::Misuse, "no transaction is open")
}
