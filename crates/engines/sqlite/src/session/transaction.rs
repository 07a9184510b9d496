//! The steps of a session's transaction.

use super::foreign_key_error::of_commit;
use super::session_connection::{AccessMode, lost};
use super::{SessionState, SqliteSession, in_use};
use crate::connection::is_no_transaction;
use crate::error::{misuse, translate};
use crate::pool::PooledConnection;
use bobak_core::{
    Error, ErrorKind, Interrupt, Result, Session, Source, TransactionControl, ValueRef,
};

impl<'e> SqliteSession<'e> {
    pub(super) fn begin_on(
        &self,
        pooled: impl FnOnce() -> Result<PooledConnection<'e>>,
        begin: &[&'static str],
    ) -> Result<()> {
        let mut using = self.lend()?;
        match *using.state {
            SessionState::Idle => {}
            SessionState::Open(_) => return Err(misuse("a transaction is already open")),
            SessionState::Lost => return Err(lost()),
        }
        let mut pooled = pooled()?;
        pooled.buffer_cursors();
        if let Some(extension) = self.engine.extension() {
            pooled.begin_extension(extension)?;
        }
        begin.iter().try_for_each(|sql| pooled.run(sql))?;
        *using.state = SessionState::Open(pooled);
        self.in_transaction.set(true);
        self.writes.set(begin.contains(&"BEGIN IMMEDIATE"));
        Ok(())
    }

    /// Begins a transaction without the tables' triggers: see [`Session::begin_replay`].
    pub(super) fn begin_replaying(&self, tables: &[&str]) -> Result<()> {
        let pooled = || {
            let mut pooled = self.engine.write()?;
            pooled.begin_replay();
            Ok(pooled)
        };
        self.begin_on(pooled, &["BEGIN IMMEDIATE"])?;
        let mut using = self.connection(AccessMode::Write)?;
        let dropped = using.get().drop_triggers(tables);
        drop(using);
        if dropped.is_err() {
            self.control(TransactionControl::Rollback)?;
        }
        dropped
    }

    /// Begins a transaction that only reads, if it blocks no writer.
    pub(super) fn begin_read_only(&self) -> Result<()> {
        if self.engine.is_single() || self.engine.blocking_readers().is_some() {
            let message = "a read-only transaction would block writers: the database has no \
                           write-ahead log, or only one connection";
            return Err(Error::new(ErrorKind::Unsupported, message));
        }
        // SQLite starts the transaction with the first read.
        let begin = &["BEGIN", "SELECT 1 FROM sqlite_schema LIMIT 1"];
        self.begin_on(|| self.engine.reading_typed(), begin)
    }

    /// Checks that a query can lock rows, if it does. The writing transaction holds the lock of the whole database.
    pub(super) fn check_lock(&self, source: &Source<'_>) -> Result<()> {
        let Source::Select(select) = source else { return Ok(()) };
        select.check_lock(self.in_transaction.get())?;
        select.check_search("sqlite", true)?;
        if select.lock.is_some() && !self.writes.get() {
            let message = "the transaction is read-only, so it can't lock rows";
            return Err(Error::new(ErrorKind::ReadOnly, message).in_table(select.table.name()));
        }
        Ok(())
    }

    /// Commits or rolls back. Either way the transaction has ended.
    pub(super) fn end(&self, sql: &'static str) -> Result<()> {
        let state = match self.state.try_borrow_mut() {
            Ok(mut state) => std::mem::replace(&mut *state, SessionState::Idle),
            Err(_) => return Err(in_use()),
        };
        self.in_transaction.set(false);
        let mut pooled = match state {
            SessionState::Open(pooled) => pooled,
            SessionState::Lost if sql == "ROLLBACK" => return Ok(()),
            SessionState::Lost => {
                return Err(misuse("an earlier error rolled the transaction back"));
            }
            SessionState::Idle => return Err(misuse("no transaction is open")),
        };
        pooled.buffer_cursors();
        // If the commit fails, dropping the connection rolls back.
        let _writing = match sql {
            "ROLLBACK" => None,
            _ => self.engine.begin_commit()?,
        };
        if sql == "COMMIT" && pooled.replay.is_some() {
            pooled.restore_triggers()?;
        }
        let id = pooled.text_statement(sql)?;
        match Interrupt::hold_off(|| pooled.db.execute(id, std::iter::empty::<ValueRef<'_>>())) {
            Err(failure) if sql == "ROLLBACK" && is_no_transaction(&failure) => Ok(()),
            result => result.map_err(|failure| of_commit(&mut pooled, translate(failure, None))),
        }
    }

    pub(super) fn mark(&self, word: &str, name: &str) -> Result<()> {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if name.is_empty() || !name.chars().all(plain) {
            let message =
                format!("'{name}' is not a valid savepoint name: use letters, digits and _");
            return Err(misuse(&message));
        }
        if self.state.try_borrow().is_ok_and(|state| matches!(*state, SessionState::Idle)) {
            return Err(misuse("no transaction is open"));
        }
        let mut using = self.lend()?;
        using.enter_for_text(AccessMode::Write)?;
        // The prefix separates the user's names from the engine's.
        using.get().run_text(&format!("{word} user_{name}"), &[])?;
        Ok(())
    }
}
