//! Password checks: one at a time, on a thread of their own, so that they occupy no worker.
//!
//! A client that sends a wrong password ends up here: [`authenticate`] tells it that the password is
//! wrong, the [`LoginQueue`] counts it, and the connection is closed.

use crate::connection::Connection;
use crate::greet::{Claim, check, turned_away};
use crate::server::Shared;
use bobak_permissions::Credentials;
use bobak_serving::{LoginAttempt, LoginQueue};
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long the thread stays without a log-in.
const STAY: Duration = Duration::from_secs(5);

/// The thread of log-ins, and those that wait for it.
pub(crate) struct LoginThread {
    logins: LoginQueue,
    state: Mutex<State>,
    work: Condvar,
}

#[derive(Default)]
struct State {
    queue: VecDeque<(Connection, Claim, LoginAttempt)>,
    has_thread: bool,
}

impl LoginThread {
    pub fn new(refusals: u32) -> Self {
        Self { logins: LoginQueue::new(refusals), state: Mutex::default(), work: Condvar::new() }
    }

    /// Has a client's password looked at; it then goes to the workers.
    pub fn submit(&self, mut connection: Connection, shared: &Arc<Shared>) {
        let Some(claim) = connection.claim.take() else { return };
        let name = match &claim.1.credentials {
            Credentials::User { name, .. } => name.as_str(),
            _ => "",
        };
        let login = match self.logins.admit(connection.peer, name) {
            Ok(login) => login,
            Err((error, _)) => {
                turned_away(&mut connection, shared, claim.0, &error);
                return;
            }
        };
        let mut state = self.lock();
        state.queue.push_back((connection, claim, login));
        if state.has_thread {
            self.work.notify_one();
            return;
        }
        let theirs = Arc::clone(shared);
        let thread = std::thread::Builder::new().name("bobak log-ins".to_owned());
        state.has_thread = thread.spawn(move || theirs.logins.run(&theirs)).is_ok();
        if !state.has_thread {
            // Without it nobody would ever look at them.
            state.queue.clear();
        }
    }

    fn run(&self, shared: &Arc<Shared>) {
        while let Some((mut connection, claim, login)) = self.next(shared) {
            let refused = || self.logins.record_wrong_password(&login);
            // Who was refused was told so.
            if check(&mut connection, shared, &claim, refused).is_ok() {
                shared.pool.go_on_with(connection, shared);
            }
        }
    }

    fn next(&self, shared: &Shared) -> Option<(Connection, Claim, LoginAttempt)> {
        let mut state = self.lock();
        loop {
            if shared.is_stopping() {
                state.queue.clear();
            }
            if let Some(first) = state.queue.pop_front() {
                return Some(first);
            }
            let waited = self.work.wait_timeout(state, STAY);
            let (again, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
            state = again;
            if state.queue.is_empty() && (timeout.timed_out() || shared.is_stopping()) {
                state.has_thread = false;
                return None;
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
