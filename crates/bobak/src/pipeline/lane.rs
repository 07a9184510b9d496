//! The queue before one engine, and the thread that empties it.

use super::PipelineOptions;
use super::ticket::Slot;
use crate::retry;
use bobak_core::{Batch, Engine, Error, ErrorKind, GivenKey, OnError, Outcome, Result};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Instant;

/// The writes that wait for one engine.
pub(super) struct Lane {
    engine: Arc<dyn Engine>,
    options: PipelineOptions,
    retries: u32,
    queue: Mutex<Queue>,
    /// For the thread: there is something to write, or it is to end.
    work: Condvar,
    /// For those who wait: there is room, or something is done.
    progress: Condvar,
}

#[derive(Debug, Default)]
struct Queue {
    part: Part,
    /// How many writes there ever were, and how many are done.
    added: u64,
    done: u64,
    ends: bool,
    /// The first error of a write whose ticket was dropped.
    lost: Option<Error>,
}

/// Writes in order, and where their results go.
#[derive(Debug, Default)]
struct Part {
    writes: Batch,
    slots: Vec<Arc<Slot>>,
}

impl Lane {
    pub(super) fn start(
        engine: Arc<dyn Engine>,
        options: PipelineOptions,
        retries: u32,
    ) -> Result<(Arc<Self>, JoinHandle<()>)> {
        let lane = Arc::new(Self {
            engine,
            options,
            retries,
            queue: Mutex::default(),
            work: Condvar::new(),
            progress: Condvar::new(),
        });
        let run = Arc::clone(&lane);
        let thread = std::thread::Builder::new().name("bobak-pipeline".to_owned());
        let thread = thread
            .spawn(move || run.run())
            .map_err(|error| Error::io("can't start the pipeline's thread", error))?;
        Ok((lane, thread))
    }

    /// Puts a write in line; waits where the line is full.
    pub(super) fn add(&self, push: impl FnOnce(&mut Batch) -> Result<()>) -> Result<Arc<Slot>> {
        let mut queue = self.lock();
        if self.is_full(&queue) {
            queue = self.wait_for_room(queue)?;
        }
        push(&mut queue.part.writes)?;
        let slot = Arc::<Slot>::default();
        queue.part.slots.push(Arc::clone(&slot));
        queue.added += 1;
        let idle = queue.part.slots.len() == 1;
        drop(queue);
        if idle {
            self.work.notify_one();
        }
        Ok(slot)
    }

    fn is_full(&self, queue: &Queue) -> bool {
        let Part { writes, slots } = &queue.part;
        slots.len() >= self.options.rows || writes.bytes() >= self.options.bytes
    }

    fn wait_for_room<'q>(&self, mut queue: MutexGuard<'q, Queue>) -> Result<MutexGuard<'q, Queue>> {
        let patience = self.options.patience;
        let deadline = Instant::now() + patience;
        while self.is_full(&queue) {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let rows = queue.part.slots.len();
                let message = format!(
                    "the pipeline has been full for {patience:?}: {rows} writes wait for the engine"
                );
                return Err(Error::new(ErrorKind::Busy, message));
            }
            let woken = self.progress.wait_timeout(queue, left);
            queue = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
        Ok(queue)
    }

    /// Waits until all that was in line is done; gives the first error that nobody was told of.
    pub(super) fn flush(&self) -> Result<()> {
        let mut queue = self.lock();
        let added = queue.added;
        while queue.done < added {
            queue = self.progress.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
        queue.lost.take().map_or(Ok(()), Err)
    }

    /// Keeps an error whose ticket was dropped.
    pub(super) fn lost(&self, error: Error) {
        self.lock().lost.get_or_insert(error);
    }

    /// Tells the thread to end when nothing is left to write.
    pub(super) fn end(&self) {
        self.lock().ends = true;
        self.work.notify_one();
    }

    fn run(&self) {
        let mut part = Part::default();
        while self.take(&mut part) {
            let outcomes = self.write(&mut part.writes);
            let lost = give(&part, outcomes);
            let mut queue = self.lock();
            queue.done += part.slots.len() as u64;
            if let Some(error) = lost {
                queue.lost.get_or_insert(error);
            }
            drop(queue);
            self.progress.notify_all();
            part.writes.clear();
            part.slots.clear();
        }
    }

    /// Exchanges an empty part for what waits; `false` where there will be nothing more.
    fn take(&self, part: &mut Part) -> bool {
        let mut queue = self.lock();
        while queue.part.slots.is_empty() {
            if queue.ends {
                return false;
            }
            queue = self.work.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
        std::mem::swap(&mut queue.part, part);
        drop(queue);
        self.progress.notify_all();
        true
    }

    /// Writes a part in one transaction. An outcome for each row; fewer, and the error, where the
    /// whole of it failed.
    fn write(&self, writes: &mut Batch) -> (Vec<Result<Outcome>>, Result<()>) {
        writes.stamp();
        let mut again = 0;
        loop {
            let mut outcomes = Vec::with_capacity(writes.rows() as usize);
            let mut each = |outcome| outcomes.push(outcome);
            // A broken engine must not leave those who wait without an answer.
            let whole = catch_unwind(AssertUnwindSafe(|| {
                self.engine.session()?.batch(writes, OnError::Continue, &mut each)
            }));
            let whole = whole.unwrap_or_else(|_| {
                let message = "the engine panicked: whether the write is there is not known";
                Err(Error::new(ErrorKind::Unknown, message))
            });
            match &whole {
                // Nothing of it is there: as with a transaction.
                Err(error) if again < self.retries && retry::is_retryable(error, true) => {
                    std::thread::sleep(retry::pause(again));
                    again += 1;
                }
                _ => return (outcomes, whole),
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        // A push that panics has added nothing.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Gives each its result; and the first error that nobody wanted.
fn give(part: &Part, (outcomes, whole): (Vec<Result<Outcome>>, Result<()>)) -> Option<Error> {
    let mut outcomes = outcomes.into_iter();
    let mut lost = None;
    for (row, slot) in (0..).zip(&part.slots) {
        let outcome = match (outcomes.next(), &whole) {
            // Its number in the part is nobody's business.
            (Some(Err(error)), _) => Err(error.without_row()),
            (_, Err(error)) => Err(error.to_bare()),
            (Some(Ok(Outcome::Inserted(None))), Ok(())) => {
                Ok(Outcome::Inserted(part.writes.made_key(row).map(GivenKey::Uuid)))
            }
            (Some(outcome), Ok(())) => outcome,
            (None, Ok(())) => {
                Err(Error::new(ErrorKind::Engine, "the engine told nothing of the write"))
            }
        };
        if let Some(Err(error)) = slot.put(outcome) {
            lost.get_or_insert(error);
        }
    }
    lost
}
