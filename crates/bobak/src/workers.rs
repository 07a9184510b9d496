//! The threads that block, so that tasks and callers do not.

use bobak_core::{Error, Result};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// A few threads for blocking work, with one queue. Cheap to clone. The threads end when the last handle and the last
/// pending future are dropped.
///
/// ```
/// # use bobak::aio::Workers;
/// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
/// let workers = Workers::new(2)?;
/// let sum = workers.run(|| (1..=100).sum::<i32>());
/// assert_eq!(runtime.block_on(sum), 5050);
/// # Ok::<(), bobak::Error>(())
/// ```
#[derive(Clone)]
pub struct Workers(Arc<PoolOwner>);

/// Ends the threads when it is dropped: no further work can come.
struct PoolOwner(Arc<WorkerPool>);

/// What the threads share.
pub(crate) struct WorkerPool {
    queue: Mutex<JobQueue>,
    changed: Condvar,
    max_threads: usize,
}

struct JobQueue {
    jobs: VecDeque<Arc<dyn Job>>,
    threads: usize,
    idle: usize,
    closed: bool,
}

/// A unit of work for a thread.
pub(crate) trait Job: Send + Sync {
    /// Does the work, unless it was cancelled. Further work goes to `pool`.
    fn run(self: Arc<Self>, pool: &Arc<WorkerPool>);
}

impl Workers {
    /// A pool that starts threads when they are needed, at most `max_threads`, at least one.
    ///
    /// # Errors
    /// `Io` if not even one thread can be started.
    pub fn new(max_threads: usize) -> Result<Self> {
        let queue = JobQueue { jobs: VecDeque::new(), threads: 1, idle: 0, closed: false };
        let (queue, max_threads) = (Mutex::new(queue), max_threads.max(1));
        let pool = Arc::new(WorkerPool { queue, changed: Condvar::new(), max_threads });
        start_thread(&pool).map_err(|error| Error::io("start a thread", error))?;
        Ok(Self(Arc::new(PoolOwner(pool))))
    }

    pub(crate) fn pool(&self) -> &Arc<WorkerPool> {
        &self.0.0
    }

    /// Ends the threads after the queued work, and waits for them.
    pub(crate) fn end(&self) {
        let pool = self.pool();
        let mut queue = pool.lock();
        queue.closed = true;
        pool.changed.notify_all();
        while queue.threads > 0 {
            queue = pool.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

#[cfg(feature = "async")]
impl Workers {
    /// As many threads as there are CPUs, but 4 at least and 16 at most: they wait for disks and servers more than they
    /// compute.
    ///
    /// # Errors
    /// As [`new`](Workers::new).
    pub fn with_default_threads() -> Result<Self> {
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        Self::new(cpus.clamp(4, 16))
    }
}

impl std::fmt::Debug for Workers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let max_threads = self.pool().max_threads;
        f.debug_struct("Workers").field("max_threads", &max_threads).finish_non_exhaustive()
    }
}

impl Drop for PoolOwner {
    fn drop(&mut self) {
        self.0.lock().closed = true;
        self.0.changed.notify_all();
    }
}

impl WorkerPool {
    /// Queues a job, and wakes or starts a thread for it.
    pub(crate) fn push(self: &Arc<Self>, job: Arc<dyn Job>) {
        let mut queue = self.lock();
        queue.jobs.push_back(job);
        if queue.jobs.len() <= queue.idle {
            drop(queue);
            self.changed.notify_one();
        } else if queue.threads < self.max_threads {
            queue.threads += 1;
            drop(queue);
            if start_thread(self).is_err() {
                // The existing threads, at least one, will get to it.
                self.lock().threads -= 1;
            }
        }
    }

    /// Whether jobs wait for a thread.
    pub(crate) fn has_waiting_jobs(&self) -> bool {
        !self.lock().jobs.is_empty()
    }

    fn serve(self: &Arc<Self>) {
        while let Some(job) = self.next() {
            // A task passes its panic to its future; any other panic ends with the job.
            let _ = catch_unwind(AssertUnwindSafe(|| job.run(self)));
        }
    }

    fn next(&self) -> Option<Arc<dyn Job>> {
        let mut queue = self.lock();
        loop {
            if let Some(job) = queue.jobs.pop_front() {
                return Some(job);
            }
            if queue.closed {
                queue.threads -= 1;
                self.changed.notify_all();
                return None;
            }
            queue.idle += 1;
            queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
            queue.idle -= 1;
        }
    }

    /// The content changes in single steps, so a panic leaves it valid.
    fn lock(&self) -> MutexGuard<'_, JobQueue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn start_thread(pool: &Arc<WorkerPool>) -> std::io::Result<()> {
    let pool = Arc::clone(pool);
    let thread = std::thread::Builder::new().name("bobak-worker".to_owned());
    thread.spawn(move || pool.serve()).map(|_| ())
}
