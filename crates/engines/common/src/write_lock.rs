//! One writer at a time, with a time limit for those that wait.

use bobak_core::{Deadline, Error, ErrorKind, Result};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::ThreadId;
use std::time::Duration;

/// The lock of an engine with one writer. Between operations only an open transaction holds it.
///
/// ```
/// use bobak_engine_common::WriteLock;
/// use std::time::Duration;
///
/// let lock = WriteLock::new(Duration::ZERO);
/// let transaction = lock.hold()?;
/// assert!(lock.pass().is_err(), "another write waits, and gives up");
/// drop(transaction);
/// assert!(lock.pass().is_ok());
/// # Ok::<(), bobak_core::Error>(())
/// ```
#[derive(Debug)]
pub struct WriteLock {
    /// The thread whose transaction holds the lock.
    holder: Mutex<Option<ThreadId>>,
    freed: Condvar,
    busy_timeout: Duration,
}

/// The lock, held for longer than one call. Dropping it frees the lock.
#[derive(Debug)]
#[must_use]
pub struct HeldWriteLock<'a>(&'a WriteLock);

/// The lock, held for one call.
#[derive(Debug)]
#[must_use]
pub struct WritePass<'a> {
    _holder: MutexGuard<'a, Option<ThreadId>>,
}

impl WriteLock {
    /// A free lock. Writers wait for another's transaction at most this long.
    #[must_use]
    pub const fn new(busy_timeout: Duration) -> Self {
        Self { holder: Mutex::new(None), freed: Condvar::new(), busy_timeout }
    }

    /// Locks for one short write, until the result is dropped.
    ///
    /// # Errors
    /// `Busy` if a transaction did not end in time, or is this thread's own, which would never end.
    #[inline]
    pub fn pass(&self) -> Result<WritePass<'_>> {
        self.lock().map(|holder| WritePass { _holder: holder })
    }

    /// Locks for a transaction, until the result is dropped.
    ///
    /// # Errors
    /// As [`pass`](Self::pass).
    pub fn hold(&self) -> Result<HeldWriteLock<'_>> {
        *self.lock()? = Some(std::thread::current().id());
        Ok(HeldWriteLock(self))
    }

    #[inline]
    fn lock(&self) -> Result<MutexGuard<'_, Option<ThreadId>>> {
        let holder = self.holder.lock().unwrap_or_else(PoisonError::into_inner);
        if holder.is_none() {
            return Ok(holder);
        }
        self.wait(holder)
    }

    #[cold]
    fn wait<'a>(
        &'a self,
        holder: MutexGuard<'a, Option<ThreadId>>,
    ) -> Result<MutexGuard<'a, Option<ThreadId>>> {
        if *holder == Some(std::thread::current().id()) {
            let message = "this thread has a transaction open in another session: end it first";
            return Err(Error::new(ErrorKind::Busy, message));
        }
        let (holder, result) = self
            .freed
            .wait_timeout_while(holder, Deadline::limit(self.busy_timeout), |holder| {
                holder.is_some()
            })
            .unwrap_or_else(PoisonError::into_inner);
        if result.timed_out() && holder.is_some() {
            let message = format!(
                "another transaction did not end within {} ms",
                self.busy_timeout.as_millis()
            );
            return Err(Error::new(ErrorKind::Busy, message));
        }
        Ok(holder)
    }
}

impl Drop for HeldWriteLock<'_> {
    fn drop(&mut self) {
        *self.0.holder.lock().unwrap_or_else(PoisonError::into_inner) = None;
        // Wake all waiters: one that passes shortly does not wake the next.
        self.0.freed.notify_all();
    }
}
