//! The line of writes before one engine.
//!
//! Writers of one engine would wait for each other anyhow: in a line of their own they keep no
//! thread meanwhile, and those that are single records go together.

use super::answer::lock;
use super::group::{self, LoneWrite};
use super::workers::{Job, Pool};
use bobak_core::Engine;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

/// The writes that wait for an engine. At most one thread serves them.
pub(super) struct Lane {
    engine: Arc<dyn Engine>,
    line: Mutex<Line>,
}

#[derive(Default)]
struct Line {
    waiting: VecDeque<Item>,
    /// Whether a thread serves it, or it is in the line of the threads.
    served: bool,
}

/// What waits in a lane.
pub(super) enum Item {
    /// A record, to be written together with those beside it.
    Lone(Arc<dyn LoneWrite>),
    /// A closure, to be run by itself.
    Alone(Arc<dyn Job>),
}

impl Lane {
    pub(super) fn new(engine: Arc<dyn Engine>) -> Self {
        Self { engine, line: Mutex::default() }
    }

    /// Puts a record to write at the end of the line.
    pub(super) fn push_lone(self: &Arc<Self>, pool: &Arc<Pool>, write: Arc<dyn LoneWrite>) {
        self.push(pool, Item::Lone(write));
    }

    /// Puts a closure at the end of the line. Where the engine has several writers at a time it
    /// goes to any thread.
    pub(super) fn push_alone(self: &Arc<Self>, pool: &Arc<Pool>, job: Arc<dyn Job>) {
        if self.engine.capabilities().concurrent_writers {
            pool.push(job);
        } else {
            self.push(pool, Item::Alone(job));
        }
    }

    fn push(self: &Arc<Self>, pool: &Arc<Pool>, item: Item) {
        let mut line = lock(&self.line);
        line.waiting.push_back(item);
        let served = std::mem::replace(&mut line.served, true);
        drop(line);
        if !served {
            pool.push(Arc::clone(self) as Arc<dyn Job>);
        }
    }

    /// What is done next: a closure, or the records before the next one, as many as are written
    /// together.
    fn take(&self) -> Next {
        let mut line = lock(&self.line);
        let mut writes = Vec::new();
        while writes.len() < group::MOST_ROWS {
            match line.waiting.pop_front() {
                Some(Item::Lone(write)) => writes.push(write),
                Some(Item::Alone(job)) if writes.is_empty() => return Next::Alone(job),
                Some(job) => {
                    line.waiting.push_front(job);
                    break;
                }
                None => break,
            }
        }
        Next::Together(writes)
    }
}

enum Next {
    Together(Vec<Arc<dyn LoneWrite>>),
    Alone(Arc<dyn Job>),
}

impl Job for Lane {
    fn run(self: Arc<Self>, pool: &Arc<Pool>) {
        let again = Again { lane: &self, pool };
        loop {
            match self.take() {
                Next::Together(writes) => group::write(&*self.engine, writes),
                Next::Alone(job) => job.run(pool),
            }
            // Where nobody waits for this thread it need not get in line, nor wake another.
            if again.is_over() {
                return;
            }
        }
    }
}

/// Gets the lane in line again, behind other work, where more waits; also after a panic.
struct Again<'a> {
    lane: &'a Arc<Lane>,
    pool: &'a Arc<Pool>,
}

impl Again<'_> {
    /// Whether nothing waits any more, or this thread is wanted elsewhere.
    fn is_over(&self) -> bool {
        lock(&self.lane.line).waiting.is_empty() || self.pool.is_wanted()
    }
}

impl Drop for Again<'_> {
    fn drop(&mut self) {
        let mut line = lock(&self.lane.line);
        line.served = !line.waiting.is_empty();
        if line.served {
            drop(line);
            self.pool.push(Arc::clone(self.lane) as Arc<dyn Job>);
        }
    }
}
