//! Group commit: small transactions of several threads share a commit, and so a sync.
//! | A thread that finds the writing connection free, and no other thread waiting, writes alone,
//! without any of this. Other threads queue up ([`CommitQueue`]). The first one takes the queued
//! transactions, runs them in one, commits, and then distributes the results. A failing one
//! is undone alone. If the whole fails, or its commit does, each runs again
//! by itself, so that only the failing one reports an error. If it is unknown
//! whether the commit succeeded, nothing runs again and every thread gets `Unknown`.
//! | This is not the facade's write queue, which is above it and works on every engine. There a row
//! is all that waits, a thread of the queue writes, and a future may be dropped. Here threads
//! block in the engine contract, so one of them can lead and none has to be woken to write; and
//! each brings a whole transaction: a batch with its own `OnError`, undone by its own savepoint.

use crate::connection::Connection;
use crate::error::{kept_waiting, misuse};
use crate::pool::WriteGuard;
use crate::session::batch;
use crate::session::commit_queue::{CommitQueue, Leader, QueueResult};
use crate::session::database::Database;
use crate::session::write::write_row;
use bobak_core::{Error, ErrorKind, OnError, Outcome, Result, Write, WriteBatch};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// The maximum number of bytes of rows in one transaction, except for the first write.
const MOST_BYTES: usize = 4 << 20;
/// Larger batches, in bytes, do not queue: they wait for the connection and commit alone.
const SMALL_BATCH: usize = 64 << 10;
/// The longest time that a leader waits for threads of the previous transaction.
const MAX_LINGER: Duration = Duration::from_millis(2);

/// The threads that commit together.
#[derive(Debug)]
pub(crate) struct GroupCommit {
    group: CommitQueue<QueuedWrites>,
    /// The number of threads that wait, lead, or are being served.
    members: AtomicUsize,
    /// The number of other threads that the last transaction suggests to wait for.
    expected: AtomicUsize,
    /// The duration of the last transaction, in nanoseconds.
    took: AtomicU64,
}

/// The writes of one thread.
#[derive(Debug)]
struct QueuedWrites {
    batch: WriteBatch,
    on_error: OnError,
    /// Whether it is one row, not a batch: its error has no row number.
    single: bool,
    rows: Vec<Result<Outcome>>,
    whole: Result<()>,
}

impl GroupCommit {
    pub(crate) fn new() -> Self {
        Self {
            group: CommitQueue::new(),
            members: AtomicUsize::new(0),
            expected: AtomicUsize::new(0),
            took: AtomicU64::new(0),
        }
    }

    /// Whether no other thread writes.
    #[inline]
    pub(crate) fn is_idle(&self) -> bool {
        self.expected.load(Ordering::Relaxed) == 0 && self.members.load(Ordering::Relaxed) == 0
    }

    /// Whether a batch is small enough to share a transaction.
    pub(crate) fn takes(batch: &WriteBatch) -> bool {
        batch.bytes() <= SMALL_BATCH
    }

    /// Writes one row together with other threads.
    pub(crate) fn write(&self, inner: &Database, write: &Write<'_>) -> Result<Outcome> {
        let mut batch = WriteBatch::new();
        batch.push(write).map_err(|error| error.in_table(write.table.name()))?;
        let mut job = self.join(inner, QueuedWrites::new(batch, OnError::Stop, true))?;
        job.whole?;
        job.rows.pop().unwrap_or_else(|| Err(misuse("a write has one outcome")))
    }

    /// Writes a small batch together with other threads.
    pub(crate) fn batch(
        &self,
        inner: &Database,
        batch: &WriteBatch,
        on_error: OnError,
        each: &mut dyn FnMut(Result<Outcome>),
    ) -> Result<()> {
        let job = self.join(inner, QueuedWrites::new(batch.clone(), on_error, false))?;
        job.rows.into_iter().for_each(each);
        job.whole
    }

    fn join(&self, inner: &Database, job: QueuedWrites) -> Result<QueuedWrites> {
        let deadline = Instant::now() + inner.busy_timeout();
        let _member = Member::new(&self.members);
        match self.group.join(job, deadline) {
            QueueResult::Done(job) => Ok(job),
            QueueResult::Leads(leader) => self.lead(inner, leader, deadline),
            QueueResult::TimedOut => Err(kept_waiting()),
            QueueResult::Abandoned => {
                let message =
                    "the thread that wrote for several threads panicked: nothing was written";
                Err(Error::new(ErrorKind::Engine, message))
            }
        }
    }

    fn lead(
        &self,
        inner: &Database,
        mut leader: Leader<'_, QueuedWrites>,
        deadline: Instant,
    ) -> Result<QueuedWrites> {
        let mut pooled = inner.write_until(deadline)?;
        pooled.buffer_cursors();
        let mut writing = inner.begin_writing();
        self.linger();
        let mut bytes = 0;
        let mut jobs = leader.take(|job| {
            bytes += job.batch.bytes();
            bytes <= MOST_BYTES
        });
        let start = Instant::now();
        write_all(&mut pooled, &mut writing, &mut jobs);
        let took = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.took.store(took, Ordering::Relaxed);
        let expected = (jobs.len() - 1).max(self.group.waiting());
        self.expected.store(expected, Ordering::Relaxed);
        // Before the results are distributed, so that the next thread finds the connection free.
        drop(writing);
        drop(pooled);
        leader.finish(jobs).ok_or_else(|| misuse("who leads is served first"))
    }

    /// Waits briefly for the threads of the previous transaction: they have just received their
    /// results, and most have more to write. Waiting costs less than another sync.
    fn linger(&self) {
        let expected = self.expected.load(Ordering::Relaxed) + 1;
        if expected == 1 {
            return;
        }
        let took = Duration::from_nanos(self.took.load(Ordering::Relaxed));
        let (start, linger) = (Instant::now(), MAX_LINGER.min(took / 2));
        while self.group.waiting() < expected && start.elapsed() < linger {
            std::thread::yield_now();
        }
    }
}

/// Counts a thread until it is dropped, also by a panic.
struct Member<'c>(&'c AtomicUsize);

impl<'c> Member<'c> {
    fn new(members: &'c AtomicUsize) -> Self {
        members.fetch_add(1, Ordering::Relaxed);
        Self(members)
    }
}

impl Drop for Member<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl QueuedWrites {
    fn new(batch: WriteBatch, on_error: OnError, single: bool) -> Self {
        Self { batch, on_error, single, rows: Vec::new(), whole: Ok(()) }
    }

    /// Runs the writes inside an open transaction; an error undoes them.
    fn run_inside(&mut self, connection: &mut Connection) {
        self.whole = if self.single {
            self.run_single(connection)
        } else {
            connection.atomically(true, |connection| self.run_batch(connection))
        };
    }

    /// Runs the writes in a transaction of their own.
    fn run_alone(&mut self, connection: &mut Connection, writing: &mut Option<WriteGuard<'_>>) {
        self.rows.clear();
        self.whole = if self.single {
            before_commit(writing).and_then(|()| self.run_single(connection))
        } else {
            connection.atomically(false, |connection| {
                self.run_batch(connection).and_then(|()| before_commit(writing))
            })
        };
    }

    /// One row is one statement, which SQLite executes completely or not at all.
    fn run_single(&mut self, connection: &mut Connection) -> Result<()> {
        for run in self.batch.runs() {
            for row in run.iter() {
                self.rows.push(Ok(write_row(connection, run.table, run.verb, run.fields, row)?));
            }
        }
        Ok(())
    }

    fn run_batch(&mut self, connection: &mut Connection) -> Result<()> {
        let rows = &mut self.rows;
        batch::send(connection, &self.batch, self.on_error, &mut |row| rows.push(row))
    }

    fn fail(&mut self, error: &Error) {
        self.rows.clear();
        self.whole = Err(error.to_bare());
    }
}

fn write_all(
    connection: &mut Connection,
    writing: &mut Option<WriteGuard<'_>>,
    jobs: &mut [QueuedWrites],
) {
    if let [job] = jobs {
        return job.run_alone(connection, writing);
    }
    let done = connection.atomically(false, |connection| {
        for job in jobs.iter_mut() {
            job.run_inside(connection);
            if connection.db.is_autocommit() {
                // SQLite has rolled back the transaction, for example because of a full disk.
                return Err(Error::new(ErrorKind::Engine, "the transaction was lost"));
            }
        }
        before_commit(writing)
    });
    match done {
        Ok(()) => {}
        // The others would only wait as long, one after the other.
        Err(error) if error.kind() == ErrorKind::Busy => {
            jobs.iter_mut().for_each(|job| job.fail(&error));
        }
        // The commit may have succeeded. A failed write is known to be undone; the others are
        // unknown.
        Err(error) if error.kind() == ErrorKind::Unknown => {
            let hoped = jobs.iter_mut().filter(|job| job.whole.is_ok());
            hoped.for_each(|job| job.fail(&error));
        }
        Err(_) => jobs.iter_mut().for_each(|job| job.run_alone(connection, writing)),
    }
}

fn before_commit(writing: &mut Option<WriteGuard<'_>>) -> Result<()> {
    writing.as_mut().map_or(Ok(()), WriteGuard::before_commit)
}
