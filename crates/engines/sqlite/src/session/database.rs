//! The open database: its connections, and the operations that need no session.

use super::checkpoints::CheckpointPolicy;
use super::group_commit::GroupCommit;
use super::vector_cache::VectorCache;
use super::write;
use crate::connection::Connection;
use crate::connection::pinned_read::PinnedRead;
use crate::extension::Extension;
use crate::open::{self, FileId};
use crate::pool::{CallbackGuard, Pool, PooledConnection, WriteGuard, WriterLock};
use crate::settings::{JournalMode, Settings};
use bobak_core::{Deadline, ErrorKind, OnError, Outcome, Result, Write, WriteBatch};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// An open database.
#[derive(Debug)]
pub(crate) struct Database {
    // Dropped in this order: closing the writing connection last checkpoints the log.
    readers: Option<Pool>,
    vectors: Option<VectorCache>,
    writer: WriterLock,
    settings: Settings,
    /// Whether active readers block commits: those of a rollback journal do.
    readers_block: bool,
    /// What another crate adds to the connections.
    extension: OnceLock<Arc<dyn Extension>>,
    /// Present if commits wait for the disk.
    commits: Option<GroupCommit>,
    /// When commits checkpoint the log.
    log: Arc<CheckpointPolicy>,
    /// The identity of the file, if the system has one.
    file: Option<FileId>,
}

impl Database {
    /// Opens a database.
    pub(crate) fn open(settings: Settings) -> Result<Self> {
        let mut connection = open::writer(&settings)?;
        let logged = settings.path.is_some() && settings.journal_mode == JournalMode::Wal;
        connection.pinned_read = PinnedRead::new(settings.is_single() && !logged);
        let log = Arc::default();
        if logged && !settings.is_single() {
            connection.db.set_wal_hook(&log);
        }
        let file = settings.path.as_deref().and_then(FileId::of);
        let reads = logged && !settings.is_single() && !settings.is_read_only();
        let writer = WriterLock::new(connection, settings.busy_timeout, reads);
        Ok(Self {
            file,
            vectors: settings
                .caches_vectors()
                .then(|| VectorCache::new(settings.vector_cache_bytes)),
            readers: (!settings.is_single()).then(|| Pool::new(settings.clone(), file)),
            writer,
            readers_block: settings.journal_mode != JournalMode::Wal && !settings.is_read_only(),
            commits: settings.commits_wait().then(GroupCommit::new),
            settings,
            extension: OnceLock::new(),
            log,
        })
    }

    /// A connection for reading.
    #[inline]
    pub(crate) fn read(&self) -> Result<PooledConnection<'_>> {
        let mut pooled = self.reading()?;
        pooled.unpin_read();
        Ok(pooled)
    }

    /// A connection for typed queries: the writing one, if this thread alone has written of late and nobody writes now.
    #[inline(always)]
    pub(crate) fn reading_typed(&self) -> Result<PooledConnection<'_>> {
        match &self.readers {
            Some(readers) => self.reading_among(readers),
            None => {
                let mut pooled = self.writer.acquire()?;
                pooled.pin_read();
                Ok(pooled)
            }
        }
    }

    fn reading_among<'e>(&'e self, readers: &'e Pool) -> Result<PooledConnection<'e>> {
        match self.writer.acquire_to_read(|| self.new_writer()) {
            Some(pooled) => Ok(pooled),
            None => self.reader(readers),
        }
    }

    fn reader<'e>(&'e self, readers: &'e Pool) -> Result<PooledConnection<'e>> {
        readers.acquire(self.writer.is_read_by_this_thread())
    }

    #[cold]
    fn new_writer(&self) -> Result<Box<Connection>> {
        let mut connection = open::second_writer(&self.settings, self.file)?;
        connection.db.set_wal_hook(&self.log);
        Ok(connection)
    }

    pub(crate) fn writer(&self) -> &WriterLock {
        &self.writer
    }

    /// The connection for writing.
    #[inline]
    pub(crate) fn write(&self) -> Result<PooledConnection<'_>> {
        self.reject_inside_query()?;
        let mut pooled = self.writer.acquire()?;
        pooled.unpin_read();
        Ok(pooled)
    }

    /// As [`write`](Self::write), with a deadline.
    pub(crate) fn write_until(&self, deadline: Instant) -> Result<PooledConnection<'_>> {
        let mut pooled = self.writer.acquire_until(deadline)?;
        pooled.unpin_read();
        Ok(pooled)
    }

    /// The vectors in memory, if the settings allow them.
    #[inline]
    pub(crate) const fn vectors(&self) -> Option<&VectorCache> {
        self.vectors.as_ref()
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    pub(crate) fn busy_timeout(&self) -> Duration {
        Deadline::limit(self.settings.busy_timeout)
    }

    /// Writes and commits one row, together with those of other threads if there are some.
    pub(crate) fn write_one(&self, write: &Write<'_>) -> Result<Outcome> {
        self.reject_inside_query()?;
        let mut pooled = match self.alone() {
            Ok(pooled) => pooled?,
            Err(commits) => {
                self.writer.reject_owner()?;
                return commits.write(self, write);
            }
        };
        pooled.buffer_cursors();
        let _writing = self.begin_commit()?;
        pooled.pin_read();
        write::write_row(&mut pooled, write.table, write.verb, write.fields, write.values)
    }

    /// Writes a small batch together with those of other threads. Does nothing if the batch is
    /// large, or no other thread writes.
    pub(crate) fn share_batch(
        &self,
        batch: &WriteBatch,
        on_error: OnError,
        each: &mut dyn FnMut(Result<Outcome>),
    ) -> Option<Result<()>> {
        if !GroupCommit::takes(batch) {
            return None;
        }
        let commits = self.alone().err()?;
        let rejected = self.reject_inside_query().and_then(|()| self.writer.reject_owner());
        Some(rejected.and_then(|()| commits.batch(self, batch, on_error, each)))
    }

    /// The writing connection for a thread that writes alone; else the group to commit with.
    #[inline]
    fn alone(&self) -> Result<Result<PooledConnection<'_>>, &GroupCommit> {
        match &self.commits {
            None => Ok(self.writer.acquire()),
            Some(commits) if commits.is_idle() => self.writer.try_acquire().map(Ok).ok_or(commits),
            Some(commits) => Err(commits),
        }
    }

    #[inline]
    pub(crate) fn reading(&self) -> Result<PooledConnection<'_>> {
        match &self.readers {
            Some(readers) => self.reader(readers),
            None => self.writer.acquire(),
        }
    }

    /// A connection for reading, if one is available without waiting.
    pub(crate) fn try_read(&self) -> Option<PooledConnection<'_>> {
        match &self.readers {
            Some(readers) => self.reader(readers).ok(),
            None => self.writer.try_acquire(),
        }
    }

    /// Called before a write, with the writing connection. Until the guard is dropped no active
    /// cursor blocks the write.
    #[inline]
    pub(crate) fn begin_writing(&self) -> Option<WriteGuard<'_>> {
        self.blocking_readers().map(WriteGuard::begin)
    }

    /// As [`begin_writing`](Self::begin_writing), for a write that commits.
    #[inline]
    pub(crate) fn begin_commit(&self) -> Result<Option<WriteGuard<'_>>> {
        let mut writing = self.begin_writing();
        writing.as_mut().map_or(Ok(()), WriteGuard::before_commit)?;
        Ok(writing)
    }

    /// Called before a callback receives the rows of a reading connection.
    #[inline]
    pub(crate) fn begin_callback(&self) -> Result<Option<CallbackGuard<'_>>> {
        self.blocking_readers().map(CallbackGuard::begin).transpose()
    }

    /// Rejects a write whose commit would wait for its own thread.
    #[inline]
    fn reject_inside_query(&self) -> Result<()> {
        self.blocking_readers().map_or(Ok(()), |pool| pool.active_cursors.reject_inside_query())
    }

    /// The readers, if they block commits.
    #[inline]
    pub(crate) fn blocking_readers(&self) -> Option<&Pool> {
        if self.readers_block { self.readers.as_ref() } else { None }
    }

    /// Sets the extension, unless there is one.
    pub(crate) fn set_extension(
        &self,
        extension: Arc<dyn Extension>,
    ) -> Result<(), Arc<dyn Extension>> {
        self.extension.set(extension)
    }

    /// What another crate adds to the connections.
    #[inline]
    pub(crate) fn extension(&self) -> Option<&Arc<dyn Extension>> {
        self.extension.get()
    }

    /// Whether the connections contain an extension's tables only.
    pub(crate) fn is_isolated(&self) -> bool {
        self.settings.isolated
    }

    /// Runs `work`. If a table or column is missing, lets the extension look for new tables and
    /// runs it once more.
    pub(crate) fn with_fresh_tables<R>(&self, work: impl Fn() -> Result<R>) -> Result<R> {
        match (work(), self.extension()) {
            (Err(error), Some(extension)) if error.kind() == ErrorKind::Schema => {
                extension.refresh_tables(error)?;
                work()
            }
            (result, _) => result,
        }
    }

    /// Opens a reading connection outside the pool.
    pub(crate) fn new_reader(&self) -> Result<Box<Connection>> {
        open::reader(&self.settings, self.file)
    }

    pub(crate) fn log(&self) -> &Arc<CheckpointPolicy> {
        &self.log
    }

    /// Whether there is only one connection.
    pub(crate) fn is_single(&self) -> bool {
        self.readers.is_none()
    }
}
