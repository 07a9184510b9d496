//! The connection pool.
//!
//! The most recently used connection is reused first, so that a quiet program keeps few connections
//! busy and the others reach their idle timeout. Connections are opened, checked and closed outside of
//! the pool's lock: all of these can wait for the network.

use bobak_core::{Deadline, Error, ErrorKind, Result};
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Opens and checks the connections of a pool.
pub trait Connector {
    /// A connection.
    type Connection;

    /// Opens a connection.
    ///
    /// # Errors
    /// Those of the network and the server.
    fn connect(&self) -> Result<Self::Connection>;

    /// Whether a connection that was idle for so long can be used. The server may have closed it.
    fn is_usable(&self, connection: &mut Self::Connection, idle: Duration) -> bool;

    /// Whether a connection that comes back can be used again. If not, the pool closes it.
    fn is_reusable(&self, connection: &mut Self::Connection) -> bool;

    /// Notes that a connection has changed the schema, for servers that do not tell the others.
    fn note_schema_change(&self) {}
}

/// Limits of a pool.
#[derive(Clone, Copy, Debug)]
pub struct PoolSettings {
    /// The most connections that are open at a time; at least 1.
    pub max_connections: usize,
    /// How long to wait for a connection if all are in use.
    pub acquire_timeout: Duration,
    /// How long a connection may be idle before the pool closes it; `None` for no limit.
    pub idle_timeout: Option<Duration>,
}

/// The connections of an engine: opened when needed, up to a limit, and reused.
pub struct Pool<C: Connector> {
    connector: C,
    settings: PoolSettings,
    state: Mutex<PoolState<C::Connection>>,
    /// A connection became free, or another may be opened.
    available: Condvar,
}

struct PoolState<T> {
    /// The least recently used is the first.
    idle: Vec<IdleConnection<T>>,
    /// How many are open or being opened, those in use included.
    open: usize,
    /// How many threads wait: to wake none is a system call, too.
    waiting: usize,
}

struct IdleConnection<T> {
    connection: Box<T>,
    since: Instant,
}

/// A connection in use. Dropping it returns it to the pool.
///
/// `P` is a reference to the pool or an `Arc` of it.
pub struct PooledConnection<P, C>
where
    P: Deref<Target = Pool<C>>,
    C: Connector,
{
    pool: P,
    connection: Option<Box<C::Connection>>,
    is_reused: bool,
}

impl<C: Connector> Pool<C> {
    /// A pool without connections.
    pub const fn new(connector: C, settings: PoolSettings) -> Self {
        let state = PoolState { idle: Vec::new(), open: 0, waiting: 0 };
        Self { connector, settings, state: Mutex::new(state), available: Condvar::new() }
    }

    /// The pool of an engine, whose idle connections are closed after five minutes.
    pub fn shared(connector: C, max_connections: usize, acquire_timeout: Duration) -> Arc<Self> {
        let idle_timeout = Some(Duration::from_secs(300));
        Arc::new(Self::new(
            connector,
            PoolSettings { max_connections, acquire_timeout, idle_timeout },
        ))
    }

    /// What opens the connections.
    pub const fn connector(&self) -> &C {
        &self.connector
    }

    /// The most connections that are open at a time.
    pub fn max_connections(&self) -> usize {
        self.settings.max_connections.max(1)
    }

    /// Takes an idle connection, opens one, or waits for one.
    ///
    /// # Errors
    /// `Busy` if none becomes free in time; those of [`Connector::connect`].
    #[inline]
    pub fn acquire(&self) -> Result<PooledConnection<&Self, C>> {
        Self::acquire_from(self, self.settings.acquire_timeout, || Ok(true))
    }

    /// Takes a connection if that needs no waiting for another user of the pool.
    ///
    /// # Errors
    /// As [`acquire`](Self::acquire).
    pub fn try_acquire(&self) -> Result<PooledConnection<&Self, C>> {
        Self::acquire_from(self, Duration::ZERO, || Ok(true))
    }

    /// As [`acquire`](Self::acquire), but waits also while `may_enter` returns `false`. It is called with the
    /// pool locked, and again after each [`wake_waiters`](Self::wake_waiters).
    ///
    /// # Errors
    /// As [`acquire`](Self::acquire); those of `may_enter`.
    #[inline]
    pub fn acquire_if(
        &self,
        may_enter: impl FnMut() -> Result<bool>,
    ) -> Result<PooledConnection<&Self, C>> {
        Self::acquire_from(self, self.settings.acquire_timeout, may_enter)
    }

    /// As [`acquire`](Self::acquire), with a connection that owns its share of the pool.
    ///
    /// # Errors
    /// As [`acquire`](Self::acquire).
    pub fn acquire_owned(self: &Arc<Self>) -> Result<PooledConnection<Arc<Self>, C>> {
        Self::acquire_from(Arc::clone(self), self.settings.acquire_timeout, || Ok(true))
    }

    #[inline]
    fn acquire_from<P: Deref<Target = Self>>(
        pool: P,
        timeout: Duration,
        mut may_enter: impl FnMut() -> Result<bool>,
    ) -> Result<PooledConnection<P, C>> {
        let mut deadline = None;
        let mut state = pool.lock();
        loop {
            if may_enter()? {
                if let Some(IdleConnection { mut connection, since }) = state.idle.pop() {
                    drop(state);
                    if pool.is_usable(&mut connection, since.elapsed()) {
                        let connection = Some(connection);
                        return Ok(PooledConnection { pool, connection, is_reused: true });
                    }
                    drop(connection);
                    state = pool.lock();
                    state.open -= 1;
                    continue;
                }
                if state.open < pool.max_connections() {
                    state.open += 1;
                    drop(state);
                    // Until it has its connection, dropping it gives up its place.
                    let mut pooled = PooledConnection { pool, connection: None, is_reused: false };
                    pooled.reconnect()?;
                    return Ok(pooled);
                }
            }
            let now = Instant::now();
            let deadline = *deadline.get_or_insert(now + Deadline::limit(timeout));
            if now >= deadline {
                return Err(busy(pool.max_connections(), timeout));
            }
            state.waiting += 1;
            let waited = pool.available.wait_timeout(state, deadline - now);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
            state.waiting -= 1;
        }
    }

    fn is_usable(&self, connection: &mut C::Connection, idle: Duration) -> bool {
        self.settings.idle_timeout.is_none_or(|timeout| idle <= timeout)
            && self.connector.is_usable(connection, idle)
    }

    /// Closes the idle connections that `is_affected` selects: if one connection to a server is found broken,
    /// the others are, too.
    pub fn close_idle(&self, is_affected: impl Fn(&C::Connection) -> bool) {
        let mut state = self.lock();
        let closed: Vec<_> =
            state.idle.extract_if(.., |idle| is_affected(&idle.connection)).collect();
        state.open -= closed.len();
        drop(state);
        self.available.notify_all();
    }

    /// Wakes all waiters in [`acquire_if`](Self::acquire_if), which try again.
    pub fn wake_waiters(&self) {
        // Without the lock, a thread between its check and its wait would miss the notification.
        drop(self.lock());
        self.available.notify_all();
    }

    #[inline]
    fn release(&self, connection: Box<C::Connection>) {
        let now = Instant::now();
        let mut state = self.lock();
        let is_expired = |idle: &IdleConnection<C::Connection>| {
            self.settings.idle_timeout.is_some_and(|timeout| now - idle.since > timeout)
        };
        let expired = state.idle.iter().take_while(|idle| is_expired(idle)).count();
        let closed: Vec<_> = state.idle.drain(..expired).collect();
        state.open -= closed.len();
        state.idle.push(IdleConnection { connection, since: now });
        self.wake_one(state);
        drop(closed);
    }

    fn forget_one(&self) {
        let mut state = self.lock();
        state.open -= 1;
        self.wake_one(state);
    }

    #[inline]
    fn wake_one(&self, state: MutexGuard<'_, PoolState<C::Connection>>) {
        let is_waited_for = state.waiting > 0;
        drop(state);
        if is_waited_for {
            self.available.notify_one();
        }
    }

    fn lock(&self) -> MutexGuard<'_, PoolState<C::Connection>> {
        // No code of others runs under the lock that could leave the state incomplete by a panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<C: Connector> std::fmt::Debug for Pool<C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let state = self.lock();
        let (open, idle) = (state.open, state.idle.len());
        f.debug_struct("Pool").field("open", &open).field("idle", &idle).finish_non_exhaustive()
    }
}

#[cold]
fn busy(connections: usize, timeout: Duration) -> Error {
    let message = format!(
        "all {connections} connections are in use, and none became free in {} ms",
        timeout.as_millis()
    );
    Error::new(ErrorKind::Busy, message)
}

impl<P, C> PooledConnection<P, C>
where
    P: Deref<Target = Pool<C>>,
    C: Connector,
{
    /// Whether it was used before. Its server may have closed it without notice, so an operation that fails
    /// at once may be worth another attempt.
    pub const fn is_reused(&self) -> bool {
        self.is_reused
    }

    /// Closes the connection, and opens another in its place.
    ///
    /// # Errors
    /// Those of [`Connector::connect`]; the connection must not be used then.
    pub fn reconnect(&mut self) -> Result<()> {
        self.connection = None;
        self.connection = Some(Box::new(self.pool.connector.connect()?));
        self.is_reused = false;
        Ok(())
    }

    /// Closes the connection instead of returning it to the pool.
    pub fn discard(mut self) {
        self.connection = None;
    }

    /// Removes the connection, which [`attach`](Self::attach) restores. `None` if it is removed already.
    pub const fn detach(&mut self) -> Option<Box<C::Connection>> {
        self.connection.take()
    }

    /// Restores a connection that [`detach`](Self::detach) removed.
    pub fn attach(&mut self, connection: Box<C::Connection>) {
        self.connection = Some(connection);
    }
}

impl<P, C> Deref for PooledConnection<P, C>
where
    P: Deref<Target = Pool<C>>,
    C: Connector,
{
    type Target = C::Connection;

    #[inline]
    fn deref(&self) -> &C::Connection {
        self.connection.as_deref().expect("a pooled connection is used only while it is attached")
    }
}

impl<P, C> DerefMut for PooledConnection<P, C>
where
    P: Deref<Target = Pool<C>>,
    C: Connector,
{
    #[inline]
    fn deref_mut(&mut self) -> &mut C::Connection {
        self.connection
            .as_deref_mut()
            .expect("a pooled connection is used only while it is attached")
    }
}

impl<P, C> Drop for PooledConnection<P, C>
where
    P: Deref<Target = Pool<C>>,
    C: Connector,
{
    #[inline]
    fn drop(&mut self) {
        match self.connection.take() {
            Some(mut connection) => {
                if self.pool.connector.is_reusable(&mut connection) {
                    return self.pool.release(connection);
                }
                drop(connection);
                self.pool.forget_one();
            }
            None => self.pool.forget_one(),
        }
    }
}

#[cfg(test)]
mod tests;
