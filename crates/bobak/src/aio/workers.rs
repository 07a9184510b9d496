//! The threads that block, so that tasks need not.

use super::answer::{Answer, Task};
use bobak_core::{Error, Result};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// A few threads that do blocking work, one line before them. Cheap to clone; the threads end when
/// the last handle, and the last answer that is waited for, are gone.
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
pub struct Workers(Arc<Owner>);

/// Ends the threads when nobody can give them work any more.
struct Owner(Arc<Pool>);

/// What the threads share.
pub(super) struct Pool {
    line: Mutex<Line>,
    changed: Condvar,
    most: usize,
}

struct Line {
    jobs: VecDeque<Arc<dyn Job>>,
    threads: usize,
    idle: usize,
    closed: bool,
}

/// A unit of work in line.
pub(super) trait Job: Send + Sync {
    /// Does the work, unless it was cancelled. `pool` is where more of it is put.
    fn run(self: Arc<Self>, pool: &Arc<Pool>);
}

impl Workers {
    /// Threads that are started as they are needed, `most` of them, one at least.
    ///
    /// # Errors
    /// `Io` where not even one thread can be started.
    pub fn new(most: usize) -> Result<Self> {
        let line = Line { jobs: VecDeque::new(), threads: 1, idle: 0, closed: false };
        let most = most.max(1);
        let pool = Arc::new(Pool { line: Mutex::new(line), changed: Condvar::new(), most });
        start(&pool).map_err(|error| Error::io("start a thread", error))?;
        Ok(Self(Arc::new(Owner(pool))))
    }

    /// As many threads as there are processors, but 4 at least and 16 at most: they wait for disks
    /// and servers more than they compute.
    ///
    /// # Errors
    /// As [`new`](Workers::new).
    pub fn with_default_threads() -> Result<Self> {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        Self::new(processors.clamp(4, 16))
    }

    /// Has `work` done by one of the threads, when the answer is polled first.
    pub fn run<R: Send + 'static>(&self, work: impl FnOnce() -> R + Send + 'static) -> Answer<R> {
        let task = Arc::new(Task::new(work));
        let job = Arc::clone(&task);
        Answer::new(self, task, move |pool: &Arc<Pool>| pool.push(job))
    }

    /// Has `work` done, whether or not somebody waits for it.
    pub(super) fn detach(&self, work: impl FnOnce() + Send + 'static) {
        self.pool().push(Arc::new(Task::new(work)));
    }

    pub(super) fn pool(&self) -> &Arc<Pool> {
        &self.0.0
    }
}

impl std::fmt::Debug for Workers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Workers").field("most", &self.pool().most).finish_non_exhaustive()
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.0.lock().closed = true;
        self.0.changed.notify_all();
    }
}

impl Pool {
    /// Puts work at the end of the line, and sees to it that a thread comes for it.
    pub(super) fn push(self: &Arc<Self>, job: Arc<dyn Job>) {
        let mut line = self.lock();
        line.jobs.push_back(job);
        if line.jobs.len() <= line.idle {
            drop(line);
            self.changed.notify_one();
        } else if line.threads < self.most {
            line.threads += 1;
            drop(line);
            if start(self).is_err() {
                // Those that there are, one at least, will come to it.
                self.lock().threads -= 1;
            }
        }
    }

    /// Whether work waits for a thread.
    pub(super) fn is_wanted(&self) -> bool {
        !self.lock().jobs.is_empty()
    }

    fn serve(self: &Arc<Self>) {
        while let Some(job) = self.next() {
            // A task hands its panic to who awaits it; what is left over is the job's own.
            let _ = catch_unwind(AssertUnwindSafe(|| job.run(self)));
        }
    }

    fn next(&self) -> Option<Arc<dyn Job>> {
        let mut line = self.lock();
        loop {
            if let Some(job) = line.jobs.pop_front() {
                return Some(job);
            }
            if line.closed {
                line.threads -= 1;
                return None;
            }
            line.idle += 1;
            line = self.changed.wait(line).unwrap_or_else(PoisonError::into_inner);
            line.idle -= 1;
        }
    }

    /// What is behind the lock is changed in single steps: a panic leaves it whole.
    fn lock(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn start(pool: &Arc<Pool>) -> std::io::Result<()> {
    let pool = Arc::clone(pool);
    let thread = std::thread::Builder::new().name("bobak-aio".to_owned());
    thread.spawn(move || pool.serve()).map(|_| ())
}
