//! The connections whose password must be checked.

use super::shutdown::Shutdown;
use crate::connection::{Connection, HelloRequest};
use bobak_serving::{LoginAttempt, LoginQueue};
use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long the thread stays without a login.
const IDLE_TIMEOUT: Duration = Duration::from_secs(5);

/// The queue of the thread that checks passwords.
pub(crate) struct PasswordQueue {
    pub limits: LoginQueue,
    state: Mutex<PasswordQueueState>,
    work: Condvar,
}

/// A login that waits.
pub(crate) type PendingLogin = (Connection, HelloRequest, LoginAttempt);

#[derive(Default)]
struct PasswordQueueState {
    queue: VecDeque<PendingLogin>,
    has_thread: bool,
}

impl PasswordQueue {
    pub fn new(max_failed_logins: u32) -> Self {
        let limits = LoginQueue::new(max_failed_logins);
        Self { limits, state: Mutex::default(), work: Condvar::new() }
    }

    /// Adds a login. `start_thread` is called if there is no thread, and returns whether it started
    /// one.
    pub fn push(&self, login: PendingLogin, start_thread: impl FnOnce() -> bool) {
        let mut state = self.lock();
        state.queue.push_back(login);
        if state.has_thread {
            self.work.notify_one();
            return;
        }
        state.has_thread = start_thread();
        if !state.has_thread {
            // Without a thread nobody would ever check them.
            state.queue.clear();
        }
    }

    /// The next login; `None` if the thread must end.
    pub fn pop(&self, shutdown: &Shutdown) -> Option<PendingLogin> {
        let mut state = self.lock();
        loop {
            if shutdown.has_started() {
                state.queue.clear();
            }
            if let Some(first) = state.queue.pop_front() {
                return Some(first);
            }
            let waited = self.work.wait_timeout(state, IDLE_TIMEOUT);
            let (locked, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
            state = locked;
            if state.queue.is_empty() && (timeout.timed_out() || shutdown.has_started()) {
                state.has_thread = false;
                return None;
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, PasswordQueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
