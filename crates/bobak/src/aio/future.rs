//! Futures for work that a worker thread does.

use crate::workers::{Job, WorkerPool, Workers};
use crate::write_queue::{ResultSlot, WriteQueue};
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
pub struct DbFuture<R>(Pin<Box<dyn Future<Output = R> + Send>>);

/// A closure on its way through a thread.
struct ClosureFuture<F, R> {
    task: Arc<ClosureTask<F, R>>,
    /// Keeps the threads alive until the work is done.
    workers: Workers,
    /// The queue that the closure waits in; the first free thread runs it if there is none.
    queue: Option<Arc<WriteQueue>>,
    queued: bool,
}

/// A queued closure.
struct ClosureTask<F, R> {
    work: Mutex<Option<F>>,
    /// An `Err` is the payload of a panic.
    slot: ResultSlot<std::thread::Result<R>>,
    interrupt: Interrupt,
}

impl<R> DbFuture<R> {
    pub(super) fn new(future: impl Future<Output = R> + Send + 'static) -> Self {
        Self(Box::pin(future))
    }

    /// The result of a closure, which runs in its turn in a write queue, or else as soon as a thread is free.
    pub(super) fn of_closure<F>(work: F, workers: Workers, queue: Option<Arc<WriteQueue>>) -> Self
    where
        F: FnOnce() -> R + Send + 'static,
        R: Send + 'static,
    {
        let task = Arc::new(ClosureTask::new(work));
        Self::new(ClosureFuture { task, workers, queue, queued: false })
    }
}

impl Workers {
    /// Runs `work` on one of the threads, once the future is polled.
    pub fn run<R: Send + 'static>(&self, work: impl FnOnce() -> R + Send + 'static) -> DbFuture<R> {
        DbFuture::of_closure(work, self.clone(), None)
    }

    /// Runs `work` on one of the threads, without a future.
    pub(super) fn detach(&self, work: impl FnOnce() + Send + 'static) {
        self.pool().push(Arc::new(ClosureTask::new(work)));
    }
}

impl<R> Future for DbFuture<R> {
    type Output = R;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<R> {
        self.0.as_mut().poll(context)
    }
}

impl<R> std::fmt::Debug for DbFuture<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DbFuture").finish_non_exhaustive()
    }
}

impl<F, R> Future for ClosureFuture<F, R>
where
    F: FnOnce() -> R + Send + 'static,
    R: Send + 'static,
{
    type Output = R;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<R> {
        // Registers the waker before the work is queued, so that its end cannot be missed.
        let polled = self.task.slot.poll(context);
        if !std::mem::replace(&mut self.queued, true) {
            let job = Arc::clone(&self.task) as Arc<dyn Job>;
            match &self.queue {
                Some(queue) => queue.push_closure(job),
                None => self.workers.pool().push(job),
            }
        }
        match ready!(polled) {
            Some(Ok(result)) => Poll::Ready(result),
            Some(Err(panic)) => resume_unwind(panic),
            // Polled after its end, as for futures of the standard library.
            None => Poll::Pending,
        }
    }
}

impl<F, R> Drop for ClosureFuture<F, R> {
    fn drop(&mut self) {
        let work = lock(&self.task.work).take();
        if work.is_none() {
            self.task.interrupt.interrupt();
        }
    }
}

impl<F, R> ClosureTask<F, R> {
    fn new(work: F) -> Self {
        let (slot, interrupt) = (ResultSlot::new(), Interrupt::new());
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

/// Locks a mutex whose content changes in single steps, so that a panic leaves it valid.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
