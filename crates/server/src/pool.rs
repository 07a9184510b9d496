//! Worker threads: made when there is work, gone when there is none.

use crate::connection::{Connection, Gone};
use crate::lobby::Lobby;
use crate::serve::{Ended, serve};
use crate::server::Shared;
use bobak_core::{Error, ErrorKind};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long a worker without work stays.
const STAY: Duration = Duration::from_secs(5);

/// The workers, and the connections that wait for one.
#[derive(Default)]
pub(crate) struct Pool {
    state: Mutex<State>,
    work: Condvar,
    left: Condvar,
    /// How many connections wait: looked at by workers that could give theirs back.
    waiting: AtomicUsize,
}

#[derive(Default)]
struct State {
    queue: VecDeque<(Instant, Connection)>,
    workers: usize,
    idle: usize,
}

/// Counts a worker out however it ends.
struct Worker<'p>(&'p Pool);

impl Drop for Worker<'_> {
    fn drop(&mut self) {
        self.0.lock().workers -= 1;
        self.0.left.notify_all();
    }
}

impl Pool {
    /// Has a worker serve a connection, as soon as there is one.
    pub fn submit(&self, connection: Connection, shared: &Arc<Shared>) {
        let mut state = self.lock();
        state.queue.push_back((Instant::now(), connection));
        self.waiting.store(state.queue.len(), Ordering::Relaxed);
        if state.idle >= state.queue.len() {
            self.work.notify_one();
        } else if state.workers < shared.settings.workers.max(1) {
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

    /// Whether connections wait for a worker.
    #[inline]
    pub fn has_queue(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > 0
    }

    /// Those that have waited for too long: they are to be told.
    pub fn take_overdue(&self, patience: Duration) -> Vec<Connection> {
        let mut state = self.lock();
        let mut overdue = Vec::new();
        while state.queue.front().is_some_and(|(since, _)| since.elapsed() > patience) {
            overdue.extend(state.queue.pop_front().map(|(_, connection)| connection));
        }
        self.waiting.store(state.queue.len(), Ordering::Relaxed);
        overdue
    }

    /// Wakes the workers, and waits until they are gone or the time is over.
    pub fn wait_for_end(&self, patience: Duration) -> bool {
        let deadline = Instant::now() + patience;
        let mut state = self.lock();
        state.queue.clear();
        self.waiting.store(0, Ordering::Relaxed);
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

    /// The next connection; `None` where the worker is not needed any more.
    fn next(&self, shared: &Shared) -> Option<Connection> {
        let mut state = self.lock();
        loop {
            if let Some((_, connection)) = state.queue.pop_front() {
                self.waiting.store(state.queue.len(), Ordering::Relaxed);
                return Some(connection);
            }
            if shared.is_stopping() {
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

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn work(shared: &Arc<Shared>) {
    let _worker = Worker(&shared.pool);
    while let Some(mut connection) = shared.pool.next(shared) {
        match serve(&mut connection, shared) {
            Ended::Rests => {
                connection.rest();
                Lobby::give_back(connection, shared);
            }
            Ended::Gone(gone) => log_end(&gone, &connection, shared),
        }
    }
}

/// What ended otherwise than by the client's own will is worth a line.
pub(crate) fn log_end(gone: &Gone, connection: &Connection, shared: &Shared) {
    let who = connection.guest.as_ref().map_or("a client", |guest| guest.caller.name());
    match gone {
        Gone::Left => {}
        Gone::Io(error) => shared.log(&format!("{who}: {error}")),
        Gone::Wrong(error) => shared.log(&format!("{who} was cut off: {error}")),
    }
}

/// The answer to those who waited too long for a worker.
pub(crate) fn too_busy() -> Error {
    Error::new(ErrorKind::Busy, "all workers of the server are at work: try again later")
}
