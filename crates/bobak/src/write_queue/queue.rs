//! The queue, and the thread that serves it.

use super::group::{RowGroup, RowSlot};
use super::ticket::{OnDrop, QueuedRow, Ticket, key_or_given};
use crate::workers::{Job, WorkerPool, Workers};
use bobak_core::statements::Origin;
use bobak_core::{
    Engine, Error, ErrorKind, FieldSet, GeneratedKey, Key, Outcome, Record, Result, Verb, Write,
    WriteBatch,
};
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The queued writes for an engine. At most one thread serves them at a time.
pub(crate) struct WriteQueue {
    engine: Arc<dyn Engine>,
    workers: Workers,
    limits: QueueLimits,
    /// How often a transaction is repeated after a conflict.
    retries: u32,
    /// Where the queue was made: its writes come from there.
    origin: Option<Origin>,
    state: Mutex<QueueState>,
    /// Wakes callers: there is room, or writes are done.
    progress: Condvar,
}

/// How many rows are written together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QueueLimits {
    pub rows: usize,
    /// A larger row is written alone.
    pub bytes: usize,
    /// How long a caller waits if so many rows are queued; `None` to queue more, for another transaction.
    pub full_timeout: Option<Duration>,
}

/// The limits of queues whose callers wait for a result: they have no more writes than tasks.
#[cfg(feature = "async")]
pub(crate) const GROUP_LIMITS: QueueLimits =
    QueueLimits { rows: 1_000, bytes: 4 << 20, full_timeout: None };

#[derive(Default)]
struct QueueState {
    /// Work before `rows`.
    work: VecDeque<Work>,
    /// The last rows of the queue; `end` counts all rows that were ever queued.
    rows: RowGroup,
    /// The number of the first row that is still queued.
    first: u64,
    /// How many rows are done, cancelled ones included.
    done: u64,
    /// The numbers of queued rows that were cancelled.
    cancelled: Vec<u64>,
    /// Whether a thread serves the queue, or the queue waits for one.
    served: bool,
    /// The first error of a row whose ticket was dropped.
    error: Option<Error>,
    /// An empty group with its memory.
    spare: RowGroup,
}

/// What a thread does next.
enum Work {
    /// Rows, written together.
    Rows(RowGroup),
    /// A closure, which runs by itself.
    #[cfg(feature = "async")]
    Closure(Arc<dyn Job>),
}

impl WriteQueue {
    pub(crate) fn new(
        engine: Arc<dyn Engine>,
        workers: Workers,
        limits: QueueLimits,
        retries: u32,
    ) -> Arc<Self> {
        let (state, progress) = (Mutex::default(), Condvar::new());
        let origin = Origin::now();
        Arc::new(Self { engine, workers, limits, retries, origin, state, progress })
    }

    /// Queues a row, which `encode` adds to a batch. Blocks if the queue is full and has a timeout.
    ///
    /// # Errors
    /// Those of `encode`, which adds nothing then; `Busy` if the queue stays full.
    pub(crate) fn push(
        self: &Arc<Self>,
        on_drop: OnDrop,
        encode: impl FnOnce(&mut WriteBatch) -> Result<()>,
    ) -> Result<QueuedRow> {
        let mut state = self.lock();
        if self.is_full(&state.rows) {
            state = self.make_room(state)?;
        }
        let rows = &mut state.rows;
        encode(&mut rows.rows)?;
        let (slot, number) = (Arc::new(RowSlot::new()), rows.end);
        let cancels = match on_drop {
            OnDrop::KeepError => false,
            OnDrop::Cancel(check) => {
                rows.checks.extend(check.map(|check| (rows.slots.len(), check)));
                true
            }
        };
        rows.slots.push(Arc::clone(&slot));
        rows.end += 1;
        self.serve(state);
        Ok(QueuedRow::new(slot, Arc::clone(self), number, cancels))
    }

    /// Queues an insert of any kind. `wrap` makes the result from the key, `convert` from the outcome and that result.
    ///
    /// # Errors
    /// As [`push`](Self::push); those of the record.
    pub(crate) fn insert<T: Record, R>(
        self: &Arc<Self>,
        on_drop: OnDrop,
        verb: Verb,
        record: &T,
        wrap: fn(T::Key) -> R,
        convert: fn(Outcome, Option<R>) -> Result<R>,
    ) -> Result<Ticket<R>> {
        let fields = match verb.sets_fields() {
            true => T::schema().updated_fields(),
            false => FieldSet::EMPTY,
        };
        let mut made = None;
        let row = self.push(on_drop, |batch| {
            batch.push_record(verb, fields, record)?;
            made = batch.generated_key(batch.rows() - 1);
            Ok(())
        });
        let row = row.map_err(|error| error.in_table(T::TABLE))?;
        let key = match made {
            Some(made) => GeneratedKey::Uuid(made).to_key()?,
            None => record.key(),
        };
        Ok(Ticket::new(row, convert, Some(wrap(key))))
    }

    /// As [`insert`](Self::insert), with the key as the result.
    ///
    /// # Errors
    /// As [`insert`](Self::insert).
    pub(crate) fn insert_key<T: Record>(
        self: &Arc<Self>,
        on_drop: OnDrop,
        verb: Verb,
        record: &T,
    ) -> Result<Ticket<T::Key>> {
        self.insert(on_drop, verb, record, |key| key, key_or_given)
    }

    /// As [`insert_key`](Self::insert_key), of an upsert; `None` if the outcome does not have the key of the updated row.
    ///
    /// # Errors
    /// As [`insert`](Self::insert).
    pub(crate) fn upsert_key<T: Record>(
        self: &Arc<Self>,
        on_drop: OnDrop,
        verb: Verb,
        record: &T,
    ) -> Result<Ticket<Option<T::Key>>> {
        match verb {
            Verb::UpsertOn(_) => {
                self.insert(on_drop, verb, record, Some, |outcome, given| match outcome {
                    Outcome::Changed(_) => Ok(None),
                    _ => key_or_given(outcome, given.flatten()).map(Some),
                })
            }
            _ => self.insert(on_drop, verb, record, Some, |outcome, given| {
                key_or_given(outcome, given.flatten()).map(Some)
            }),
        }
    }

    /// Queues an update of a whole record.
    ///
    /// # Errors
    /// As [`insert`](Self::insert).
    pub(crate) fn update<T: Record>(
        self: &Arc<Self>,
        on_drop: OnDrop,
        record: &T,
    ) -> Result<Ticket<()>> {
        let fields = T::schema().updated_fields();
        let row = self.push(on_drop, |batch| batch.push_record(Verb::Update, fields, record));
        let row = row.map_err(|error| error.in_table(T::TABLE))?;
        Ok(Ticket::new(row, |_, _| Ok(()), None))
    }

    /// Queues a delete by the key; the result says whether the record existed.
    ///
    /// # Errors
    /// As [`push`](Self::push).
    pub(crate) fn delete<T: Record>(
        self: &Arc<Self>,
        on_drop: OnDrop,
        key: &T::Key,
    ) -> Result<Ticket<bool>> {
        let row = key.with_values(|values| {
            self.push(on_drop, |batch| {
                let (table, verb, fields) = (T::schema(), Verb::Delete, FieldSet::EMPTY);
                batch.push(&Write { table, verb, fields, values })
            })
        });
        let row = row.map_err(|error| error.in_table(T::TABLE))?;
        Ok(Ticket::new(row, |outcome, _| Ok(outcome != Outcome::Changed(0)), None))
    }

    /// Queues a closure. If the engine allows concurrent writers, it goes to any thread.
    #[cfg(feature = "async")]
    pub(crate) fn push_closure(self: &Arc<Self>, job: Arc<dyn Job>) {
        if self.engine.capabilities().concurrent_writers {
            return self.workers.pool().push(job);
        }
        let mut state = self.lock();
        state.seal_rows();
        state.work.push_back(Work::Closure(job));
        self.serve(state);
    }

    /// Cancels a row, unless it was taken from the queue.
    pub(super) fn cancel(&self, number: u64) {
        let mut state = self.lock();
        if number >= state.first {
            state.cancelled.push(number);
        }
    }

    /// Keeps the error of a dropped ticket for [`flush`](Self::flush).
    pub(super) fn keep_error(&self, error: Error) {
        self.lock().error.get_or_insert(error);
    }

    /// Blocks until all rows queued so far are done; returns the first error of a dropped ticket.
    ///
    /// # Errors
    /// See above; each error once.
    pub(crate) fn flush(&self) -> Result<()> {
        let mut state = self.lock();
        let queued = state.rows.end;
        while state.done < queued {
            state = self.progress.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.error.take().map_or(Ok(()), Err)
    }

    /// Blocks until all rows are done, and the queue's threads have ended. Nobody else may use them.
    pub(crate) fn end(&self) {
        // The error is for a flush, which nobody called.
        let _ = self.flush();
        self.workers.end();
    }

    /// Passes the queue to a thread, unless one serves it.
    fn serve(self: &Arc<Self>, mut state: MutexGuard<'_, QueueState>) {
        let served = std::mem::replace(&mut state.served, true);
        drop(state);
        if !served {
            self.workers.pool().push(Arc::clone(self) as Arc<dyn Job>);
        }
    }

    fn is_full(&self, group: &RowGroup) -> bool {
        group.slots.len() >= self.limits.rows || group.rows.bytes() >= self.limits.bytes
    }

    #[cold]
    fn make_room<'q>(
        &self,
        mut state: MutexGuard<'q, QueueState>,
    ) -> Result<MutexGuard<'q, QueueState>> {
        let Some(timeout) = self.limits.full_timeout else {
            state.seal_rows();
            return Ok(state);
        };
        let deadline = Instant::now() + timeout;
        while self.is_full(&state.rows) {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let rows = state.rows.slots.len();
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

    /// Takes the next work; `None` if the queue is empty, which is then not served any more.
    fn next(&self) -> Option<Work> {
        let mut state = self.lock();
        if state.work.is_empty() {
            state.seal_rows();
        }
        let mut work = state.work.pop_front();
        state.served = work.is_some();
        if let Some(Work::Rows(group)) = &mut work {
            state.start(group);
        }
        drop(state);
        self.progress.notify_all();
        work
    }

    /// Counts the rows of a group as done.
    fn finish(&self, mut group: RowGroup, error: Option<Error>) {
        let mut state = self.lock();
        state.done = group.end;
        if let Some(error) = error {
            state.error.get_or_insert(error);
        }
        // Not the memory of one huge row.
        if group.rows.bytes() <= self.limits.bytes.saturating_mul(2) {
            group.clear();
            state.spare = group;
        }
        drop(state);
        self.progress.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, QueueState> {
        // An `encode` that panics has added nothing.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl QueueState {
    /// Ends the last group: later rows are written in another transaction.
    fn seal_rows(&mut self) {
        if self.rows.slots.is_empty() {
            return;
        }
        let mut next = std::mem::take(&mut self.spare);
        next.end = self.rows.end;
        self.work.push_back(Work::Rows(std::mem::replace(&mut self.rows, next)));
    }

    /// From now on the rows of this group, the first in the queue, can't be cancelled.
    fn start(&mut self, group: &mut RowGroup) {
        let (first, end) = (self.first, group.end);
        let cancelled = self.cancelled.extract_if(.., |number| *number < end);
        group.cancelled.extend(cancelled.map(|number| (number - first) as usize));
        self.first = end;
    }
}

impl Job for WriteQueue {
    fn run(self: Arc<Self>, pool: &Arc<WorkerPool>) {
        while let Some(work) = self.next() {
            match work {
                Work::Rows(mut group) => {
                    let mut write = || group.write(&*self.engine, self.retries);
                    let error = match &self.origin {
                        Some(origin) => origin.run(write),
                        None => write(),
                    };
                    self.finish(group, error);
                }
                #[cfg(feature = "async")]
                Work::Closure(job) => job.run(pool),
            }
            // As long as no other work waits for this thread, it continues here, without the cost of waking another.
            if pool.has_waiting_jobs() {
                return pool.push(self);
            }
        }
    }
}
