//! CommitQueue commit: small writes of several threads in one transaction, with one sync for all.
//!
//! A thread that finds the writing connection free, and nobody waiting, writes by itself, as though
//! all this were not there. Others get in line ([`CommitQueue`]): the first of them takes what waits,
//! writes it in one transaction, commits, and only then is each told its own result. What one of
//! them does wrong is undone for it alone; where the transaction as a whole can't be, or can't be
//! committed, each is done again in a transaction of its own, so that only who is at fault fails. But
//! where nobody knows whether it is committed, nothing is done again: all are told so.

use crate::connection::Connection;
use crate::error::{kept_waiting, misuse};
use crate::pool::WriteGuard;
use crate::session::batch;
use crate::session::commit_queue::{CommitQueue, Leader, QueueResult};
use crate::session::database::Database;
use crate::session::write::write_row;
use bobak_core::{Batch, Error, ErrorKind, OnError, Outcome, Result, Write};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// The most bytes of rows in one transaction, but for those of the first in line.
const MOST_BYTES: usize = 4 << 20;
/// Batches of more bytes do not get in line: they wait for the connection, and have it alone.
const SMALL_BATCH: usize = 64 << 10;
/// The most time that one who leads waits for those who were there last time.
const MAX_LINGER: Duration = Duration::from_millis(2);

/// Those who commit together.
#[derive(Debug)]
pub(crate) struct GroupCommit {
    group: CommitQueue<QueuedWrites>,
    /// How many threads are in line, lead, or are being served.
    members: AtomicUsize,
    /// How many others may be expected to come, as far as the last transaction showed.
    expected: AtomicUsize,
    /// How long the last transaction took, in nanoseconds.
    took: AtomicU64,
}

/// What a thread mode written.
#[derive(Debug)]
struct QueuedWrites {
    batch: Batch,
    on_error: OnError,
    /// Whether it is one write, not a batch: its error has no row number.
    lone: bool,
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

    /// Whether there is nobody to commit with.
    #[inline]
    pub(crate) fn is_quiet(&self) -> bool {
        self.expected.load(Ordering::Relaxed) == 0 && self.members.load(Ordering::Relaxed) == 0
    }

    /// Whether a batch is small enough to share a transaction.
    pub(crate) fn takes(batch: &Batch) -> bool {
        batch.bytes() <= SMALL_BATCH
    }

    /// Writes one row together with others.
    pub(crate) fn write(&self, inner: &Database, write: &Write<'_>) -> Result<Outcome> {
        let mut batch = Batch::new();
        batch.push(write).map_err(|error| error.in_table(write.table.name()))?;
        let mut job = self.join(inner, QueuedWrites::new(batch, OnError::Stop, true))?;
        job.whole?;
        job.rows.pop().unwrap_or_else(|| Err(misuse("a write has one outcome")))
    }

    /// Writes a small batch together with others.
    pub(crate) fn batch(
        &self,
        inner: &Database,
        batch: &Batch,
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
                let message = "the thread that wrote for several panicked: nothing was written";
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
        // Before the others are told, so that who comes next finds the connection free.
        drop(writing);
        drop(pooled);
        leader.finish(jobs).ok_or_else(|| misuse("who leads is served first"))
    }

    /// Waits a little for those who were there last time: they were told their results a moment
    /// ago, and most have more to write. It costs them, too, less than a sync of their own.
    fn linger(&self) {
        let expected = self.expected.load(Ordering::Relaxed) + 1;
        if expected == 1 {
            return;
        }
        let took = Duration::from_nanos(self.took.load(Ordering::Relaxed));
        let (start, patience) = (Instant::now(), MAX_LINGER.min(took / 2));
        while self.group.waiting() < expected && start.elapsed() < patience {
            std::thread::yield_now();
        }
    }
}

/// One of those in line, until it is dropped: by a panic too.
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
    fn new(batch: Batch, on_error: OnError, lone: bool) -> Self {
        Self { batch, on_error, lone, rows: Vec::new(), whole: Ok(()) }
    }

    /// Does the work inside an open transaction; what goes wrong is undone.
    fn run_inside(&mut self, connection: &mut Connection) {
        self.whole = if self.lone {
            self.run_lone(connection)
        } else {
            connection.atomically(true, |connection| self.run_batch(connection))
        };
    }

    /// By itself, in a transaction of its own.
    fn run_alone(&mut self, connection: &mut Connection, writing: &mut Option<WriteGuard<'_>>) {
        self.rows.clear();
        self.whole = if self.lone {
            before_commit(writing).and_then(|()| self.run_lone(connection))
        } else {
            connection.atomically(false, |connection| {
                self.run_batch(connection).and_then(|()| before_commit(writing))
            })
        };
    }

    /// One row is one statement, which is done wholly or not at all.
    fn run_lone(&mut self, connection: &mut Connection) -> Result<()> {
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
                // SQLite has rolled all of it back: a full disk, say.
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
        // The commit may stand: who has done something wrong knows that it is undone, nobody else does.
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
