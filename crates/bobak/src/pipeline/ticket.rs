//! What one gets for a write that is under way.

use super::lane::Lane;
use bobak_core::{Error, ErrorKind, Outcome, Result};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// The result of a write that a [`Pipeline`](crate::Pipeline) was given: wait for it with
/// [`wait`](Ticket::wait), or `.await` it in any runtime.
///
/// Where it is dropped the write goes on; an error of it is then what
/// [`Pipeline::flush`](crate::Pipeline::flush) gives.
#[must_use = "the write may fail: wait for the ticket, or flush the pipeline"]
pub struct Ticket<R> {
    slot: Arc<Slot>,
    lane: Arc<Lane>,
    table: &'static str,
    read: Read<R>,
    /// What the call gives where the outcome does not tell.
    given: Option<R>,
}

/// Makes of an outcome what the call promised.
pub(super) type Read<R> = fn(Outcome, Option<R>) -> Result<R>;

// Nothing in it is pinned.
impl<R> Unpin for Ticket<R> {}

/// Where a result is put.
#[derive(Debug, Default)]
pub(super) struct Slot {
    state: Mutex<State>,
    done: Condvar,
}

#[derive(Debug, Default)]
enum State {
    /// Under way; whom to wake.
    #[default]
    Waiting,
    Awaited(Waker),
    Done(Result<Outcome>),
    /// Fetched, or wanted by nobody.
    Over,
}

impl<R> Ticket<R> {
    pub(super) fn new(
        slot: Arc<Slot>,
        lane: Arc<Lane>,
        table: &'static str,
        read: Read<R>,
        given: Option<R>,
    ) -> Self {
        Self { slot, lane, table, read, given }
    }

    /// Waits until the write is done: as durable as by the plain call.
    ///
    /// # Errors
    /// As the plain call; `Unknown` where the thread that wrote broke down.
    pub fn wait(mut self) -> Result<R> {
        let mut state = self.slot.lock();
        let outcome = loop {
            if let Some(outcome) = state.take() {
                break outcome;
            }
            state = self.slot.done.wait(state).unwrap_or_else(PoisonError::into_inner);
        };
        drop(state);
        self.finish(outcome)
    }

    /// Whether it is done, well or not: [`wait`](Ticket::wait) does not wait then.
    #[must_use]
    pub fn is_done(&self) -> bool {
        matches!(*self.slot.lock(), State::Done(_))
    }

    fn finish(&mut self, outcome: Result<Outcome>) -> Result<R> {
        let read = outcome.and_then(|outcome| (self.read)(outcome, self.given.take()));
        read.map_err(|error| error.in_table(self.table))
    }
}

impl<R> Future for Ticket<R> {
    type Output = Result<R>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<R>> {
        let mut state = self.slot.lock();
        match state.take() {
            Some(outcome) => {
                drop(state);
                Poll::Ready(self.finish(outcome))
            }
            None => {
                *state = State::Awaited(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl<R> Drop for Ticket<R> {
    fn drop(&mut self) {
        if let State::Done(Err(error)) = std::mem::replace(&mut *self.slot.lock(), State::Over) {
            self.lane.lost(error.in_table(self.table));
        }
    }
}

impl<R> fmt::Debug for Ticket<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ticket").field("done", &self.is_done()).finish_non_exhaustive()
    }
}

impl Slot {
    /// Puts the result; gives it back where nobody wants it any more.
    pub(super) fn put(&self, outcome: Result<Outcome>) -> Option<Result<Outcome>> {
        let mut state = self.lock();
        if matches!(*state, State::Over) {
            return Some(outcome);
        }
        let before = std::mem::replace(&mut *state, State::Done(outcome));
        drop(state);
        match before {
            State::Awaited(waker) => waker.wake(),
            _ => self.done.notify_one(),
        }
        None
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // The state is changed in single steps, whoever panics.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn take(&mut self) -> Option<Result<Outcome>> {
        match std::mem::replace(self, Self::Over) {
            Self::Done(outcome) => Some(outcome),
            Self::Over => {
                Some(Err(Error::new(ErrorKind::Misuse, "a ticket gives its result once")))
            }
            waiting => {
                *self = waiting;
                None
            }
        }
    }
}
