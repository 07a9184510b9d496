//! The connections of an engine: as many as are needed, up to a limit.

use crate::connection::Connection;
use crate::settings::{Settings, Target};
use bobak_core::{Error, ErrorKind, Result};
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

pub(crate) struct Pool {
    settings: Arc<Settings>,
    state: Mutex<State>,
    freed: Condvar,
}

#[derive(Default)]
struct State {
    /// Those that nobody uses; the one used last is taken first.
    idle: Vec<Connection>,
    open: usize,
    /// The host that answered last.
    host: usize,
}

/// A connection in use; goes back to the pool when it is dropped, unless it is broken.
pub(crate) struct Lease<'p> {
    pool: &'p Pool,
    connection: Option<Connection>,
}

/// After how long without use the line is looked at before it is used again.
const LOOK: Duration = Duration::from_millis(500);

/// After how long the server is asked as well.
const ASK: Duration = Duration::from_secs(30);

impl Pool {
    pub fn new(settings: Arc<Settings>) -> Self {
        Self { settings, state: Mutex::default(), freed: Condvar::new() }
    }

    /// A connection: an idle one, or a new one; waits where there are as many as there may be.
    ///
    /// # Errors
    /// `Busy` where none became free in time; those of connecting.
    pub fn take(&self) -> Result<Lease<'_>> {
        self.take_within(self.settings.acquire_timeout)
    }

    /// As [`take`](Self::take), with another time-out.
    ///
    /// # Errors
    /// As [`take`](Self::take).
    pub fn take_within(&self, timeout: Duration) -> Result<Lease<'_>> {
        let until = Instant::now() + timeout;
        let mut state = self.lock();
        loop {
            if let Some(mut connection) = state.idle.pop() {
                drop(state);
                if is_usable(&mut connection, &self.settings) {
                    return Ok(Lease { pool: self, connection: Some(connection) });
                }
                connection.is_broken = true;
                drop(connection);
                state = self.lock();
                state.open -= 1;
                continue;
            }
            if state.open < self.settings.connections {
                state.open += 1;
                let first = state.host;
                drop(state);
                return self.connect(first);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let message = format!(
                    "all {} connections are in use, and none became free in {} ms",
                    state.open,
                    timeout.as_millis()
                );
                return Err(Error::new(ErrorKind::Busy, message));
            }
            state = self.freed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Connects to the first host that will do, beginning with the one that did last.
    fn connect(&self, first: usize) -> Result<Lease<'_>> {
        let hosts = &self.settings.hosts;
        let mut failed: Option<Error> = None;
        for step in 0..hosts.len() {
            let place = (first + step) % hosts.len();
            let Some(host) = hosts.get(place) else { continue };
            match Connection::open(host, &self.settings) {
                Ok(connection) => {
                    self.lock().host = place;
                    return Ok(Lease { pool: self, connection: Some(connection) });
                }
                Err(error) => {
                    let error = at_host(error, host);
                    // A refused password is more to the point than a host that is down.
                    let keep =
                        failed.as_ref().is_some_and(|old| old.kind() != ErrorKind::Unreachable);
                    failed = failed.filter(|_| keep).or(Some(error));
                }
            }
        }
        self.lock().open -= 1;
        self.freed.notify_one();
        let none = || Error::new(ErrorKind::Config, "there is no host to connect to");
        let error = failed.unwrap_or_else(none);
        if self.settings.target != Target::Any && error.kind() == ErrorKind::ReadOnly {
            // Another may become the one that is looked for: it may be tried again.
            let message = error.message().to_owned();
            return Err(Error::new(ErrorKind::Unreachable, message).with_source(error));
        }
        Err(error)
    }

    fn give_back(&self, connection: Connection) {
        let mut state = self.lock();
        let whole = connection.is_idle() && connection.status == b'I';
        let idle = self.settings.idle_timeout;
        let now = Instant::now();
        let old: Vec<Connection> = if whole {
            state.idle.push(connection);
            let is_old = |c: &mut Connection| now.duration_since(c.used) > idle;
            state.idle.extract_if(.., is_old).collect()
        } else {
            vec![connection]
        };
        state.open -= old.len();
        drop(state);
        self.freed.notify_one();
        // Closed outside the lock.
        drop(old);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a connection that lay idle can be used: the server may have gone since.
fn is_usable(connection: &mut Connection, settings: &Settings) -> bool {
    let idle = connection.used.elapsed();
    if idle > settings.idle_timeout {
        return false;
    }
    if idle > ASK {
        return connection.answers();
    }
    idle < LOOK || !connection.stream.has_ended()
}

fn at_host(error: Error, host: &crate::settings::Host) -> Error {
    let message = format!("{} (at {host})", error.message());
    Error::new(error.kind(), message).with_source(error)
}

impl Deref for Lease<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        self.connection.as_ref().expect("a lease has its connection until it is dropped")
    }
}

impl DerefMut for Lease<'_> {
    fn deref_mut(&mut self) -> &mut Connection {
        self.connection.as_mut().expect("a lease has its connection until it is dropped")
    }
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take() {
            self.pool.give_back(connection);
        }
    }
}
