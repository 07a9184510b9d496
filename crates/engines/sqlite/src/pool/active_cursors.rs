//! Readers that run next to the writer of a database with a rollback journal.
//! | With a rollback journal, a read statement that is positioned on a row blocks every commit.
//! So the pool knows the statement of each open cursor, and a writer first reads them all to
//! their ends, into memory. A cursor's rows remain those of its opening; as long as nobody
//! writes, only one part of them is in memory.
//! | A callback that receives rows cannot be interrupted. Commits of other threads wait for it; a
//! commit of its own thread could never succeed and is rejected. They wait here instead of for
//! SQLite's lock: SQLite would block new readers, and so a query inside the callback, and both
//! would wait for each other.
//! | The lock of the list is never held while another lock is taken; a cursor's lock is held
//! while the cursor is read.

use super::connections::{DetachedConnection, Pool, PooledConnection, lock, thread_number};
use crate::connection::shared_cursor::SharedCursor;
use crate::error::kept_waiting;
use bobak_core::{Error, ErrorKind, Result, RowBuffer};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// The active cursors and running callbacks of a pool's connections.
#[derive(Debug, Default)]
pub(crate) struct ActiveCursors {
    state: Mutex<CursorsState>,
    /// Notified when a callback or a commit has ended.
    ended: Condvar,
}

#[derive(Debug, Default)]
struct CursorsState {
    /// Empty while there are writes.
    cursors: Vec<Arc<ActiveCursor>>,
    /// The number of writes: one, or for a moment a second that follows it.
    writes: usize,
    /// The number of writes that commit. Meanwhile no query begins, except inside another query.
    commits: usize,
    /// The threads that run a callback, once for each query.
    in_callback: Vec<u64>,
}

/// A cursor whose statement has a reading connection of its own, until a writer needs the cursor
/// to finish.
#[derive(Debug)]
pub(crate) struct ActiveCursor {
    rows: SharedCursor,
    /// The connection, while the statement is running. The lock is held while a part, or all
    /// remaining rows, are read.
    detached: Mutex<Option<DetachedConnection>>,
}

/// Marks the duration of a write: active cursors have been read to their ends, and new ones are
/// read at once.
#[derive(Debug)]
pub(crate) struct WriteGuard<'e> {
    pool: &'e Pool,
    commits: bool,
}

/// Marks the duration of a callback that receives a query's rows.
#[derive(Debug)]
pub(crate) struct CallbackGuard<'e> {
    active_cursors: &'e ActiveCursors,
    thread: u64,
}

impl ActiveCursors {
    /// Rejects a write on a thread that is inside a query's callback.
    /// | # Errors
    /// `Busy`.
    pub(crate) fn reject_inside_query(&self) -> Result<()> {
        lock(&self.state).reject_inside_query(thread_number())
    }

    /// Adds a cursor; `false` during a write.
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
    fn reject_inside_query(&self, thread: u64) -> Result<()> {
        if self.in_callback.contains(&thread) {
            let message = "a query is in its row callback: read with a cursor, or list \
                           them first, to write in between";
            return Err(Error::new(ErrorKind::Busy, message));
        }
        Ok(())
    }
}

impl ActiveCursor {
    /// Starts a cursor with a running statement. During a write it is read to its end at once.
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

    /// Fetches the next part; no rows at the end.
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

    /// Ends the statement and returns the connection.
    pub(crate) fn close(&self, pool: &Pool) {
        let detached = lock(&self.detached).take();
        if let Some(mut pooled) = detached.map(|detached| pool.attach(detached)) {
            self.rows.close(&mut pooled);
            drop(pooled);
            pool.active_cursors.remove(self);
        }
    }

    /// Reads the remaining rows into memory and returns the connection.
    fn buffer(&self, pool: &Pool) {
        // Keep the lock until all rows are read: a concurrent fetch then finds all of them.
        let mut detached = lock(&self.detached);
        if let Some(mut pooled) = detached.take().map(|detached| pool.attach(detached)) {
            self.rows.buffer(&mut pooled);
        }
    }
}

impl<'e> WriteGuard<'e> {
    /// Reads every active cursor to its end. The caller has the writing connection.
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

    /// Waits for the callbacks of other threads, and blocks new ones.
    /// | # Errors
    /// `Busy`: at once inside a callback of this thread, else after the busy timeout.
    pub(crate) fn before_commit(&mut self) -> Result<()> {
        let mut state = lock(&self.pool.active_cursors.state);
        state.reject_inside_query(thread_number())?;
        if !self.commits {
            self.commits = true;
            state.commits += 1;
        }
        wait_while(self.pool, state, |state| !state.in_callback.is_empty()).map(drop).ok_or_else(
            || {
                let message = "a query was returning rows for the whole busy timeout";
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
    /// Waits for running commits, unless inside a callback of this thread, which a commit waits
    /// for.
    /// | # Errors
    /// `Busy` after the busy timeout.
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

/// Returns `None` after the busy timeout.
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
