//! Readers beside the writer where the journal is a rollback journal: a statement that stands on a
//! row keeps every commit waiting there, and is made to let go.
//!
//! A cursor's statement is known to the pool, and is read to its end into memory before a write:
//! its rows stay those of its opening, and as long as nobody writes no more than a part is in
//! memory. A callback that rows are handed out to can't be hurried: other threads' commits wait for
//! it, and its own thread's, which could never succeed, are refused. They wait here and not at
//! SQLite's lock, which would keep out what the callback itself reads: both would wait in vain.
//!
//! The lock of the list is never held while another is taken; a cursor's is while it is read.

use super::connections::{DetachedConnection, Pool, PooledConnection, lock, thread_number};
use crate::connection::shared_cursor::SharedCursor;
use crate::error::kept_waiting;
use bobak_core::{Error, ErrorKind, Result, RowBuffer};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// What stands on rows, over a pool's connections.
#[derive(Debug, Default)]
pub(crate) struct ActiveCursors {
    state: Mutex<CursorsState>,
    /// A query or a commit has ended.
    ended: Condvar,
}

#[derive(Debug, Default)]
struct CursorsState {
    /// None while there are writes.
    cursors: Vec<Arc<ActiveCursor>>,
    /// How many writes are running: one, or for a moment a second that follows it.
    writes: usize,
    /// How many of them commit: no query begins meanwhile but inside of others.
    commits: usize,
    /// The threads that rows are being handed out on, once for each query.
    in_callback: Vec<u64>,
}

/// A cursor's statement on a reading connection of its own, until that is needed back.
#[derive(Debug)]
pub(crate) struct ActiveCursor {
    rows: SharedCursor,
    /// The connection, while the statement is running. Its lock is held for no longer than a part,
    /// or all that is left, takes to read.
    detached: Mutex<Option<DetachedConnection>>,
}

/// The time of a write: cursors that stand were read to their ends, and new ones are at once.
#[derive(Debug)]
pub(crate) struct WriteGuard<'e> {
    pool: &'e Pool,
    commits: bool,
}

/// The time in which a query's rows are handed out.
#[derive(Debug)]
pub(crate) struct CallbackGuard<'e> {
    active_cursors: &'e ActiveCursors,
    thread: u64,
}

impl ActiveCursors {
    /// Refuses a write on a thread that stands in the midst of a query.
    ///
    /// # Errors
    /// `Busy`.
    pub(crate) fn refuse_inside_query(&self) -> Result<()> {
        lock(&self.state).refuse_inside_query(thread_number())
    }

    /// Whether the cursor may stand: not while somebody writes.
    fn add(&self, cursor: &Arc<ActiveCursor>) -> bool {
        let mut state = lock(&self.state);
        let may_stand = state.writes == 0;
        if may_stand {
            state.cursors.push(Arc::clone(cursor));
        }
        may_stand
    }

    fn remove(&self, cursor: &ActiveCursor) {
        let mut state = lock(&self.state);
        if let Some(at) = state.cursors.iter().position(|other| std::ptr::eq(&**other, cursor)) {
            state.cursors.swap_remove(at);
        }
    }
}

impl CursorsState {
    fn refuse_inside_query(&self, thread: u64) -> Result<()> {
        if self.in_callback.contains(&thread) {
            let message = "the rows of a query are being handed out: read with a cursor, or list \
                           them first, to write in between";
            return Err(Error::new(ErrorKind::Busy, message));
        }
        Ok(())
    }
}

impl ActiveCursor {
    /// Lets a running statement stand until the next write; while there is one it is read to its
    /// end at once.
    pub(crate) fn start(
        pool: &Pool,
        pooled: PooledConnection<'_>,
        rows: SharedCursor,
    ) -> Arc<Self> {
        let cursor = Arc::new(Self { rows, detached: Mutex::new(pooled.detach()) });
        if !pool.active_cursors.add(&cursor) {
            cursor.buffer(pool);
        }
        cursor
    }

    /// The next part; none where there are no more rows.
    pub(crate) fn fetch(&self, pool: &Pool, rows: &mut RowBuffer) -> Result<()> {
        let mut detached = lock(&self.detached);
        let Some(mut pooled) = detached.take().map(|detached| pool.attach(detached)) else {
            drop(detached);
            return self.rows.take_part(rows).unwrap_or(Ok(()));
        };
        let result = self.rows.fetch(&mut pooled, rows);
        if self.rows.is_running() {
            *detached = pooled.detach();
        } else {
            drop((detached, pooled));
            pool.active_cursors.remove(self);
        }
        result
    }

    /// Ends the statement and gives the connection back.
    pub(crate) fn close(&self, pool: &Pool) {
        let detached = lock(&self.detached).take();
        if let Some(mut pooled) = detached.map(|detached| pool.attach(detached)) {
            self.rows.close(&mut pooled);
            drop(pooled);
            pool.active_cursors.remove(self);
        }
    }

    /// Reads all that is left into memory, and gives the connection back.
    fn buffer(&self, pool: &Pool) {
        // Locked until it is done: a fetch that comes meanwhile finds all of the rows.
        let mut detached = lock(&self.detached);
        if let Some(mut pooled) = detached.take().map(|detached| pool.attach(detached)) {
            self.rows.buffer(&mut pooled);
        }
    }
}

impl<'e> WriteGuard<'e> {
    /// Makes every cursor let go. To be called by who has the connection that writes.
    pub(crate) fn begin(pool: &'e Pool) -> Self {
        let cursors = {
            let mut state = lock(&pool.active_cursors.state);
            state.writes += 1;
            std::mem::take(&mut state.cursors)
        };
        for cursor in cursors {
            cursor.buffer(pool);
        }
        Self { pool, commits: false }
    }

    /// Waits for the queries of other threads, and keeps new ones out.
    ///
    /// # Errors
    /// `Busy`: at once inside a query of this very thread, else after the busy time-out.
    pub(crate) fn before_commit(&mut self) -> Result<()> {
        let mut state = lock(&self.pool.active_cursors.state);
        state.refuse_inside_query(thread_number())?;
        if !self.commits {
            self.commits = true;
            state.commits += 1;
        }
        wait_while(self.pool, state, |state| !state.in_callback.is_empty()).map(drop).ok_or_else(
            || {
                let message = "a query handed out its rows for the whole busy time-out";
                Error::new(ErrorKind::Busy, message)
            },
        )
    }
}

impl Drop for WriteGuard<'_> {
    fn drop(&mut self) {
        let active_cursors = &self.pool.active_cursors;
        let mut state = lock(&active_cursors.state);
        state.writes -= 1;
        if self.commits {
            state.commits -= 1;
            drop(state);
            active_cursors.ended.notify_all();
        }
    }
}

impl<'e> CallbackGuard<'e> {
    /// Waits for a commit, but not inside another query of this thread, which that waits for.
    ///
    /// # Errors
    /// `Busy` after the busy time-out.
    pub(crate) fn begin(pool: &'e Pool) -> Result<Self> {
        let (active_cursors, thread) = (&pool.active_cursors, thread_number());
        let state = lock(&active_cursors.state);
        let waits =
            |state: &CursorsState| state.commits > 0 && !state.in_callback.contains(&thread);
        let Some(mut state) = wait_while(pool, state, waits) else {
            return Err(kept_waiting());
        };
        state.in_callback.push(thread);
        Ok(Self { active_cursors, thread })
    }
}

impl Drop for CallbackGuard<'_> {
    fn drop(&mut self) {
        let mut state = lock(&self.active_cursors.state);
        if let Some(at) = state.in_callback.iter().position(|&thread| thread == self.thread) {
            state.in_callback.swap_remove(at);
        }
        let awaited = state.in_callback.is_empty() && state.commits > 0;
        drop(state);
        if awaited {
            self.active_cursors.ended.notify_all();
        }
    }
}

/// `None` after the busy time-out.
fn wait_while<'e>(
    pool: &'e Pool,
    mut state: MutexGuard<'e, CursorsState>,
    condition: impl Fn(&CursorsState) -> bool,
) -> Option<MutexGuard<'e, CursorsState>> {
    let start = Instant::now();
    while condition(&state) {
        let left =
            pool.busy_timeout().checked_sub(start.elapsed()).filter(|left| !left.is_zero())?;
        let woken = pool.active_cursors.ended.wait_timeout(state, left);
        state = woken.unwrap_or_else(PoisonError::into_inner).0;
    }
    Some(state)
}
