//! Futures that wait for a thread's work.

use super::workers::{Job, Pool, Workers};
use bobak_core::Interrupt;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// The result of work that a thread does: a future for any runtime.
///
/// The work gets in line when the answer is polled first. Dropped before a thread has begun, it is
/// cancelled; dropped later, the statement under way is [ended](crate::Interrupt), and those after it are
/// refused.
#[must_use = "nothing is done before the answer is awaited"]
pub struct Answer<R> {
    wanted: Arc<dyn Wanted<R>>,
    begin: Option<Begin>,
    // Held so that the threads do not end before the work is done.
    workers: Workers,
}

/// What puts the work in line.
type Begin = Box<dyn FnOnce(&Arc<Pool>) + Send>;

/// Work whose result is waited for.
pub(super) trait Wanted<R>: Send + Sync {
    /// Where its result comes.
    fn slot(&self) -> &Slot<R>;

    /// Forgets the work; where a thread has begun with it, ends what can be ended.
    fn cancel(&self);
}

/// Where a result is put, and who is woken then.
pub(super) struct Slot<R>(Mutex<State<R>>);

enum State<R> {
    Waiting(Option<Waker>),
    Done(std::thread::Result<R>),
    Taken,
}

/// A closure in line.
pub(super) struct Task<F, R> {
    work: Mutex<Option<F>>,
    slot: Slot<R>,
    /// For when nobody waits for the result any more.
    unwanted: Interrupt,
}

impl<R> Answer<R> {
    pub(super) fn new(
        workers: &Workers,
        wanted: Arc<dyn Wanted<R>>,
        begin: impl FnOnce(&Arc<Pool>) + Send + 'static,
    ) -> Self {
        Self { wanted, begin: Some(Box::new(begin)), workers: workers.clone() }
    }

    /// Gets in line, where it is not there already.
    pub(super) fn start(&mut self) {
        if let Some(begin) = self.begin.take() {
            begin(self.workers.pool());
        }
    }
}

impl<R> Future for Answer<R> {
    type Output = R;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<R> {
        // Before the work gets in line: who does it must find somebody to wake.
        let polled = self.wanted.slot().poll(context);
        if polled.is_pending() {
            self.start();
        }
        polled
    }
}

impl<R> Drop for Answer<R> {
    fn drop(&mut self) {
        self.wanted.cancel();
    }
}

impl<R> std::fmt::Debug for Answer<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Answer").field("begun", &self.begin.is_none()).finish_non_exhaustive()
    }
}

impl<R> Slot<R> {
    pub(super) const fn new() -> Self {
        Self(Mutex::new(State::Waiting(None)))
    }

    /// Puts the result, and wakes who waits for it.
    pub(super) fn put(&self, result: std::thread::Result<R>) {
        let before = std::mem::replace(&mut *lock(&self.0), State::Done(result));
        if let State::Waiting(Some(waker)) = before {
            waker.wake();
        }
    }

    fn poll(&self, context: &Context<'_>) -> Poll<R> {
        let mut state = lock(&self.0);
        match &mut *state {
            State::Waiting(waker) => {
                match waker {
                    Some(waker) => waker.clone_from(context.waker()),
                    none => *none = Some(context.waker().clone()),
                }
                return Poll::Pending;
            }
            // As a future of the standard library that is polled after its end.
            State::Taken => return Poll::Pending,
            State::Done(_) => {}
        }
        let taken = std::mem::replace(&mut *state, State::Taken);
        drop(state);
        match taken {
            State::Done(Ok(result)) => Poll::Ready(result),
            State::Done(Err(panic)) => resume_unwind(panic),
            _ => Poll::Pending,
        }
    }
}

impl<F, R> Task<F, R> {
    pub(super) fn new(work: F) -> Self {
        Self { work: Mutex::new(Some(work)), slot: Slot::new(), unwanted: Interrupt::new() }
    }
}

impl<F: FnOnce() -> R + Send, R: Send> Job for Task<F, R> {
    fn run(self: Arc<Self>, _: &Arc<Pool>) {
        let work = lock(&self.work).take();
        if let Some(work) = work {
            let work = AssertUnwindSafe(|| self.unwanted.run(work));
            self.slot.put(catch_unwind(work));
        }
    }
}

impl<F: FnOnce() -> R + Send, R: Send> Wanted<R> for Task<F, R> {
    fn slot(&self) -> &Slot<R> {
        &self.slot
    }

    fn cancel(&self) {
        let work = lock(&self.work).take();
        if work.is_none() {
            self.unwanted.interrupt();
        }
    }
}

/// What is behind these locks is changed in single steps: a panic leaves it whole.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
