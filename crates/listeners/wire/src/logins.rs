//! Passwords: looked at one by one, on a thread of their own, so that they keep no worker from those
//! who are in already.

use crate::buckets::RateLimiter;
use crate::connection::Connection;
use crate::greet::{Claim, check, turned_away};
use crate::server::Shared;
use crate::shares::{Holder, Permit, Permits, Portion};
use bobak_core::{Error, ErrorKind};
use bobak_wire::Credentials;
use std::collections::VecDeque;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::net::IpAddr;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How many log-ins may wait, and how many of them of one address.
const WAITING: Portion = Portion { whole: 256, caller: 256, address: 16 };
/// How long the thread stays without a log-in.
const STAY: Duration = Duration::from_secs(5);

/// The log-ins that wait. Both doors keep to the same limits.
pub struct LoginQueue {
    waiting: Permits,
    refusals: RateLimiter<(Option<IpAddr>, u64)>,
    hasher: RandomState,
}

/// A log-in that may be looked at.
pub struct Login {
    who: (Option<IpAddr>, u64),
    _permit: Permit,
}

/// The wire's thread of log-ins, and those that wait for it.
pub(crate) struct LoginThread {
    pub logins: LoginQueue,
    state: Mutex<State>,
    work: Condvar,
}

#[derive(Default)]
struct State {
    queue: VecDeque<(Connection, Claim, Login)>,
    has_thread: bool,
}

impl LoginQueue {
    /// `refusals` is how many wrong passwords a minute one address may show for one name.
    #[must_use]
    pub fn new(refusals: u32) -> Self {
        Self {
            waiting: Permits::new(WAITING),
            refusals: RateLimiter::new(refusals, Duration::from_secs(60)),
            hasher: RandomState::new(),
        }
    }

    /// Lets a password for this name be looked at.
    ///
    /// # Errors
    /// `Busy`, where too many for this name were wrong, with the time to wait; or where too many
    /// wait already.
    pub fn begin(
        &self,
        address: Option<IpAddr>,
        name: &str,
    ) -> Result<Login, (Error, Option<Duration>)> {
        let holder = Holder::at(address);
        let who = (holder.address(), self.hasher.hash_one(name));
        self.refusals.look(who).map_err(|wait| {
            let message = "too many passwords for this name were wrong: wait, and try again";
            (Error::new(ErrorKind::Busy, message), Some(wait))
        })?;
        let permit = self.waiting.take(&holder);
        let permit = permit.map_err(|part| (part.refusal("log-ins under way"), None))?;
        Ok(Login { who, _permit: permit })
    }

    /// Notes that the password was wrong.
    pub fn refused(&self, login: &Login) {
        self.refusals.count(login.who);
    }
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
        let login = match self.logins.begin(connection.peer, name) {
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
            let refused = || self.logins.refused(&login);
            // Who was refused was told so.
            if check(&mut connection, shared, &claim, refused).is_ok() {
                shared.pool.go_on_with(connection, shared);
            }
        }
    }

    fn next(&self, shared: &Shared) -> Option<(Connection, Claim, Login)> {
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
