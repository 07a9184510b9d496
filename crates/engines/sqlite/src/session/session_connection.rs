//! The connection that one operation of a session uses.

use super::{SessionState, SqliteSession};
use crate::connection::Connection;
use crate::pool::{CallbackGuard, PooledConnection, WriteGuard};
use bobak_core::Result;

/// A connection in use by one operation; dropping it restores the session's state.
pub(super) struct SessionConnection<'s, 'e> {
    pub session: &'s SqliteSession<'e>,
    pub pooled: Option<PooledConnection<'e>>,
    pub in_transaction: bool,
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
    /// Runs `work` in a transaction, or in a savepoint of the open one. An error undoes all of
    /// it.
    pub fn atomically(mut self, work: impl FnOnce(&mut Connection) -> Result<()>) -> Result<()> {
        let (inside, mut writing) = (self.in_transaction, self.writing.take());
        self.get().atomically(inside, |connection| {
            work(connection)?;
            match &mut writing {
                Some(writing) if !inside => writing.before_commit(),
                _ => Ok(()),
            }
        })
    }

    /// Tells the extension that the open transaction writes to the database's own tables.
    pub fn before_engine_write(&self) -> Result<()> {
        match self.pooled.as_ref().and_then(|pooled| pooled.extension.as_ref()) {
            Some(extension) => extension.before_engine_write(),
            None => Ok(()),
        }
    }

    #[inline]
    pub fn get(&mut self) -> &mut PooledConnection<'e> {
        self.pooled.as_mut().expect("a connection in use has its pooled")
    }

    #[inline]
    pub fn begin_callback(&self) -> Result<Option<CallbackGuard<'e>>> {
        if self.in_transaction { Ok(None) } else { self.session.engine.begin_callback() }
    }

    /// Called before a statement that commits, unless a transaction is open.
    #[inline]
    pub fn before_commit(&mut self) -> Result<()> {
        match &mut self.writing {
            Some(writing) if !self.in_transaction => writing.before_commit(),
            _ => Ok(()),
        }
    }
}

impl Drop for SessionConnection<'_, '_> {
    #[inline]
    fn drop(&mut self) {
        let state = match self.pooled.take() {
            Some(pooled) if self.in_transaction && pooled.db.is_autocommit() => SessionState::Lost,
            Some(pooled) if self.in_transaction => SessionState::Open(pooled),
            _ => SessionState::Idle,
        };
        self.session.state.set(state);
    }
}
