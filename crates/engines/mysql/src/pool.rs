//! Connections that wait to be used again.

use crate::connect::Connector;
use crate::connection::Connection;
use bobak_core::{Error, ErrorKind, Result};
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A connection that rested for so long is asked whether it still answers before it is used.
const RESTED: Duration = Duration::from_millis(500);
/// One that rested for so long is closed.
const OLD: Duration = Duration::from_secs(300);

/// The connections of an engine.
pub(crate) struct Pool {
    pub connector: Arc<Connector>,
    state: Mutex<State>,
    freed: Condvar,
}

#[derive(Default)]
struct State {
    /// Those that nobody uses, the one used last at the end.
    #[allow(clippy::vec_box, reason = "they move in and out as boxes")]
    idle: Vec<Box<Connection>>,
    /// All that are open, or being opened.
    open: usize,
}

/// A connection in use. It goes back when it is dropped, unless it is broken.
pub(crate) struct Lease {
    connection: Option<Box<Connection>>,
    pool: Arc<Pool>,
    /// Whether it was used before: then the line may be gone without anybody's having noticed.
    pub used_before: bool,
}

impl Pool {
    pub(crate) fn new(connector: Connector) -> Self {
        let connector = Arc::new(connector);
        Self { connector, state: Mutex::default(), freed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // The state is whole between any two statements: a panic elsewhere has not harmed it.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A connection: a resting one, a new one, or the next that gets free.
    ///
    /// # Errors
    /// `Busy` where none gets free in time; those of connecting.
    pub(crate) fn take(self: &Arc<Self>) -> Result<Lease> {
        self.take_within(self.connector.settings.busy_timeout)
    }

    /// As [`take`](Self::take), with another time-out.
    ///
    /// # Errors
    /// As [`take`](Self::take).
    pub(crate) fn take_within(self: &Arc<Self>, timeout: Duration) -> Result<Lease> {
        let settings = &self.connector.settings;
        let until = Instant::now() + timeout;
        let mut state = self.lock();
        loop {
            if let Some(mut connection) = state.idle.pop() {
                drop(state);
                let rested = connection.used.elapsed();
                if rested < RESTED || (rested < OLD && connection.answers()) {
                    return Ok(Lease::new(connection, self, true));
                }
                drop(connection);
                self.closed();
                state = self.lock();
                continue;
            }
            if state.open < settings.connections {
                state.open += 1;
                drop(state);
                return self.open();
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let message = format!(
                    "all {} connections are in use, and none got free",
                    settings.connections
                );
                return Err(Error::new(ErrorKind::Busy, message));
            }
            let waited = self.freed.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Opens one, which is counted already.
    fn open(self: &Arc<Self>) -> Result<Lease> {
        match self.connector.connect() {
            Ok(connection) => Ok(Lease::new(connection, self, false)),
            Err(error) => {
                self.closed();
                Err(error)
            }
        }
    }

    /// Notes that one is closed.
    fn closed(&self) {
        self.lock().open -= 1;
        self.freed.notify_one();
    }

    /// Closes those that rest: where one of a host was found broken, its others are too.
    pub(crate) fn forget_idle(&self, host: usize) {
        let mut state = self.lock();
        let (gone, kept) =
            std::mem::take(&mut state.idle).into_iter().partition(|c| c.host == host);
        let gone: Vec<Box<Connection>> = gone;
        state.idle = kept;
        state.open -= gone.len();
        drop(state);
        self.freed.notify_all();
    }
}

impl Lease {
    fn new(connection: Box<Connection>, pool: &Arc<Pool>, used_before: bool) -> Self {
        Self { connection: Some(connection), pool: Arc::clone(pool), used_before }
    }

    /// Takes the connection out; it must come back by [`put`](Self::put).
    pub(crate) fn lend(&mut self) -> Option<Box<Connection>> {
        self.connection.take()
    }

    /// Puts the connection back in.
    pub(crate) fn put(&mut self, connection: Box<Connection>) {
        self.connection = Some(connection);
    }
}

impl Deref for Lease {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        self.connection.as_deref().expect("a lease is used only while its connection is in it")
    }
}

impl DerefMut for Lease {
    fn deref_mut(&mut self) -> &mut Connection {
        self.connection.as_deref_mut().expect("a lease is used only while its connection is in it")
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let Some(mut connection) = self.connection.take().filter(|c| !c.is_broken()) else {
            self.pool.closed();
            return;
        };
        connection.used = Instant::now();
        self.pool.lock().idle.push(connection);
        self.pool.freed.notify_one();
    }
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.connector.settings.fmt(f)
    }
}
