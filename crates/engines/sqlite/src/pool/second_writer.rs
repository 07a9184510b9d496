//! Reads on the writing connection.
//! | SQLite empties a connection's page cache when another connection has committed. A program that writes often reads
//! what it has written, in the same thread, and the writing connection has these pages. So a thread that alone has written
//! of late reads on that connection. Meanwhile a second one is in the writer's lock, so that no writer waits for a reader.

use super::connections::{Home, PooledConnection, WriterLock, lock, thread_number};
use crate::connection::{Connection, is_query};
use bobak_core::Result;
use std::sync::atomic::Ordering;

/// A thread reads on the writing connection after so many writes without one of another thread: if several threads write, the
/// two connections would take turns, and each would read the pages of the other's commits again.
const REPEATS: usize = 3;

/// The one of two connections that can write that is not in the writer's lock.
#[derive(Debug, Default)]
pub(super) enum SecondWriter {
    /// There is none: reads use the reading connections.
    #[default]
    Disabled,
    /// It was not needed yet.
    Unopened,
    Idle(Box<Connection>),
    /// A thread reads on it.
    Reading,
    /// As `Reading`; it is closed when it is returned, since the schema has changed.
    Outdated,
}

impl PooledConnection<'_> {
    /// Called before a transaction that only reads runs SQL text: if it may be another statement than a query, what it does is
    /// rejected, as on a reading connection.
    #[inline]
    pub(crate) fn reject_other_than_query(&mut self, sql: &str) -> Result<()> {
        match self.home {
            Home::Second(_) if !is_query(sql) => self.reject_writes(),
            _ => Ok(()),
        }
    }

    /// Called before a write: rejects it in a transaction that only reads.
    #[inline]
    pub(crate) fn reject_writes(&mut self) -> Result<()> {
        if !matches!(self.home, Home::Second(_)) || self.query_only {
            return Ok(());
        }
        self.buffer_cursors();
        self.set_query_only(true)
    }
}

impl WriterLock {
    /// Notes the thread that returns the writing connection.
    #[inline]
    pub(super) fn note_writer(&self, thread: u64) {
        let before = match self.last.load(Ordering::Relaxed) {
            0 => self.reader.load(Ordering::Relaxed),
            last => last,
        };
        let repeats = self.repeats.load(Ordering::Relaxed);
        self.repeats.store(if before == thread { repeats + 1 } else { 0 }, Ordering::Relaxed);
        self.last.store(thread, Ordering::Relaxed);
    }

    /// Called by the thread that has the writing connection, before its SQL text changes the connection itself: no other
    /// connection takes its place any more.
    #[cold]
    pub(crate) fn disable_reads(&self) {
        *lock(&self.second) = SecondWriter::Disabled;
    }

    /// Called by the thread that has the writing connection, before it changes the schema, which may change settings of the
    /// connection.
    pub(crate) fn schema_changed(&self) {
        let mut second = lock(&self.second);
        *second = match std::mem::take(&mut *second) {
            SecondWriter::Idle(_) => SecondWriter::Unopened,
            SecondWriter::Reading => SecondWriter::Outdated,
            other => other,
        };
    }

    /// Returns the writing connection, to read on it, if this thread alone has written of late. `open` opens the second one,
    /// which takes its place.
    #[inline]
    pub(crate) fn acquire_to_read(
        &self,
        open: impl FnOnce() -> Result<Box<Connection>>,
    ) -> Option<PooledConnection<'_>> {
        let me = thread_number();
        let repeats = self.repeats.load(Ordering::Relaxed);
        if self.last.load(Ordering::Relaxed) != me || repeats < REPEATS {
            return None;
        }
        // The second connection is only opened and exchanged by the thread that has the first: nobody changes the schema.
        let connection = self.take()?;
        let Some(second) = self.take_second(open) else {
            self.put(connection);
            return None;
        };
        self.reader.store(me, Ordering::Relaxed);
        self.last.store(0, Ordering::Relaxed);
        self.put(second);
        Some(PooledConnection { connection: Some(connection), home: Home::Second(self) })
    }

    /// Whether this thread reads on the writing connection.
    #[inline]
    pub(crate) fn is_read_by_this_thread(&self) -> bool {
        self.reader.load(Ordering::Relaxed) == thread_number()
    }

    fn take_second(
        &self,
        open: impl FnOnce() -> Result<Box<Connection>>,
    ) -> Option<Box<Connection>> {
        let mut second = lock(&self.second);
        let (taken, state) = match std::mem::take(&mut *second) {
            SecondWriter::Idle(connection) => (Some(connection), SecondWriter::Reading),
            SecondWriter::Unopened => match open() {
                Ok(connection) => (Some(connection), SecondWriter::Reading),
                // The reading connections report why the file cannot be opened.
                Err(_) => (None, SecondWriter::Disabled),
            },
            other => (None, other),
        };
        *second = state;
        taken
    }

    /// Takes back a connection of [`acquire_to_read`](Self::acquire_to_read). One that rejects writes is closed.
    pub(super) fn return_from_reading(&self, connection: Box<Connection>) {
        let me = self.reader.swap(0, Ordering::Relaxed);
        self.return_second(self.exchange(connection, me));
    }

    /// Puts the connection into the lock again if nobody has written since: it still has the fuller cache. Returns the other
    /// one.
    fn exchange(&self, connection: Box<Connection>, reader: u64) -> Box<Connection> {
        if connection.query_only || self.last.load(Ordering::Relaxed) != 0 {
            return connection;
        }
        match self.take() {
            Some(second) if self.last.load(Ordering::Relaxed) == 0 => {
                self.last.store(reader, Ordering::Relaxed);
                self.put(connection);
                second
            }
            Some(second) => {
                self.put(second);
                connection
            }
            None => connection,
        }
    }

    fn return_second(&self, connection: Box<Connection>) {
        let mut second = lock(&self.second);
        *second = match std::mem::take(&mut *second) {
            SecondWriter::Reading if !connection.query_only => SecondWriter::Idle(connection),
            SecondWriter::Reading | SecondWriter::Outdated => SecondWriter::Unopened,
            other => other,
        };
    }
}
