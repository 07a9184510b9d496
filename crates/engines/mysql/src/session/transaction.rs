//! The transaction of a session.

use crate::connection::Connection;
use crate::connection::pool::PoolConnector;
use bobak_core::{Error, Result};
use bobak_engine_common::{
    SavepointStep, ServerPhase, ServerTransaction, TransactionConnection, ends_transaction,
};

pub(crate) type OpenTransaction = ServerTransaction<PoolConnector>;

impl Connection {
    /// Begins a transaction.
    pub(crate) fn begin(&mut self) -> Result<()> {
        self.phase = ServerPhase::Read;
        self.command("START TRANSACTION")?;
        self.phase = ServerPhase::Inside;
        Ok(())
    }

    /// Makes the transaction, in which nothing was done, one that only reads, on a connection that ends with it.
    pub(crate) fn forbid_writes(&mut self) -> Result<()> {
        self.session_changed = true;
        self.undo();
        self.command("START TRANSACTION READ ONLY")?;
        self.phase = ServerPhase::Inside;
        Ok(())
    }

    /// Undoes the transaction. A server that can't be asked does it by itself.
    fn undo(&mut self) {
        if !self.broken {
            self.phase = ServerPhase::Read;
            // Where it fails the connection is broken, and the connection is not used again.
            let _ = self.command("ROLLBACK");
        }
    }
}

impl TransactionConnection for Connection {
    fn is_broken(&self) -> bool {
        self.broken
    }

    fn has_ended(&self, error: &Error) -> bool {
        ends_transaction(error.kind()) || self.broken
    }

    fn end(&mut self, commit: bool) -> Result<()> {
        let mut done = Ok(());
        if commit {
            self.phase = ServerPhase::Commit;
            done = self.command("COMMIT");
        }
        if !commit || done.is_err() {
            self.undo();
        }
        done
    }

    fn savepoint(&mut self, step: SavepointStep, name: &str) -> Result<()> {
        self.command(&step.text(name))
    }
}
