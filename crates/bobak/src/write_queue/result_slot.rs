//! Passing one result to a thread or a task.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// A place for one result. The receiver blocks for it or polls it.
#[derive(Debug)]
pub(crate) struct ResultSlot<T> {
    state: Mutex<SlotState<T>>,
    filled: Condvar,
}

#[derive(Debug)]
enum SlotState<T> {
    Empty,
    Awaited(Waker),
    Full(T),
    /// The result was taken, or the receiver is gone.
    Closed,
}

impl<T> ResultSlot<T> {
    pub(crate) const fn new() -> Self {
        Self { state: Mutex::new(SlotState::Empty), filled: Condvar::new() }
    }

    /// Stores the result and wakes the receiver. Returns the result if the receiver is gone.
    pub(crate) fn put(&self, result: T) -> Option<T> {
        let mut state = self.lock();
        if matches!(*state, SlotState::Closed) {
            return Some(result);
        }
        let before = std::mem::replace(&mut *state, SlotState::Full(result));
        drop(state);
        match before {
            // A waker that panics concerns its own task.
            SlotState::Awaited(waker) => drop(catch_unwind(AssertUnwindSafe(|| waker.wake()))),
            _ => self.filled.notify_one(),
        }
        None
    }

    /// Takes the result, or registers the task; `None` if the result was taken before.
    pub(crate) fn poll(&self, context: &Context<'_>) -> Poll<Option<T>> {
        let mut state = self.lock();
        match std::mem::replace(&mut *state, SlotState::Closed) {
            SlotState::Full(result) => Poll::Ready(Some(result)),
            SlotState::Closed => Poll::Ready(None),
            SlotState::Awaited(mut waker) => {
                waker.clone_from(context.waker());
                *state = SlotState::Awaited(waker);
                Poll::Pending
            }
            SlotState::Empty => {
                *state = SlotState::Awaited(context.waker().clone());
                Poll::Pending
            }
        }
    }

    /// Blocks until there is a result, and takes it; `None` if it was taken before.
    pub(crate) fn wait(&self) -> Option<T> {
        let mut state = self.lock();
        loop {
            match std::mem::replace(&mut *state, SlotState::Closed) {
                SlotState::Full(result) => return Some(result),
                SlotState::Closed => return None,
                // A task polled it before; from now on this thread waits.
                SlotState::Empty | SlotState::Awaited(_) => *state = SlotState::Empty,
            }
            state = self.filled.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    pub(crate) fn is_full(&self) -> bool {
        matches!(*self.lock(), SlotState::Full(_))
    }

    /// The receiver is gone; returns the result if there is one.
    pub(crate) fn close(&self) -> Option<T> {
        match std::mem::replace(&mut *self.lock(), SlotState::Closed) {
            SlotState::Full(result) => Some(result),
            _ => None,
        }
    }

    fn lock(&self) -> MutexGuard<'_, SlotState<T>> {
        // The state changes in single steps, so a panic leaves it valid.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
