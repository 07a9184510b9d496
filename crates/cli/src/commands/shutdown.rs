//! Tells the background threads of `bobak serve` to stop.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// A flag that threads can wait on.
#[derive(Debug, Default)]
pub struct ShutdownSignal {
    requested: Mutex<bool>,
    changed: Condvar,
}

impl ShutdownSignal {
    /// Requests the stop and wakes all waiting threads.
    pub fn request(&self) {
        *self.requested.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_all();
    }

    /// Whether a stop was requested.
    pub fn is_requested(&self) -> bool {
        *self.requested.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for up to `time`; returns whether a stop was requested.
    pub fn wait(&self, time: Duration) -> bool {
        let requested = self.requested.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.changed.wait_timeout_while(requested, time, |requested| !*requested);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}
