//! Futures for work that a worker thread does.

use super::workers::{Job, WorkerPool, Workers};
use crate::write_queue::ResultSlot;
use bobak_core::Interrupt;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

/// The future result of work on a worker thread, for any runtime.
///
/// The first poll queues the work. Dropping the future cancels the work if it is queued; if it is running, the current
/// statement is [interrupted](crate::Interrupt) and later ones are rejected.
#[must_use = "nothing happens before the future is awaited"]
pub struct DbFuture<R> {
    work: Arc<dyn PendingWork<R>>,
    enqueue: Option<Enqueue>,
    /// Keeps the threads alive until the work is done.
    workers: Workers,
}

/// Queues the work.
type Enqueue = Box<dyn FnOnce(&Arc<WorkerPool>) + Send>;

/// Where a worker puts its result; an `Err` is the payload of a panic.
pub(super) type WorkSlot<R> = ResultSlot<std::thread::Result<R>>;

/// Work that a future waits for.
pub(super) trait PendingWork<R>: Send + Sync {
    fn slot(&self) -> &WorkSlot<R>;

    /// Cancels the work if it is queued; interrupts it if it is running and can be.
    fn cancel(&self);
}

/// A queued closure.
pub(super) struct ClosureTask<F, R> {
    work: Mutex<Option<F>>,
    slot: WorkSlot<R>,
    interrupt: Interrupt,
}

impl<R> DbFuture<R> {
    pub(super) fn new(
        workers: &Workers,
        work: Arc<dyn PendingWork<R>>,
        enqueue: impl FnOnce(&Arc<WorkerPool>) + Send + 'static,
    ) -> Self {
        Self { work, enqueue: Some(Box::new(enqueue)), workers: workers.clone() }
    }

    /// Queues the work unless it is queued already.
    pub(super) fn start(&mut self) {
        if let Some(enqueue) = self.enqueue.take() {
            enqueue(self.workers.pool());
        }
    }
}

impl<R> Future for DbFuture<R> {
    type Output = R;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<R> {
        // Registers the waker before the work is queued, so that its end cannot be missed.
        let polled = self.work.slot().poll(context);
        if polled.is_pending() {
            self.start();
        }
        match ready!(polled) {
            Some(Ok(result)) => Poll::Ready(result),
            Some(Err(panic)) => resume_unwind(panic),
            // Polled after its end, as for futures of the standard library.
            None => Poll::Pending,
        }
    }
}

impl<R> Drop for DbFuture<R> {
    fn drop(&mut self) {
        self.work.cancel();
    }
}

impl<R> std::fmt::Debug for DbFuture<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DbFuture").field("queued", &self.enqueue.is_none()).finish_non_exhaustive()
    }
}

impl<F, R> ClosureTask<F, R> {
    pub(super) fn new(work: F) -> Self {
        let (slot, interrupt) = (WorkSlot::new(), Interrupt::new());
        Self { work: Mutex::new(Some(work)), slot, interrupt }
    }
}

impl<F: FnOnce() -> R + Send, R: Send> Job for ClosureTask<F, R> {
    fn run(self: Arc<Self>, _: &Arc<WorkerPool>) {
        let work = lock(&self.work).take();
        if let Some(work) = work {
            let work = AssertUnwindSafe(|| self.interrupt.run(work));
            self.slot.put(catch_unwind(work));
        }
    }
}

impl<F: FnOnce() -> R + Send, R: Send> PendingWork<R> for ClosureTask<F, R> {
    fn slot(&self) -> &WorkSlot<R> {
        &self.slot
    }

    fn cancel(&self) {
        let work = lock(&self.work).take();
        if work.is_none() {
            self.interrupt.interrupt();
        }
    }
}

/// Locks a mutex whose content changes in single steps, so that a panic leaves it valid.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
