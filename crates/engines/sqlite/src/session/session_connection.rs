//! The connection that one operation of a session uses.

use super::SessionState;
use super::database::Database;
use crate::connection::Connection;
use crate::error::misuse;
use crate::pool::{CallbackGuard, PooledConnection, WriteGuard};
use bobak_core::{Error, Interrupt, Result};
use std::cell::RefMut;

/// A connection in use by one operation.
pub(super) struct SessionConnection<'s, 'e> {
    pub engine: &'e Database,
    /// The connection of an operation outside transactions. Declared before the state to be dropped first.
    pub pooled: Option<PooledConnection<'e>>,
    /// Borrowed while the operation runs; with the connection in a transaction.
    pub state: RefMut<'s, SessionState<'e>>,
    /// Keeps active cursors from blocking a write.
    pub writing: Option<WriteGuard<'e>>,
}

/// How an operation uses its connection.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum AccessMode {
    Read,
    /// A typed query, which may run in the read transaction that stays open between single operations.
    Query,
    /// One statement, which commits if no transaction is open.
    Write,
    /// Several statements with a commit of their own.
    Transaction,
}

impl AccessMode {
    #[inline]
    pub const fn writes(self) -> bool {
        matches!(self, Self::Write | Self::Transaction)
    }
}

impl<'e> SessionConnection<'_, 'e> {
    /// Takes the connection for an operation of the engine.
    #[inline(always)]
    pub fn enter(&mut self, mode: AccessMode) -> Result<()> {
        Interrupt::check()?;
        self.enter_for_text(mode)?;
        if mode.writes() { self.before_engine_write() } else { Ok(()) }
    }

    /// As [`enter`](Self::enter), for SQL text, which is checked elsewhere.
    #[inline(always)]
    pub fn enter_for_text(&mut self, mode: AccessMode) -> Result<()> {
        match *self.state {
            SessionState::Open(_) => {}
            SessionState::Idle => self.pooled = Some(pooled(self.engine, mode)?),
            SessionState::Lost => return Err(lost()),
        }
        if mode.writes() {
            self.get().reject_writes()?;
            self.get().buffer_cursors();
            self.writing = self.engine.begin_writing();
        }
        if mode == AccessMode::Write { self.before_commit() } else { Ok(()) }
    }

    /// Runs `work` in a transaction, or in a savepoint of the open one. An error undoes all of
    /// it.
    pub fn atomically(mut self, work: impl FnOnce(&mut Connection) -> Result<()>) -> Result<()> {
        let (inside, mut writing) = (self.in_transaction(), self.writing.take());
        self.get().atomically(inside, |connection| {
            work(connection)?;
            match &mut writing {
                Some(writing) if !inside => writing.before_commit(),
                _ => Ok(()),
            }
        })
    }

    #[inline]
    pub fn in_transaction(&self) -> bool {
        matches!(*self.state, SessionState::Open(_))
    }

    /// Tells the extension that the open transaction writes to the database's own tables.
    #[inline]
    pub fn before_engine_write(&self) -> Result<()> {
        match &*self.state {
            SessionState::Open(pooled) if let Some(extension) = &pooled.extension => {
                extension.before_engine_write()
            }
            _ => Ok(()),
        }
    }

    #[inline]
    pub fn get(&mut self) -> &mut PooledConnection<'e> {
        match &mut *self.state {
            SessionState::Open(pooled) => pooled,
            _ => self.pooled.as_mut().expect("outside a transaction it has its own"),
        }
    }

    #[inline]
    pub fn begin_callback(&self) -> Result<Option<CallbackGuard<'e>>> {
        if self.in_transaction() { Ok(None) } else { self.engine.begin_callback() }
    }

    /// Called before a statement that commits, unless a transaction is open.
    #[inline]
    pub fn before_commit(&mut self) -> Result<()> {
        let in_transaction = self.in_transaction();
        match &mut self.writing {
            Some(writing) if !in_transaction => writing.before_commit(),
            _ => Ok(()),
        }
    }
}

/// A connection for an operation outside transactions.
fn pooled(engine: &Database, mode: AccessMode) -> Result<PooledConnection<'_>> {
    match mode {
        AccessMode::Read => engine.read(),
        AccessMode::Query => engine.reading_typed(),
        AccessMode::Write | AccessMode::Transaction => engine.write(),
    }
}

#[cold]
pub(super) fn lost() -> Error {
    misuse("an earlier error rolled the transaction back: begin it again")
}

impl Drop for SessionConnection<'_, '_> {
    #[inline]
    fn drop(&mut self) {
        if let SessionState::Open(pooled) = &*self.state
            && pooled.db.is_autocommit()
        {
            *self.state = SessionState::Lost;
        }
    }
}
