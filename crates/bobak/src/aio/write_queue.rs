//! The queue of writes in front of one engine.
//!
//! Writers of one engine would block each other anyway. Queued, they occupy no thread while they wait, and writes of
//! single rows are committed together.

use super::future::lock;
use super::group::{self, GroupedWrite};
use super::workers::{Job, WorkerPool};
use bobak_core::Engine;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

/// The queued writes for an engine. At most one thread serves them at a time.
pub(super) struct WriteQueue {
    engine: Arc<dyn Engine>,
    state: Mutex<QueueState>,
}

#[derive(Default)]
struct QueueState {
    writes: VecDeque<QueuedWrite>,
    /// Whether a thread serves the queue, or the queue waits for one.
    served: bool,
}

enum QueuedWrite {
    /// A row, written together with those next to it.
    Row(Arc<dyn GroupedWrite>),
    /// A closure, which runs by itself.
    Closure(Arc<dyn Job>),
}

/// What a thread does next.
enum NextWork {
    Rows(Vec<Arc<dyn GroupedWrite>>),
    Closure(Arc<dyn Job>),
}

impl WriteQueue {
    pub(super) fn new(engine: Arc<dyn Engine>) -> Self {
        Self { engine, state: Mutex::default() }
    }

    /// Queues a row.
    pub(super) fn enqueue_row(
        self: &Arc<Self>,
        pool: &Arc<WorkerPool>,
        write: Arc<dyn GroupedWrite>,
    ) {
        self.push(pool, QueuedWrite::Row(write));
    }

    /// Queues a closure. If the engine allows concurrent writers, it goes to any thread.
    pub(super) fn enqueue_closure(self: &Arc<Self>, pool: &Arc<WorkerPool>, job: Arc<dyn Job>) {
        if self.engine.capabilities().concurrent_writers {
            pool.push(job);
        } else {
            self.push(pool, QueuedWrite::Closure(job));
        }
    }

    fn push(self: &Arc<Self>, pool: &Arc<WorkerPool>, write: QueuedWrite) {
        let mut state = lock(&self.state);
        state.writes.push_back(write);
        let served = std::mem::replace(&mut state.served, true);
        drop(state);
        if !served {
            pool.push(Arc::clone(self) as Arc<dyn Job>);
        }
    }

    /// Takes a closure, or the rows before the next closure, as many as are written together.
    fn take(&self) -> NextWork {
        let mut state = lock(&self.state);
        let mut rows = Vec::new();
        while rows.len() < group::MAX_ROWS {
            match state.writes.pop_front() {
                Some(QueuedWrite::Row(write)) => rows.push(write),
                Some(QueuedWrite::Closure(job)) if rows.is_empty() => {
                    return NextWork::Closure(job);
                }
                Some(closure) => {
                    state.writes.push_front(closure);
                    break;
                }
                None => break,
            }
        }
        NextWork::Rows(rows)
    }
}

impl Job for WriteQueue {
    fn run(self: Arc<Self>, pool: &Arc<WorkerPool>) {
        let requeue = RequeueOnDrop { queue: &self, pool };
        loop {
            match self.take() {
                NextWork::Rows(rows) => group::write(&*self.engine, rows),
                NextWork::Closure(job) => job.run(pool),
            }
            // As long as no other work waits for this thread, it continues here, without the cost of waking another.
            if requeue.must_stop() {
                return;
            }
        }
    }
}

/// Queues the rest of the writes behind other work, also after a panic.
struct RequeueOnDrop<'a> {
    queue: &'a Arc<WriteQueue>,
    pool: &'a Arc<WorkerPool>,
}

impl RequeueOnDrop<'_> {
    /// Whether the queue is empty, or other work waits for a thread.
    fn must_stop(&self) -> bool {
        lock(&self.queue.state).writes.is_empty() || self.pool.has_waiting_jobs()
    }
}

impl Drop for RequeueOnDrop<'_> {
    fn drop(&mut self) {
        let mut state = lock(&self.queue.state);
        state.served = !state.writes.is_empty();
        if state.served {
            drop(state);
            self.pool.push(Arc::clone(self.queue) as Arc<dyn Job>);
        }
    }
}
