//! The bounded queue of a pipeline in front of one engine, and the thread that writes it.
//!
//! Rows are encoded into the queued batch under the lock, which costs less than an allocation for each write.

use super::PipelineOptions;
use super::ticket::WriteSlot;
use crate::write_queue::write_group;
use bobak_core::{Engine, Error, ErrorKind, Result, WriteBatch};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Instant;

/// The queued writes for one engine.
pub(super) struct PipelineQueue {
    engine: Arc<dyn Engine>,
    options: PipelineOptions,
    retries: u32,
    state: Mutex<QueueState>,
    /// Wakes the thread: there are writes, or it is to end.
    work: Condvar,
    /// Wakes callers: there is room, or writes are done.
    progress: Condvar,
}

#[derive(Debug, Default)]
struct QueueState {
    group: WriteGroup,
    /// How many writes were ever queued.
    queued: u64,
    /// How many of them are done.
    done: u64,
    closed: bool,
    /// The first error of a write whose ticket was dropped.
    error: Option<Error>,
}

/// Writes in order, and the slots for their results.
#[derive(Debug, Default)]
struct WriteGroup {
    writes: WriteBatch,
    slots: Vec<Arc<WriteSlot>>,
}

impl PipelineQueue {
    pub(super) fn start(
        engine: Arc<dyn Engine>,
        options: PipelineOptions,
        retries: u32,
    ) -> Result<(Arc<Self>, JoinHandle<()>)> {
        let queue = Arc::new(Self {
            engine,
            options,
            retries,
            state: Mutex::default(),
            work: Condvar::new(),
            progress: Condvar::new(),
        });
        let run = Arc::clone(&queue);
        let thread = std::thread::Builder::new().name("bobak-pipeline".to_owned());
        let thread = thread
            .spawn(move || run.run())
            .map_err(|error| Error::io("can't start the pipeline's thread", error))?;
        Ok((queue, thread))
    }

    /// Queues a write; blocks if the queue is full.
    pub(super) fn enqueue(
        &self,
        encode: impl FnOnce(&mut WriteBatch) -> Result<()>,
    ) -> Result<Arc<WriteSlot>> {
        let mut state = self.lock();
        if self.is_full(&state) {
            state = self.wait_for_room(state)?;
        }
        encode(&mut state.group.writes)?;
        let slot = Arc::new(WriteSlot::new());
        state.group.slots.push(Arc::clone(&slot));
        state.queued += 1;
        let was_empty = state.group.slots.len() == 1;
        drop(state);
        if was_empty {
            self.work.notify_one();
        }
        Ok(slot)
    }

    fn is_full(&self, state: &QueueState) -> bool {
        let WriteGroup { writes, slots } = &state.group;
        slots.len() >= self.options.rows || writes.bytes() >= self.options.bytes
    }

    fn wait_for_room<'q>(
        &self,
        mut state: MutexGuard<'q, QueueState>,
    ) -> Result<MutexGuard<'q, QueueState>> {
        let timeout = self.options.full_timeout;
        let deadline = Instant::now() + timeout;
        while self.is_full(&state) {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let rows = state.group.slots.len();
                let message = format!(
                    "the pipeline has been full for {timeout:?}: {rows} writes wait for the engine"
                );
                return Err(Error::new(ErrorKind::Busy, message));
            }
            let woken = self.progress.wait_timeout(state, left);
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
        Ok(state)
    }

    /// Blocks until all writes queued so far are done; returns the first error of a dropped ticket.
    pub(super) fn flush(&self) -> Result<()> {
        let mut state = self.lock();
        let queued = state.queued;
        while state.done < queued {
            state = self.progress.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.error.take().map_or(Ok(()), Err)
    }

    /// Keeps the error of a dropped ticket for [`flush`](Self::flush).
    pub(super) fn keep_error(&self, error: Error) {
        self.lock().error.get_or_insert(error);
    }

    /// Lets the thread end once the queue is empty.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.work.notify_one();
    }

    fn run(&self) {
        let mut group = WriteGroup::default();
        while self.take(&mut group) {
            let error = self.write(&mut group);
            let mut state = self.lock();
            state.done += group.slots.len() as u64;
            if let Some(error) = error {
                state.error.get_or_insert(error);
            }
            drop(state);
            self.progress.notify_all();
            group.writes.clear();
            group.slots.clear();
        }
    }

    /// Exchanges an empty group for the queued one; `false` if the queue is closed and empty.
    fn take(&self, group: &mut WriteGroup) -> bool {
        let mut state = self.lock();
        while state.group.slots.is_empty() {
            if state.closed {
                return false;
            }
            state = self.work.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        std::mem::swap(&mut state.group, group);
        drop(state);
        self.progress.notify_all();
        true
    }

    /// Writes a group and distributes the outcomes; returns the first error whose ticket was dropped.
    fn write(&self, group: &mut WriteGroup) -> Option<Error> {
        let mut outcomes = write_group(&*self.engine, &mut group.writes, self.retries);
        let mut unclaimed = None;
        for slot in &group.slots {
            if let Some(Err(error)) = slot.put(outcomes.next_row()) {
                unclaimed.get_or_insert(error);
            }
        }
        unclaimed
    }

    fn lock(&self) -> MutexGuard<'_, QueueState> {
        // An `encode` that panics has added nothing.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
