//! Worker threads: made when there is work, gone when there is none.
//!
//! A connection that has something to say takes a share of the workers, its caller's and its
//! address's. Where that is used up it is held until another of the same share comes back, so that
//! no caller has all of them.

use crate::connection::{Connection, Gone};
use crate::lobby::Lobby;
use crate::serve::{Ended, serve};
use crate::server::Shared;
use crate::settings::Settings;
use bobak_core::{Error, ErrorKind};
use bobak_serving::{FairQueue, Principal, QuotaLimits, Scope};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long a worker without work stays.
const STAY: Duration = Duration::from_secs(5);

/// The workers, and the connections that wait for one.
pub(crate) struct Pool {
    state: Mutex<State>,
    work: Condvar,
    left: Condvar,
    /// The most workers, but for those who no share keeps out.
    most: usize,
    /// How many connections wait for a worker, and how many for their share: looked at by workers
    /// that could give theirs back.
    waiting: AtomicUsize,
    held: AtomicUsize,
}

struct State {
    queue: Queue,
    /// Who waits for a share.
    waiters: FairQueue<Waits>,
    workers: usize,
    idle: usize,
}

/// A connection, and since when it waits.
type Waits = (Instant, Connection);
/// Connections that have their share, and wait for a worker.
type Queue = VecDeque<Waits>;

/// Counts a worker out however it ends.
struct Worker<'p>(&'p Pool);

impl Drop for Worker<'_> {
    fn drop(&mut self) {
        self.0.lock().workers -= 1;
        self.0.left.notify_all();
    }
}

/// A share that a connection has while it is served; it is given back however that ends.
struct Served<'s> {
    shared: &'s Arc<Shared>,
    principal: Principal,
}

impl Drop for Served<'_> {
    fn drop(&mut self) {
        self.shared.pool.give_back(&self.principal, self.shared);
    }
}

impl Pool {
    pub fn new(settings: &Settings) -> Self {
        let most = settings.workers.max(1);
        // What has its share waits for a worker.
        let limits =
            QuotaLimits { total: usize::MAX, ..QuotaLimits::with_share(most, settings.share) };
        let state = State {
            queue: Queue::new(),
            waiters: FairQueue::new(limits, |_| true),
            workers: 0,
            idle: 0,
        };
        Self {
            state: Mutex::new(state),
            work: Condvar::new(),
            left: Condvar::new(),
            most,
            waiting: AtomicUsize::new(0),
            held: AtomicUsize::new(0),
        }
    }

    /// Has a worker serve a connection, as soon as there is one and its share allows it.
    pub fn submit(&self, connection: Connection, shared: &Arc<Shared>) {
        let mut state = self.lock();
        state.enter((Instant::now(), connection));
        self.go_on(state, shared);
    }

    /// Goes on with a connection that was let in just now, by its caller's share.
    pub fn go_on_with(&self, mut connection: Connection, shared: &Arc<Shared>) {
        match connection.has_more() {
            Ok(true) => {
                self.submit(connection, shared);
                // The poller has an eye on how long it waits.
                if let Some(back) = shared.back.get() {
                    // Where it can't be woken, it is gone.
                    let _ = back.waker.wake();
                }
            }
            Ok(false) => {
                connection.rest();
                Lobby::give_back(connection, shared);
            }
            Err(gone) => log_end(&gone, &connection, shared),
        }
    }

    /// Whether connections wait, for a worker or for their share.
    pub fn has_queue(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) + self.held.load(Ordering::Relaxed) > 0
    }

    /// Whether somebody waits for what this connection has.
    #[inline]
    pub fn is_wanted(&self, principal: &Principal) -> bool {
        self.waiting.load(Ordering::Relaxed) > 0
            || self.held.load(Ordering::Relaxed) > 0 && self.lock().waiters.is_contended(principal)
    }

    /// Those that have waited for too long, and what they are to be told.
    pub fn take_overdue(&self, patience: Duration) -> Vec<(Connection, Error)> {
        let mut state = self.lock();
        let late = take_older(&mut state.queue, patience);
        let theirs = state.waiters.remove(|(since, _)| since.elapsed() > patience);
        let told = |(scope, (_, connection)): (Scope, Waits)| {
            (connection, scope.quota_error("requests at a time"))
        };
        let mut overdue: Vec<_> = theirs.into_iter().map(told).collect();
        for (_, connection) in late {
            state.leave(&connection.principal);
            overdue.push((connection, too_busy()));
        }
        self.note(&state);
        overdue
    }

    /// Wakes the workers, and waits until they are gone or the time is over.
    pub fn wait_for_end(&self, patience: Duration) -> bool {
        let deadline = Instant::now() + patience;
        let mut state = self.lock();
        state.queue.clear();
        state.waiters.remove(|_| true);
        self.note(&state);
        while state.workers > 0 {
            self.work.notify_all();
            let rest = deadline.saturating_duration_since(Instant::now());
            if rest.is_zero() {
                return false;
            }
            let waited = self.left.wait_timeout(state, rest);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }

    /// Gives a share back.
    fn give_back(&self, principal: &Principal, shared: &Arc<Shared>) {
        let mut state = self.lock();
        state.leave(principal);
        self.go_on(state, shared);
    }

    /// Sees to it that somebody takes what waits.
    fn go_on(&self, mut state: MutexGuard<'_, State>, shared: &Arc<Shared>) {
        self.note(&state);
        let Some((_, first)) = state.queue.front() else { return };
        // Who is exempt comes first, and gets a worker besides where all are taken.
        let most =
            if first.principal.is_exempt() { self.most.saturating_mul(2) } else { self.most };
        if state.idle >= state.queue.len() {
            self.work.notify_one();
        } else if state.workers < most {
            state.workers += 1;
            let theirs = Arc::clone(shared);
            let started = std::thread::Builder::new()
                .name("bobak worker".to_owned())
                .spawn(move || work(&theirs));
            if started.is_err() {
                state.workers -= 1;
            }
        }
    }

    /// The next connection; `None` where the worker is not needed any more.
    fn next(&self, shared: &Shared) -> Option<Connection> {
        let mut state = self.lock();
        loop {
            // One beyond the number serves who is exempt, and nobody else.
            let surplus = state.workers > self.most;
            let fits = |(_, first): &(_, Connection)| !surplus || first.principal.is_exempt();
            if state.queue.front().is_some_and(fits) {
                let next = state.queue.pop_front().map(|(_, connection)| connection);
                self.note(&state);
                return next;
            }
            if shared.is_stopping() || surplus {
                return None;
            }
            state.idle += 1;
            let waited = self.work.wait_timeout(state, STAY);
            let (again, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
            state = again;
            state.idle -= 1;
            if timeout.timed_out() && state.queue.is_empty() {
                return None;
            }
        }
    }

    fn note(&self, state: &State) {
        self.waiting.store(state.queue.len(), Ordering::Relaxed);
        self.held.store(state.waiters.waiting(), Ordering::Relaxed);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Takes a connection in: behind the others, or where its share is used up behind those of the
    /// same.
    fn enter(&mut self, waits: Waits) {
        match self.waiters.try_acquire(&waits.1.principal) {
            Ok(()) => self.queue_up(waits),
            Err(scope) => self.waiters.enqueue(scope, waits.1.principal.clone(), waits),
        }
    }

    /// Gives a share back: those who waited for it go on.
    fn leave(&mut self, principal: &Principal) {
        for (_, waits) in self.waiters.release(principal) {
            self.queue_up(waits);
        }
    }

    /// Has a connection that has its share wait for a worker.
    fn queue_up(&mut self, waits: Waits) {
        match waits.1.principal.is_exempt() {
            true => self.queue.push_front(waits),
            false => self.queue.push_back(waits),
        }
    }
}

/// Takes out those that have waited for longer.
fn take_older(queue: &mut Queue, patience: Duration) -> Queue {
    if queue.iter().all(|(since, _)| since.elapsed() <= patience) {
        return Queue::new();
    }
    let all = std::mem::take(queue).into_iter();
    let (older, rest) = all.partition(|(since, _)| since.elapsed() > patience);
    *queue = rest;
    older
}

fn work(shared: &Arc<Shared>) {
    let _worker = Worker(&shared.pool);
    while let Some(mut connection) = shared.pool.next(shared) {
        let served = Served { shared, principal: connection.principal.clone() };
        let ended = serve(&mut connection, shared);
        drop(served);
        match ended {
            Ended::Rests => {
                connection.rest();
                Lobby::give_back(connection, shared);
            }
            Ended::Greeted => shared.pool.go_on_with(connection, shared),
            Ended::LogsIn => shared.logins.submit(connection, shared),
            Ended::Gone(gone) => log_end(&gone, &connection, shared),
        }
    }
}

/// What ended otherwise than by the client's own will is worth a line; and who did not wait for what
/// it had asked for.
pub(crate) fn log_end(gone: &Gone, connection: &Connection, shared: &Shared) {
    let tell = |what: std::fmt::Arguments<'_>| {
        shared.audit_log.client_event(connection.peer, format_args!("{connection} {what}"));
    };
    match gone {
        // What the system calls it, a broken pipe or a reset, says nothing of the server.
        gone if gone.has_left() => {
            if connection.owes() {
                tell(format_args!("left before it had its answer"));
            }
        }
        Gone::Left => {}
        Gone::Io(error) => tell(format_args!("was cut off: {error}")),
        Gone::Wrong(error) => tell(format_args!("was cut off: {error}")),
    }
}

/// The answer to those who waited too long for a worker.
fn too_busy() -> Error {
    Error::new(ErrorKind::Busy, "all workers of the server are at work: try again later")
}
