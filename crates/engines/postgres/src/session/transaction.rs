//! The transaction of a session and its savepoints.

use crate::error::locate_at_commit;
use crate::protocol::message::Message;
use crate::session::state::SessionState;
use crate::session::undo::UndoPoint;
use crate::settings::Isolation;
use bobak_core::{Error, ErrorKind, Result, TransactionControl};

impl SessionState<'_> {
    /// Begins a transaction: the server learns of it with the first request.
    ///
    /// # Errors
    /// `Misuse` where one is open; those of connecting.
    pub fn begin(&mut self) -> Result<()> {
        if self.open {
            return Err(Error::new(ErrorKind::Misuse, "a transaction is already open"));
        }
        let text = match self.database.settings.isolation {
            Isolation::Serializable => "BEGIN ISOLATION LEVEL SERIALIZABLE",
            Isolation::RepeatableRead => "BEGIN ISOLATION LEVEL REPEATABLE READ",
            Isolation::ReadCommitted => "BEGIN ISOLATION LEVEL READ COMMITTED",
        };
        self.with(|state, connection| {
            connection.defer_utility(text);
            state.open = true;
            state.next_unused = Some(UndoPoint::Begin(text));
            Ok(())
        })
    }

    /// Makes the open transaction one that only reads, and whose locks are released at its end.
    ///
    /// # Errors
    /// Those of connecting.
    pub fn forbid_writes(&mut self) -> Result<()> {
        self.only_reads = true;
        self.with(|_, connection| {
            connection.defer_utility("SET TRANSACTION READ ONLY");
            Ok(())
        })
    }

    /// Commits or rolls back.
    ///
    /// # Errors
    /// `Misuse` if none is open; for a commit, the server's errors and `Unknown`.
    pub fn end(&mut self, commit: bool) -> Result<()> {
        if !self.open {
            return Err(Error::new(ErrorKind::Misuse, "no transaction is open"));
        }
        let failed = std::mem::take(&mut self.failed);
        self.next_unused = None;
        self.savepoints.clear();
        let drained = if failed { Ok(()) } else { self.drain_inside() };
        self.open = false;
        let altered = std::mem::take(&mut self.altered);
        let only_reads = std::mem::take(&mut self.only_reads);
        let Some(mut pooled) = self.pooled.take() else {
            return Ok(());
        };
        if only_reads && failed {
            // It may still hold locks.
            pooled.is_broken = true;
        }
        if altered {
            self.database.table_info().clear();
            pooled.forget_statements();
        }
        if failed || pooled.is_broken {
            if !commit {
                return Ok(());
            }
            let message = "the transaction was rolled back before its commit: begin it again";
            return Err(Error::new(self.reason, message));
        }
        if (!commit || pooled.status == b'I') && pooled.drop_deferred() {
            // No request has been sent.
            return drained;
        }
        let mut rolled_back = false;
        pooled.utility(if commit { "COMMIT" } else { "ROLLBACK" });
        if only_reads {
            pooled.utility("DO 'BEGIN PERFORM pg_advisory_unlock_all(); END'");
        }
        if commit {
            pooled.set_commit_pending();
        }
        pooled.sync();
        let sent = pooled.send(if commit { "committing" } else { "rolling back" });
        let done = sent.and_then(|()| {
            pooled.finish(|message| {
                if let Message::Done(tag) = message {
                    rolled_back = tag == b"ROLLBACK";
                }
                Ok(())
            })
        });
        match done {
            Ok(()) if commit && rolled_back => {
                Err(Error::new(ErrorKind::Engine, "the server rolled the transaction back"))
            }
            // A broken line has rolled back too.
            Err(error) if !commit && pooled.is_broken => {
                drop(error);
                Ok(())
            }
            Err(error) => {
                pooled.check_after_error();
                Err(locate_at_commit(error))
            }
            Ok(()) => drained,
        }
    }

    /// Reads the remaining rows of the transaction's cursors, which are about to be closed.
    ///
    /// # Errors
    /// Those of reading.
    pub fn drain_inside(&mut self) -> Result<()> {
        if !self.cursors.any_inside() {
            return Ok(());
        }
        let mut cursors = std::mem::take(&mut self.cursors);
        let drained = self.with(|state, connection| {
            cursors.drain_inside(connection, |connection, done| {
                state.settle(connection, UndoPoint::Nothing, done)
            })
        });
        self.cursors = cursors;
        drained
    }

    /// Sets, releases or rolls back to a savepoint.
    ///
    /// # Errors
    /// `Misuse` outside a transaction, and for an unknown savepoint; those of the connection.
    pub fn mark(&mut self, step: TransactionControl<'_>) -> Result<()> {
        if !self.open {
            return Err(Error::new(
                ErrorKind::Misuse,
                "a savepoint needs a transaction, and none is open",
            ));
        }
        let name = match step {
            TransactionControl::Savepoint(name)
            | TransactionControl::Release(name)
            | TransactionControl::RollbackTo(name) => name,
            _ => "",
        };
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if name.is_empty() || !name.chars().all(plain) {
            let message =
                format!("'{name}' is not a valid savepoint name: use letters, digits and _");
            return Err(Error::new(ErrorKind::Misuse, message));
        }
        if let TransactionControl::Savepoint(name) = step {
            let number = self.savepoints.next_number();
            self.defer(&format!("SAVEPOINT bobak_mark_{number}"))?;
            self.savepoints.set(name, number);
            self.next_unused = Some(UndoPoint::Mark(number));
            return Ok(());
        }
        let savepoint = self.savepoints.find(name)?;
        let number = savepoint.number;
        if let TransactionControl::Release(_) = step {
            self.defer(&format!("RELEASE bobak_mark_{number}"))?;
            self.savepoints.released(savepoint);
            return Ok(());
        }
        self.drain_inside()?;
        self.step(&format!("ROLLBACK TO bobak_mark_{number}"))?;
        self.savepoints.rolled_back_to(savepoint);
        self.next_unused = Some(UndoPoint::Mark(number));
        if self.altered {
            self.database.table_info().clear();
            if let Some(pooled) = &mut self.pooled {
                pooled.forget_statements();
            }
        }
        Ok(())
    }

    /// Sends a statement with the next request.
    fn defer(&mut self, sql: &str) -> Result<()> {
        self.with(|_, connection| {
            connection.defer(sql);
            Ok(())
        })
    }

    fn step(&mut self, sql: &str) -> Result<()> {
        self.with(|state, connection| {
            let done = connection.statement(sql, |_| {});
            if done.is_err() {
                state.give_up(connection);
            }
            done
        })
    }
}
