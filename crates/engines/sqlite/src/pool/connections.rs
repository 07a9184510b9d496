//! The database's connections: the lock on the writing one, and the pool of reading ones.
//! A user of a connection removes it from its slot and returns it afterwards. No lock is
//! held meanwhile, so code that runs in between (a caller's closure, for example) may request a
//! connection again: it gets an error instead of a deadlock.

use super::active_cursors::ActiveCursors;
use super::second_writer::SecondWriter;
use crate::connection::Connection;
use crate::error::kept_waiting;
use crate::ffi::AtomicBox;
use crate::open;
use crate::open::FileId;
use crate::settings::Settings;
use bobak_core::{Deadline, Error, ErrorKind, Result};
use std::cell::Cell;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A waiter is starving after this time: newcomers then no longer overtake it.
const STARVATION_THRESHOLD: Duration = Duration::from_millis(10);

/// The lock on the writing connection.
/// | Acquiring it without contention takes no mutex; waiters wait on `freed`.
#[derive(Debug)]
pub(crate) struct WriterLock {
    // Dropped first: closing the last connection checkpoints the log.
    pub(super) second: Mutex<SecondWriter>,
    connection: AtomicBox<Connection>,
    /// The number of the thread that holds the connection; 0 if none does.
    owner: AtomicU64,
    /// The number of the thread that held it last; 0 if a thread reads on the other one, and none has held this one since.
    pub(super) last: AtomicU64,
    /// The number of the thread that reads on the other connection; 0 if none does.
    pub(super) reader: AtomicU64,
    /// How often that thread has returned it without another thread in between.
    pub(super) repeats: AtomicUsize,
    /// Whether threads may read on it. Only then are the threads that write noted.
    reads: bool,
    waiting: AtomicUsize,
    starving: AtomicUsize,
    lock: Mutex<()>,
    freed: Condvar,
    timeout: Duration,
}

/// The reading connections, opened on demand.
#[derive(Debug)]
pub(crate) struct Pool {
    state: Mutex<PoolState>,
    freed: Condvar,
    settings: Settings,
    /// The identity of the database's file when it was opened.
    file: Option<FileId>,
    /// The cursors that would block commits; empty if readers do not block the writer.
    pub(crate) active_cursors: ActiveCursors,
}

#[derive(Debug, Default)]
#[expect(clippy::vec_box, reason = "moved at each use: a pointer instead of the whole")]
struct PoolState {
    idle: Vec<Box<Connection>>,
    /// The threads that hold one.
    owners: Vec<u64>,
    waiting: usize,
}

/// A borrowed connection. Dropping it rolls back an open transaction and returns the connection.
#[derive(Debug)]
pub(crate) struct PooledConnection<'e> {
    pub(super) connection: Option<Box<Connection>>,
    pub(super) home: Home<'e>,
}

/// A borrowed reading connection without a reference to its pool.
#[derive(Debug)]
pub(crate) struct DetachedConnection {
    connection: Box<Connection>,
    owner: u64,
}

#[derive(Debug)]
pub(super) enum Home<'e> {
    WriterLock(&'e WriterLock),
    /// The writing connection, to read on it.
    Second(&'e WriterLock),
    Pool(&'e Pool, u64),
}

impl WriterLock {
    /// The lock; `reads` allows threads to read on the connection.
    pub(crate) fn new(connection: Box<Connection>, timeout: Duration, reads: bool) -> Self {
        let second = if reads { SecondWriter::Unopened } else { SecondWriter::Disabled };
        Self {
            second: Mutex::new(second),
            connection: AtomicBox::new(connection),
            owner: AtomicU64::new(0),
            last: AtomicU64::new(0),
            reader: AtomicU64::new(0),
            repeats: AtomicUsize::new(0),
            reads,
            waiting: AtomicUsize::new(0),
            starving: AtomicUsize::new(0),
            lock: Mutex::new(()),
            freed: Condvar::new(),
            timeout,
        }
    }

    /// Waits for the connection.
    /// | # Errors
    /// `Busy`: at once if this thread holds it, else after the busy timeout.
    #[inline]
    pub(crate) fn acquire(&self) -> Result<PooledConnection<'_>> {
        match self.try_acquire() {
            Some(pooled) => Ok(pooled),
            None => self.wait(Instant::now() + Deadline::limit(self.timeout)),
        }
    }

    /// As [`acquire`](Self::acquire), with a deadline.
    pub(crate) fn acquire_until(&self, deadline: Instant) -> Result<PooledConnection<'_>> {
        self.try_acquire().map_or_else(|| self.wait(deadline), Ok)
    }

    /// Returns the connection if it is free and no waiter is starving.
    #[inline]
    pub(crate) fn try_acquire(&self) -> Option<PooledConnection<'_>> {
        self.take().map(|connection| self.pooled(connection))
    }

    #[inline]
    pub(super) fn take(&self) -> Option<Box<Connection>> {
        match self.starving.load(Ordering::Relaxed) {
            0 => self.connection.take(),
            _ => None,
        }
    }

    /// Rejects a thread that would wait for itself.
    /// | # Errors
    /// `Busy` if this thread holds the connection.
    pub(crate) fn reject_owner(&self) -> Result<()> {
        if self.owner.load(Ordering::Relaxed) == thread_number() {
            let message = "this thread has an open transaction or query: use its session";
            return Err(Error::new(ErrorKind::Busy, message));
        }
        Ok(())
    }

    #[inline]
    fn pooled(&self, connection: Box<Connection>) -> PooledConnection<'_> {
        self.owner.store(thread_number(), Ordering::Relaxed);
        PooledConnection { connection: Some(connection), home: Home::WriterLock(self) }
    }

    #[cold]
    fn wait(&self, deadline: Instant) -> Result<PooledConnection<'_>> {
        self.reject_owner()?;
        let start = Instant::now();
        let timeout = deadline.saturating_duration_since(start);
        let (mut starving, mut slept) = (false, false);
        let mut guard = lock(&self.lock);
        // Incremented before the connection is checked; a returning thread checks it after
        // putting the connection back. So one of the two sees the other.
        self.waiting.fetch_add(1, Ordering::SeqCst);
        let connection = loop {
            // Newcomers yield to starving waiters, then retry.
            if (slept || self.starving.load(Ordering::Relaxed) == 0)
                && let Some(connection) = self.connection.take()
            {
                break Some(connection);
            }
            let waited = start.elapsed();
            if waited >= timeout {
                break None;
            }
            if waited >= STARVATION_THRESHOLD && !starving {
                starving = true;
                self.starving.fetch_add(1, Ordering::Relaxed);
            }
            let until = if starving { timeout } else { STARVATION_THRESHOLD.min(timeout) };
            let pause = until.saturating_sub(waited).max(Duration::from_micros(100));
            let woken = self.freed.wait_timeout(guard, pause);
            guard = woken.unwrap_or_else(PoisonError::into_inner).0;
            slept = true;
        };
        self.waiting.fetch_sub(1, Ordering::SeqCst);
        self.starving.fetch_sub(usize::from(starving), Ordering::Relaxed);
        Ok(self.pooled(connection.ok_or_else(kept_waiting)?))
    }

    #[inline]
    fn give_back(&self, connection: Box<Connection>) {
        if self.reads {
            self.note_writer(self.owner.load(Ordering::Relaxed));
        }
        self.owner.store(0, Ordering::Relaxed);
        self.put(connection);
    }

    #[inline]
    pub(super) fn put(&self, connection: Box<Connection>) {
        self.connection.put(connection);
        if self.waiting.load(Ordering::SeqCst) > 0 {
            self.wake();
        }
    }

    #[cold]
    fn wake(&self) {
        // With the mutex held, every counted waiter is either asleep or has yet to check.
        let _guard = lock(&self.lock);
        self.freed.notify_one();
    }
}

impl Pool {
    pub(crate) fn new(settings: Settings, file: Option<FileId>) -> Self {
        Self {
            state: Mutex::default(),
            freed: Condvar::new(),
            settings,
            file,
            active_cursors: ActiveCursors::default(),
        }
    }

    /// Returns a reading connection: an idle one, a new one, or the next that is returned. A
    /// thread that holds one already, or another connection (`holds_other`), does not wait for itself: it gets one beyond
    /// the limit.
    /// | # Errors
    /// `Busy` after the busy timeout; those of opening.
    pub(crate) fn acquire(&self, holds_other: bool) -> Result<PooledConnection<'_>> {
        let me = thread_number();
        let mut state = lock(&self.state);
        let mut start = None;
        loop {
            if let Some(connection) = state.idle.pop() {
                state.owners.push(me);
                return Ok(self.pooled(connection, me));
            }
            let has_room = state.owners.len() < self.settings.readers;
            if has_room || holds_other || state.owners.contains(&me) {
                state.owners.push(me);
                drop(state);
                return match open::reader(&self.settings, self.file) {
                    Ok(connection) => Ok(self.pooled(connection, me)),
                    Err(error) => {
                        self.leave(None, me);
                        Err(error)
                    }
                };
            }
            let waited = start.get_or_insert_with(Instant::now).elapsed();
            let left = Deadline::limit(self.settings.busy_timeout.saturating_sub(waited));
            if left.is_zero() {
                let message = "all reading connections were in use for the whole busy timeout";
                return Err(Error::new(ErrorKind::Busy, message));
            }
            state.waiting += 1;
            state = self.freed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
            state.waiting -= 1;
        }
    }

    pub(crate) fn busy_timeout(&self) -> Duration {
        Deadline::limit(self.settings.busy_timeout)
    }

    /// Attaches a detached connection to its pool again.
    pub(crate) fn attach(&self, detached: DetachedConnection) -> PooledConnection<'_> {
        self.pooled(detached.connection, detached.owner)
    }

    fn pooled(&self, connection: Box<Connection>, me: u64) -> PooledConnection<'_> {
        PooledConnection { connection: Some(connection), home: Home::Pool(self, me) }
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

impl PooledConnection<'_> {
    /// Detaches the connection from its pool, until [`Pool::attach`]. `None` for the writing
    /// connection, which is returned.
    pub(crate) fn detach(mut self) -> Option<DetachedConnection> {
        match self.home {
            Home::WriterLock(_) | Home::Second(_) => None,
            Home::Pool(_, owner) => {
                self.connection.take().map(|connection| DetachedConnection { connection, owner })
            }
        }
    }
}

impl Deref for PooledConnection<'_> {
    type Target = Connection;

    #[inline]
    fn deref(&self) -> &Connection {
        self.connection.as_ref().expect("only dropping takes the connection out")
    }
}

impl DerefMut for PooledConnection<'_> {
    #[inline]
    fn deref_mut(&mut self) -> &mut Connection {
        self.connection.as_mut().expect("only dropping takes the connection out")
    }
}

impl Drop for PooledConnection<'_> {
    #[inline]
    fn drop(&mut self) {
        let Some(mut connection) = self.connection.take() else {
            return;
        };
        if !connection.db.is_autocommit() {
            connection.abandon();
        }
        if connection.replay.is_some() {
            connection.end_replay();
        }
        if connection.db.take_write_failed() && matches!(self.home, Home::WriterLock(_)) {
            connection.recover_wal();
        }
        match self.home {
            Home::WriterLock(gate) => gate.give_back(connection),
            Home::Second(gate) => gate.return_from_reading(connection),
            Home::Pool(pool, owner) => pool.leave(Some(connection), owner),
        }
    }
}

/// The unique number of this thread; `u64::MAX` while the thread is ending.
#[inline]
pub(crate) fn thread_number() -> u64 {
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

/// Locks a mutex. Its data is changed in single steps, so it is valid even after a panic.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
