//! One writer at a time: who waits, how long, and who need not wait at all.

use bobak_core::{Error, ErrorKind, Result};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::ThreadId;
use std::time::Duration;

/// What writers pass through. Between operations it is held by an open transaction only.
pub(super) struct Gate {
    /// The thread whose transaction holds it.
    holder: Mutex<Option<ThreadId>>,
    freed: Condvar,
    /// How long to wait for another transaction's end.
    patience: Duration,
}

/// The gate held for longer than one call; opened again when dropped.
pub(super) struct Held<'a>(&'a Gate);

impl Gate {
    pub fn new(patience: Duration) -> Self {
        Self { holder: Mutex::new(None), freed: Condvar::new(), patience }
    }

    /// Passes for as long as the guard lives: for short writes.
    ///
    /// # Errors
    /// `Busy` where a transaction did not end in time, or is this thread's own: it would be waited
    /// for in vain.
    #[inline]
    pub fn pass(&self) -> Result<MutexGuard<'_, Option<ThreadId>>> {
        let holder = self.holder.lock().unwrap_or_else(PoisonError::into_inner);
        if holder.is_none() {
            return Ok(holder);
        }
        self.wait(holder)
    }

    /// Holds the gate until the result is dropped.
    ///
    /// # Errors
    /// As [`pass`](Self::pass).
    pub fn hold(&self) -> Result<Held<'_>> {
        *self.pass()? = Some(std::thread::current().id());
        Ok(Held(self))
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
            .wait_timeout_while(holder, self.patience, |holder| holder.is_some())
            .unwrap_or_else(PoisonError::into_inner);
        if result.timed_out() && holder.is_some() {
            let message =
                format!("another transaction did not end within {} ms", self.patience.as_millis());
            return Err(Error::new(ErrorKind::Busy, message));
        }
        Ok(holder)
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        *self.0.holder.lock().unwrap_or_else(PoisonError::into_inner) = None;
        // All of them: one that passes shortly does not wake the next.
        self.0.freed.notify_all();
    }
}
