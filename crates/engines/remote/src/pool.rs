//! The connections of an engine: a pool, or one connection that all sessions share.
//!
//! Over pipes there is only one connection. Sessions return it after each operation, and a transaction
//! keeps other sessions out until it ends. Their open cursors may go on: the server keeps those apart.

use crate::link::Link;
use crate::transport::TransportConnector;
use bobak_core::{Error, ErrorKind, Result};
use bobak_engine_common::{Pool, PoolSettings};
use std::sync::{Mutex, PoisonError};
use std::thread::ThreadId;
use std::time::Duration;

/// A connection in use.
pub(crate) type PooledLink<'p> =
    bobak_engine_common::PooledConnection<&'p Pool<TransportConnector>, TransportConnector>;

/// After this long without use, a connection is checked before it is used again.
const CHECK_THRESHOLD: Duration = Duration::from_millis(200);

/// The connections of an engine.
pub(crate) struct LinkPool {
    pool: Pool<TransportConnector>,
    is_shared: bool,
    /// The session, and its thread, with a transaction on the shared connection.
    owner: Mutex<Option<(u64, ThreadId)>>,
}

/// What a session needs a connection for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// To run an operation.
    Operation,
    /// To fetch from an open cursor, or close it: possible during another session's transaction.
    Cursor,
}

impl LinkPool {
    pub fn new(
        connector: TransportConnector,
        max_connections: usize,
        acquire_timeout: Duration,
    ) -> Self {
        let is_shared = connector.transport.is_shared();
        let max_connections = if is_shared { 1 } else { max_connections };
        let settings = PoolSettings { max_connections, acquire_timeout, idle_timeout: None };
        Self { pool: Pool::new(connector, settings), is_shared, owner: Mutex::default() }
    }

    /// Whether sessions return their connection after each operation.
    pub const fn is_shared(&self) -> bool {
        self.is_shared
    }

    /// Takes a connection.
    ///
    /// # Errors
    /// `Busy` if none becomes free in time, or if this thread would wait for its own transaction; those of
    /// connecting.
    #[inline]
    pub fn acquire(&self, session: u64, purpose: Purpose) -> Result<PooledLink<'_>> {
        if self.is_shared {
            self.pool.acquire_if(|| self.may_enter(session, purpose))
        } else {
            self.pool.acquire()
        }
    }

    /// Notes that a session has begun a transaction.
    pub fn set_owner(&self, session: u64) {
        if self.is_shared {
            let owner = (session, std::thread::current().id());
            *self.owner.lock().unwrap_or_else(PoisonError::into_inner) = Some(owner);
        }
    }

    /// Notes that a session has no transaction any more.
    pub fn clear_owner(&self, session: u64) {
        if self.is_shared {
            let mut current = self.owner.lock().unwrap_or_else(PoisonError::into_inner);
            current.take_if(|(owner, _)| *owner == session);
            drop(current);
            self.pool.wake_waiters();
        }
    }

    fn may_enter(&self, session: u64, purpose: Purpose) -> Result<bool> {
        match *self.owner.lock().unwrap_or_else(PoisonError::into_inner) {
            Some((owner, thread)) if owner != session && purpose == Purpose::Operation => {
                if thread == std::thread::current().id() {
                    let message = "this thread has a transaction open on the only connection: \
                                   it would wait for itself";
                    return Err(Error::new(ErrorKind::Busy, message));
                }
                Ok(false)
            }
            _ => Ok(true),
        }
    }
}

impl bobak_engine_common::Connector for TransportConnector {
    type Connection = Link;

    fn connect(&self) -> Result<Link> {
        Self::connect(self)
    }

    fn is_usable(&self, link: &mut Link, idle: Duration) -> bool {
        link.is_usable(idle < CHECK_THRESHOLD)
    }

    fn is_reusable(&self, _: &mut Link) -> bool {
        // Sessions discard broken connections themselves.
        true
    }
}
