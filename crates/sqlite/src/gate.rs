//! Who has a connection: the gate before the writing one, the pool of the reading ones, and the
//! leases that both give.
//!
//! A connection is moved out of its home to whoever uses it and moved back at the end, so no lock
//! is held meanwhile, and what runs inside (a caller's closure, say) may come here again: it is
//! answered with an error, never with a deadlock.

use crate::connection::Connection;
use crate::open;
use crate::settings::Settings;
use bobak_core::{Error, ErrorKind, Result};
use std::cell::Cell;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// After so long a wait nobody may come before the waiting any more.
const PATIENCE: Duration = Duration::from_millis(10);

/// The way to the connection that writes: one at a time.
#[derive(Debug)]
pub(crate) struct Gate {
    state: Mutex<GateState>,
    freed: Condvar,
    timeout: Duration,
}

#[derive(Debug)]
struct GateState {
    connection: Option<Box<Connection>>,
    /// The thread that has it.
    owner: u64,
    waiting: usize,
    impatient: usize,
}

/// The connections that read, opened as they are needed.
#[derive(Debug)]
pub(crate) struct Pool {
    state: Mutex<PoolState>,
    freed: Condvar,
    settings: Settings,
}

#[derive(Debug, Default)]
struct PoolState {
    idle: Vec<Box<Connection>>,
    /// The threads that have one.
    owners: Vec<u64>,
    waiting: usize,
}

/// A connection on loan; dropping it gives it back, with nothing left open.
#[derive(Debug)]
pub(crate) struct Lease<'e> {
    connection: Option<Box<Connection>>,
    home: Home<'e>,
}

#[derive(Debug)]
enum Home<'e> {
    Gate(&'e Gate),
    Pool(&'e Pool, u64),
}

impl Gate {
    pub(crate) fn new(connection: Box<Connection>, timeout: Duration) -> Self {
        let state = GateState { connection: Some(connection), owner: 0, waiting: 0, impatient: 0 };
        Self { state: Mutex::new(state), freed: Condvar::new(), timeout }
    }

    /// Waits for the connection.
    ///
    /// # Errors
    /// `Busy`: at once where this very thread has it, else after the busy time-out.
    #[inline]
    pub(crate) fn enter(&self) -> Result<Lease<'_>> {
        let me = thread_number();
        let mut state = lock(&self.state);
        let connection = if state.impatient == 0 { state.connection.take() } else { None };
        let connection = match connection {
            Some(connection) => {
                state.owner = me;
                connection
            }
            None => self.wait(state, me)?,
        };
        Ok(Lease { connection: Some(connection), home: Home::Gate(self) })
    }

    #[cold]
    fn wait(&self, mut state: MutexGuard<'_, GateState>, me: u64) -> Result<Box<Connection>> {
        if state.connection.is_none() && state.owner == me {
            let message = "this thread has a transaction, or a query, open: work through that one";
            return Err(Error::new(ErrorKind::Busy, message));
        }
        let start = Instant::now();
        let mut impatient = false;
        state.waiting += 1;
        let connection = loop {
            let waited = start.elapsed();
            if waited >= PATIENCE && !impatient {
                impatient = true;
                state.impatient += 1;
            }
            if waited >= self.timeout {
                break None;
            }
            let pause = if impatient { self.timeout } else { PATIENCE.min(self.timeout) };
            let pause = pause.saturating_sub(waited).max(Duration::from_micros(100));
            state = self.freed.wait_timeout(state, pause).unwrap_or_else(PoisonError::into_inner).0;
            if let Some(connection) = state.connection.take() {
                state.owner = me;
                break Some(connection);
            }
        };
        state.waiting -= 1;
        state.impatient -= usize::from(impatient);
        connection.ok_or_else(|| {
            let message = "another session wrote for the whole busy time-out";
            Error::new(ErrorKind::Busy, message)
        })
    }

    fn give_back(&self, connection: Box<Connection>) {
        let mut state = lock(&self.state);
        state.connection = Some(connection);
        state.owner = 0;
        let waiting = state.waiting > 0;
        drop(state);
        if waiting {
            self.freed.notify_one();
        }
    }
}

impl Pool {
    pub(crate) fn new(settings: Settings) -> Self {
        Self { state: Mutex::default(), freed: Condvar::new(), settings }
    }

    /// A connection for reading: an idle one, a new one, or else the next that is given back. A
    /// thread that has one already does not wait for itself: it gets one beyond the limit.
    ///
    /// # Errors
    /// `Busy` after the busy time-out; what opening gives.
    pub(crate) fn enter(&self) -> Result<Lease<'_>> {
        let me = thread_number();
        let mut state = lock(&self.state);
        let mut start = None;
        loop {
            if let Some(connection) = state.idle.pop() {
                state.owners.push(me);
                return Ok(self.lease(connection, me));
            }
            if state.owners.len() < self.settings.readers || state.owners.contains(&me) {
                state.owners.push(me);
                drop(state);
                return match open::reader(&self.settings) {
                    Ok(connection) => Ok(self.lease(connection, me)),
                    Err(error) => {
                        self.leave(None, me);
                        Err(error)
                    }
                };
            }
            let waited = start.get_or_insert_with(Instant::now).elapsed();
            let left = self.settings.busy_timeout.saturating_sub(waited);
            if left.is_zero() {
                let message = "all connections for reading were taken for the whole busy time-out";
                return Err(Error::new(ErrorKind::Busy, message));
            }
            state.waiting += 1;
            state = self.freed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
            state.waiting -= 1;
        }
    }

    fn lease(&self, connection: Box<Connection>, me: u64) -> Lease<'_> {
        Lease { connection: Some(connection), home: Home::Pool(self, me) }
    }

    fn leave(&self, connection: Option<Box<Connection>>, owner: u64) {
        let mut state = lock(&self.state);
        if let Some(at) = state.owners.iter().position(|&other| other == owner) {
            state.owners.swap_remove(at);
        }
        let room = state.owners.len() + state.idle.len() < self.settings.readers;
        let surplus = if room {
            state.idle.extend(connection);
            None
        } else {
            connection
        };
        let waiting = state.waiting > 0;
        drop(state);
        drop(surplus);
        if waiting {
            self.freed.notify_one();
        }
    }
}

impl Deref for Lease<'_> {
    type Target = Connection;

    #[inline]
    fn deref(&self) -> &Connection {
        self.connection.as_ref().expect("only dropping takes the connection out")
    }
}

impl DerefMut for Lease<'_> {
    #[inline]
    fn deref_mut(&mut self) -> &mut Connection {
        self.connection.as_mut().expect("only dropping takes the connection out")
    }
}

impl Drop for Lease<'_> {
    #[inline]
    fn drop(&mut self) {
        let Some(mut connection) = self.connection.take() else {
            return;
        };
        if !connection.db.is_autocommit() {
            connection.abandon();
        }
        match self.home {
            Home::Gate(gate) => gate.give_back(connection),
            Home::Pool(pool, owner) => pool.leave(Some(connection), owner),
        }
    }
}

/// A number of this thread that no other ever has; 0 where the thread is about to end.
#[inline]
fn thread_number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    thread_local! {
        static NUMBER: Cell<u64> = const { Cell::new(0) };
    }
    let number = NUMBER.try_with(|number| {
        if number.get() == 0 {
            number.set(NEXT.fetch_add(1, Ordering::Relaxed));
        }
        number.get()
    });
    number.unwrap_or(u64::MAX)
}

/// What is behind the lock stays whole if a thread panics: it is changed in single steps.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
