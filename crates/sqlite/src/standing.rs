//! Readers beside the writer where the journal is a rollback journal: a statement that stands on a
//! row keeps every commit waiting there, and is made to let go.
//!
//! A cursor's statement is known to the pool, and is read to its end into memory before a write:
//! its rows stay those of its opening, and as long as nobody writes no more than a part is in
//! memory. A callback that rows are handed out to can't be hurried: other threads' writes wait for
//! it, and its own thread's, which could never succeed, are refused.
//!
//! The lock of the list is never held while another is taken; a cursor's is while it is read.

use crate::cursor::Shared;
use crate::gate::{Lease, Pool, Seat, lock, thread_number};
use bobak_core::{Error, ErrorKind, Result, RowBuffer};
use std::sync::{Arc, Mutex};

/// What stands on rows, over a pool's connections.
#[derive(Debug, Default)]
pub(crate) struct Standings {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// None while there are writes.
    cursors: Vec<Arc<Standing>>,
    /// How many writes are running: one, or for a moment a second that follows it.
    writes: usize,
    /// The threads that rows are being handed out on, once for each query.
    handing_out: Vec<u64>,
}

/// A cursor's statement on a reading connection of its own, until that is needed back.
#[derive(Debug)]
pub(crate) struct Standing {
    rows: Shared,
    /// The connection, while the statement is running. Its lock is held for no longer than a part,
    /// or all that is left, takes to read.
    seat: Mutex<Option<Seat>>,
}

/// The time of a write: cursors that stand were read to their ends, and new ones are at once.
#[derive(Debug)]
pub(crate) struct Writing<'e> {
    pool: &'e Pool,
}

/// The time in which a query's rows are handed out.
#[derive(Debug)]
pub(crate) struct HandingOut<'e> {
    standings: &'e Standings,
    thread: u64,
}

impl Standings {
    /// Refuses a write on a thread that stands in the midst of a query.
    ///
    /// # Errors
    /// `Busy`.
    pub(crate) fn refuse_inside_query(&self) -> Result<()> {
        if lock(&self.state).handing_out.contains(&thread_number()) {
            let message = "the rows of a query are being handed out: read with a cursor, or list \
                           them first, to write in between";
            return Err(Error::new(ErrorKind::Busy, message));
        }
        Ok(())
    }

    /// Whether the cursor may stand: not while somebody writes.
    fn add(&self, cursor: &Arc<Standing>) -> bool {
        let mut state = lock(&self.state);
        let may_stand = state.writes == 0;
        if may_stand {
            state.cursors.push(Arc::clone(cursor));
        }
        may_stand
    }

    fn remove(&self, cursor: &Standing) {
        let mut state = lock(&self.state);
        if let Some(at) = state.cursors.iter().position(|other| std::ptr::eq(&**other, cursor)) {
            state.cursors.swap_remove(at);
        }
    }
}

impl Standing {
    /// Lets a running statement stand until the next write; while there is one it is read to its
    /// end at once.
    pub(crate) fn start(pool: &Pool, lease: Lease<'_>, rows: Shared) -> Arc<Self> {
        let cursor = Arc::new(Self { rows, seat: Mutex::new(lease.into_seat()) });
        if !pool.standings.add(&cursor) {
            cursor.spill(pool);
        }
        cursor
    }

    /// The next part; none where there are no more rows.
    pub(crate) fn fetch(&self, pool: &Pool, rows: &mut RowBuffer) -> Result<()> {
        let mut seat = lock(&self.seat);
        let Some(mut lease) = seat.take().map(|seat| pool.take_seat(seat)) else {
            drop(seat);
            return self.rows.take_part(rows).unwrap_or(Ok(()));
        };
        let result = self.rows.fetch(&mut lease, rows);
        if self.rows.is_running() {
            *seat = lease.into_seat();
        } else {
            drop((seat, lease));
            pool.standings.remove(self);
        }
        result
    }

    /// Ends the statement and gives the connection back.
    pub(crate) fn close(&self, pool: &Pool) {
        let seat = lock(&self.seat).take();
        if let Some(mut lease) = seat.map(|seat| pool.take_seat(seat)) {
            self.rows.close(&mut lease);
            drop(lease);
            pool.standings.remove(self);
        }
    }

    /// Reads all that is left into memory, and gives the connection back.
    fn spill(&self, pool: &Pool) {
        // Locked until it is done: a fetch that comes meanwhile finds all of the rows.
        let mut seat = lock(&self.seat);
        if let Some(mut lease) = seat.take().map(|seat| pool.take_seat(seat)) {
            self.rows.spill(&mut lease);
        }
    }
}

impl<'e> Writing<'e> {
    /// Makes every cursor let go. To be called by who has the connection that writes.
    pub(crate) fn begin(pool: &'e Pool) -> Self {
        let cursors = {
            let mut state = lock(&pool.standings.state);
            state.writes += 1;
            std::mem::take(&mut state.cursors)
        };
        for cursor in cursors {
            cursor.spill(pool);
        }
        Self { pool }
    }
}

impl Drop for Writing<'_> {
    fn drop(&mut self) {
        lock(&self.pool.standings.state).writes -= 1;
    }
}

impl<'e> HandingOut<'e> {
    pub(crate) fn begin(pool: &'e Pool) -> Self {
        let (standings, thread) = (&pool.standings, thread_number());
        lock(&standings.state).handing_out.push(thread);
        Self { standings, thread }
    }
}

impl Drop for HandingOut<'_> {
    fn drop(&mut self) {
        let mut state = lock(&self.standings.state);
        if let Some(at) = state.handing_out.iter().position(|&thread| thread == self.thread) {
            state.handing_out.swap_remove(at);
        }
    }
}
