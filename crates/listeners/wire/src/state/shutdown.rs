//! The state of a server that shuts down.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Whether a server is shutting down, and until when transactions may still end.
#[derive(Default)]
pub(crate) struct Shutdown {
    started: AtomicBool,
    deadline: OnceLock<Instant>,
}

impl Shutdown {
    /// Starts it. Transactions have `timeout` to end.
    pub fn start(&self, timeout: Duration) {
        let deadline = Instant::now() + timeout;
        self.deadline.get_or_init(|| deadline);
        self.started.store(true, Ordering::Relaxed);
    }

    #[inline]
    pub fn has_started(&self) -> bool {
        self.started.load(Ordering::Relaxed)
    }

    /// Whether the time for transactions is over.
    pub fn is_overdue(&self) -> bool {
        self.deadline.get().is_some_and(|deadline| Instant::now() >= *deadline)
    }
}
