//! The pool of worker threads: started when there is work, ended when there is none.
//!
//! A connection with a request counts in the worker quotas of its client and its address. If a quota
//! is used up, the connection waits until another one in the same scope is done, so that no client
//! occupies all workers.

use super::shutdown::Shutdown;
use crate::connection::Connection;
use crate::settings::Settings;
use bobak_core::{Error, ErrorKind};
use bobak_serving::{FairQueue, Principal, QuotaLimits, Scope};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long a worker without work stays.
const IDLE_TIMEOUT: Duration = Duration::from_secs(5);

/// The workers, and the connections that wait for one.
pub(crate) struct RequestWorkers {
    state: Mutex<RequestWorkersState>,
    work: Condvar,
    ended: Condvar,
    /// The most workers, except those for exempt principals.
    max_workers: usize,
    start_worker: StartWorker,
    shutdown: Arc<Shutdown>,
    /// Copies of the numbers of connections that wait for a worker, and for their quota: busy workers
    /// read them after every request, without the lock.
    waiting_for_worker: AtomicUsize,
    waiting_for_quota: AtomicUsize,
}

type StartWorker = Box<dyn Fn() -> bool + Send + Sync>;

struct RequestWorkersState {
    /// Connections within their quota, which wait for a worker.
    ready: VecDeque<QueuedConnection>,
    /// Connections that wait for their quota.
    waiters: FairQueue<QueuedConnection>,
    workers: usize,
    idle: usize,
}

/// A connection, and since when it waits.
type QueuedConnection = (Instant, Connection);

/// Counts a worker until it ends, even by a panic.
pub(crate) struct CountedWorker<'p>(&'p RequestWorkers);

impl Drop for CountedWorker<'_> {
    fn drop(&mut self) {
        self.0.lock().workers -= 1;
        self.0.ended.notify_all();
    }
}

/// The quota of a connection while it is served, returned however that ends.
pub(crate) struct ServedQuota<'p> {
    pool: &'p RequestWorkers,
    principal: Principal,
}

impl Drop for ServedQuota<'_> {
    fn drop(&mut self) {
        let mut state = self.pool.lock();
        state.release(&self.principal);
        self.pool.dispatch(state);
    }
}

impl RequestWorkers {
    pub fn new(settings: &Settings, shutdown: Arc<Shutdown>, start_worker: StartWorker) -> Self {
        let max_workers = settings.max_workers.max(1);
        let limits = QuotaLimits::with_share(max_workers, settings.client_quota);
        // The total is not a quota: connections wait for a worker in `ready`.
        let limits = QuotaLimits { total: usize::MAX, ..limits };
        let waiters = FairQueue::new(limits, |_| true);
        let state = RequestWorkersState { ready: VecDeque::new(), waiters, workers: 0, idle: 0 };
        Self {
            state: Mutex::new(state),
            work: Condvar::new(),
            ended: Condvar::new(),
            max_workers,
            start_worker,
            shutdown,
            waiting_for_worker: AtomicUsize::new(0),
            waiting_for_quota: AtomicUsize::new(0),
        }
    }

    /// Queues a connection for a worker, subject to its quota.
    pub fn submit(&self, connection: Connection) {
        let mut state = self.lock();
        state.enqueue((Instant::now(), connection));
        self.dispatch(state);
    }

    /// Whether connections wait for a worker or their quota.
    pub fn has_waiters(&self) -> bool {
        self.waiting_for_worker.load(Ordering::Relaxed)
            + self.waiting_for_quota.load(Ordering::Relaxed)
            > 0
    }

    /// Whether another connection waits for the worker or the quota of this principal.
    #[inline]
    pub fn is_contended(&self, principal: &Principal) -> bool {
        self.waiting_for_worker.load(Ordering::Relaxed) > 0
            || self.waiting_for_quota.load(Ordering::Relaxed) > 0
                && self.lock().waiters.is_contended(principal)
    }

    /// Removes the connections that have waited for longer than `timeout`, with their errors.
    pub fn take_overdue(&self, timeout: Duration) -> Vec<(Connection, Error)> {
        let mut state = self.lock();
        let without_worker = take_older(&mut state.ready, timeout);
        let over_quota = state.waiters.remove(|(since, _)| since.elapsed() > timeout);
        let error = |(scope, (_, connection)): (Scope, QueuedConnection)| {
            (connection, scope.quota_error("requests at a time"))
        };
        let mut overdue: Vec<_> = over_quota.into_iter().map(error).collect();
        for (_, connection) in without_worker {
            state.release(&connection.principal);
            let message = "all workers are busy: try again later";
            overdue.push((connection, Error::new(ErrorKind::Busy, message)));
        }
        self.update_counts(&state);
        overdue
    }

    /// Drops waiting connections, and waits until the workers have ended. Returns whether they have
    /// within `timeout`.
    pub fn wait_for_end(&self, timeout: Duration) -> bool {
        let deadline = Instant::now() + timeout;
        let mut state = self.lock();
        state.ready.clear();
        state.waiters.remove(|_| true);
        self.update_counts(&state);
        while state.workers > 0 {
            self.work.notify_all();
            let rest = deadline.saturating_duration_since(Instant::now());
            if rest.is_zero() {
                return false;
            }
            let waited = self.ended.wait_timeout(state, rest);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    /// Counts the calling worker until it ends.
    pub const fn count_worker(&self) -> CountedWorker<'_> {
        CountedWorker(self)
    }

    /// The quota that a connection has acquired, to be dropped when it has been served.
    pub fn quota_of(&self, connection: &Connection) -> ServedQuota<'_> {
        ServedQuota { pool: self, principal: connection.principal.clone() }
    }

    /// The next connection for a worker; `None` if the worker is to end.
    pub fn next(&self) -> Option<Connection> {
        let mut state = self.lock();
        loop {
            // A worker beyond the limit serves exempt principals only.
            let is_surplus = state.workers > self.max_workers;
            let fits = |(_, first): &QueuedConnection| !is_surplus || first.principal.is_exempt();
            if state.ready.front().is_some_and(fits) {
                let next = state.ready.pop_front().map(|(_, connection)| connection);
                self.update_counts(&state);
                return next;
            }
            if self.shutdown.has_started() || is_surplus {
                return None;
            }
            state.idle += 1;
            let waited = self.work.wait_timeout(state, IDLE_TIMEOUT);
            let (locked, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
            state = locked;
            state.idle -= 1;
            if timeout.timed_out() && state.ready.is_empty() {
                return None;
            }
        }
    }

    /// Wakes or starts a worker for the connections that are ready.
    fn dispatch(&self, mut state: MutexGuard<'_, RequestWorkersState>) {
        self.update_counts(&state);
        let Some((_, first)) = state.ready.front() else { return };
        // Exempt principals come first, and get an additional worker if all are busy.
        let is_exempt = first.principal.is_exempt();
        let limit = if is_exempt { self.max_workers.saturating_mul(2) } else { self.max_workers };
        if state.idle >= state.ready.len() {
            self.work.notify_one();
        } else if state.workers < limit {
            state.workers += 1;
            if !(self.start_worker)() {
                state.workers -= 1;
            }
        }
    }

    fn update_counts(&self, state: &RequestWorkersState) {
        self.waiting_for_worker.store(state.ready.len(), Ordering::Relaxed);
        self.waiting_for_quota.store(state.waiters.waiting(), Ordering::Relaxed);
    }

    fn lock(&self) -> MutexGuard<'_, RequestWorkersState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RequestWorkersState {
    /// Queues a connection: for a worker, or for its quota if that is used up.
    fn enqueue(&mut self, queued: QueuedConnection) {
        match self.waiters.try_acquire(&queued.1.principal) {
            Ok(()) => self.make_ready(queued),
            Err(scope) => self.waiters.enqueue(scope, queued.1.principal.clone(), queued),
        }
    }

    /// Returns the quota of a principal. Connections that waited for it become ready.
    fn release(&mut self, principal: &Principal) {
        for (_, queued) in self.waiters.release(principal) {
            self.make_ready(queued);
        }
    }

    /// Queues a connection that has its quota for a worker.
    fn make_ready(&mut self, queued: QueuedConnection) {
        match queued.1.principal.is_exempt() {
            true => self.ready.push_front(queued),
            false => self.ready.push_back(queued),
        }
    }
}

/// Removes the connections that have waited for longer than `timeout`.
fn take_older(
    queue: &mut VecDeque<QueuedConnection>,
    timeout: Duration,
) -> VecDeque<QueuedConnection> {
    if queue.iter().all(|(since, _)| since.elapsed() <= timeout) {
        return VecDeque::new();
    }
    let all = std::mem::take(queue).into_iter();
    let (older, rest) = all.partition(|(since, _)| since.elapsed() > timeout);
    *queue = rest;
    older
}
