//! The engine: its connections, and the contract's calls that need no session.

use crate::commit::Commits;
use crate::connection::Connection;
use crate::extension::Extension;
use crate::file_id::FileId;
use crate::gate::{Gate, Lease, Pool};
use crate::hold::Hold;
use crate::log::Log;
use crate::session::SqliteSession;
use crate::settings::{JournalMode, Settings, SqliteBuilder, Synchronous};
use crate::standing::{HandingOut, Writing};
use crate::{open, query, write};
use bobak_core::{
    BackupContent, BackupJob, Batch, Capabilities, Engine, ErrorKind, Estimate, Interrupt, OnError,
    Outcome, Result, Row, Session, SqlHost, TableSchema, Value, Write,
};
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// A database of SQLite: a file, or memory. Cheap to clone; closed when the last clone is gone.
///
/// On a file one connection writes, behind a gate, and a pool of others reads. In memory, and with
/// [`Locking::Exclusive`](crate::Locking::Exclusive), there is one connection for all.
///
/// ```
/// use bobak_core::{ColumnSchema, Engine, SchemaChange, TableSchema};
/// use bobak_sqlite::Sqlite;
/// use std::sync::{Arc, OnceLock};
///
/// let engine = Sqlite::open_memory()?;
/// let plane = TableSchema::builder("plane")
///     .column(ColumnSchema::of::<String>("tailnum"))
///     .key(["tailnum"])
///     .build()?;
/// engine.alter(&[SchemaChange::CreateTable(Arc::new(plane))])?;
/// assert_eq!(engine.tables()?[0].name(), "plane");
/// # Ok::<(), bobak_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Sqlite {
    inner: Arc<Inner>,
}

#[derive(Debug)]
pub(crate) struct Inner {
    // Dropped in this order: the connection that can write is closed last, and checkpoints the log.
    readers: Option<Pool>,
    writer: Gate,
    settings: Settings,
    /// Whether a reader that stands on a row keeps the writer from its commit.
    readers_block: bool,
    /// What another crate adds to its connections.
    extension: OnceLock<Arc<dyn Extension>>,
    /// Where a commit waits for the disk.
    commits: Option<Commits>,
    /// What is known of the log of a file that others read.
    log: Arc<Log>,
    /// Which file it has open, where the system tells.
    file: Option<FileId>,
}

impl Sqlite {
    /// Settings to open a database with; all have defaults.
    pub fn builder() -> SqliteBuilder {
        SqliteBuilder::default()
    }

    /// Opens a file with the default settings, which are durable; makes it where it is missing.
    ///
    /// # Errors
    /// As [`SqliteBuilder::open`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::builder().open(path)
    }

    /// Opens a new database in memory.
    ///
    /// # Errors
    /// As [`SqliteBuilder::open_memory`].
    pub fn open_memory() -> Result<Self> {
        Self::builder().open_memory()
    }

    pub(crate) fn with(settings: Settings) -> Result<Self> {
        let mut connection = open::writer(&settings)?;
        let logged = settings.path.is_some() && settings.journal == JournalMode::Wal;
        connection.hold = Hold::new(settings.is_single() && !logged);
        let log = Arc::default();
        if logged && !settings.is_single() {
            connection.db.set_wal_hook(&log);
        }
        let file = settings.path.as_deref().and_then(FileId::of);
        let inner = Inner {
            file,
            readers: (!settings.is_single()).then(|| Pool::new(settings.clone(), file)),
            writer: Gate::new(connection, settings.busy_timeout),
            readers_block: settings.journal != JournalMode::Wal && !settings.read_only,
            commits: settings.commits_wait().then(Commits::new),
            settings,
            extension: OnceLock::new(),
            log,
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    pub(crate) fn inner(&self) -> &Inner {
        &self.inner
    }
}

impl Inner {
    /// A connection for reading.
    #[inline]
    pub(crate) fn read(&self) -> Result<Lease<'_>> {
        let mut lease = self.reading()?;
        lease.let_go();
        Ok(lease)
    }

    /// The connection for writing.
    #[inline]
    pub(crate) fn write(&self) -> Result<Lease<'_>> {
        self.refuse_inside_query()?;
        let mut lease = self.writer.enter()?;
        lease.let_go();
        Ok(lease)
    }

    /// As [`write`](Self::write), until a moment of the caller's choice.
    pub(crate) fn write_until(&self, deadline: Instant) -> Result<Lease<'_>> {
        let mut lease = self.writer.enter_until(deadline)?;
        lease.let_go();
        Ok(lease)
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    pub(crate) fn busy_timeout(&self) -> Duration {
        self.settings.busy_timeout
    }

    /// Writes one row, which is committed then; with others, where there are some.
    pub(crate) fn write_one(&self, write: &Write<'_>) -> Result<Outcome> {
        self.refuse_inside_query()?;
        let mut lease = match self.alone() {
            Ok(lease) => lease?,
            Err(commits) => {
                self.writer.refuse_owner()?;
                return commits.write(self, write);
            }
        };
        lease.spill_cursors();
        let _writing = self.begin_commit()?;
        lease.hold();
        write::write_row(&mut lease, write.table, write.verb, write.fields, write.values)
    }

    /// Writes a batch with others, where it is small and there are some; else nothing is done.
    pub(crate) fn share_batch(
        &self,
        batch: &Batch,
        on_error: OnError,
        each: &mut dyn FnMut(Result<Outcome>),
    ) -> Option<Result<()>> {
        if !Commits::takes(batch) {
            return None;
        }
        let commits = self.alone().err()?;
        let refused = self.refuse_inside_query().and_then(|()| self.writer.refuse_owner());
        Some(refused.and_then(|()| commits.batch(self, batch, on_error, each)))
    }

    /// The writing connection for one who is to write alone; else those to commit with.
    #[inline]
    fn alone(&self) -> Result<Result<Lease<'_>>, &Commits> {
        match &self.commits {
            None => Ok(self.writer.enter()),
            Some(commits) if commits.is_quiet() => self.writer.try_enter().map(Ok).ok_or(commits),
            Some(commits) => Err(commits),
        }
    }

    #[inline]
    fn reading(&self) -> Result<Lease<'_>> {
        match &self.readers {
            Some(readers) => readers.enter(),
            None => self.writer.enter(),
        }
    }

    /// A connection for reading, where one can be had without waiting.
    fn try_read(&self) -> Option<Lease<'_>> {
        match &self.readers {
            Some(readers) => readers.enter().ok(),
            None => self.writer.try_enter(),
        }
    }

    /// To be called before a write, by who has the connection for it; until the answer is dropped
    /// no cursor stands in the way.
    #[inline]
    pub(crate) fn begin_writing(&self) -> Option<Writing<'_>> {
        self.blocking_readers().map(Writing::begin)
    }

    /// As [`begin_writing`](Self::begin_writing), where the write commits.
    #[inline]
    pub(crate) fn begin_commit(&self) -> Result<Option<Writing<'_>>> {
        let mut writing = self.begin_writing();
        writing.as_mut().map_or(Ok(()), Writing::before_commit)?;
        Ok(writing)
    }

    /// To be called before the rows of a reading connection are handed to a callback.
    #[inline]
    pub(crate) fn begin_handing_out(&self) -> Result<Option<HandingOut<'_>>> {
        self.blocking_readers().map(HandingOut::begin).transpose()
    }

    /// Refuses a write whose commit would wait for its own thread.
    #[inline]
    fn refuse_inside_query(&self) -> Result<()> {
        self.blocking_readers().map_or(Ok(()), |pool| pool.standings.refuse_inside_query())
    }

    /// The readers, where they keep the writer from its commit.
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

    /// What another crate adds to its connections.
    #[inline]
    pub(crate) fn extension(&self) -> Option<&Arc<dyn Extension>> {
        self.extension.get()
    }

    /// Whether its connections hold nothing but an extension's tables.
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

    /// Another connection for reading, besides those of the pool.
    pub(crate) fn new_reader(&self) -> Result<Box<Connection>> {
        open::reader(&self.settings, self.file)
    }

    pub(crate) fn log(&self) -> &Arc<Log> {
        &self.log
    }

    /// Whether there is but one connection.
    pub(crate) fn is_single(&self) -> bool {
        self.readers.is_none()
    }
}

impl SqlHost for Sqlite {}

impl Engine for Sqlite {
    fn name(&self) -> &'static str {
        "sqlite"
    }

    fn capabilities(&self) -> Capabilities {
        let mut capabilities = Capabilities::NONE;
        capabilities.sequential_keys = true;
        capabilities.nul_in_text = true;
        capabilities.untyped_columns = true;
        capabilities.sql = true;
        capabilities.persistent = self.inner.settings.path.is_some();
        capabilities.concurrent_readers = !self.inner.is_single();
        capabilities.nonblocking_get =
            !self.inner.is_single() && self.inner.settings.journal == JournalMode::Wal;
        capabilities.encrypted = self.inner.settings.has_key();
        capabilities
    }

    fn session(&self) -> Result<Box<dyn Session + '_>> {
        Ok(Box::new(SqliteSession::new(&self.inner)))
    }

    fn write(&self, write: &Write<'_>) -> Result<Outcome> {
        Interrupt::check()?;
        Interrupt::hold_off(|| self.inner.write_one(write))
    }

    fn get(
        &self,
        table: &Arc<TableSchema>,
        key: &[Value<'_>],
        row: &mut dyn FnMut(&dyn Row) -> Result<()>,
    ) -> Result<bool> {
        let mut lease = self.inner.reading()?;
        let _handing_out = self.inner.begin_handing_out()?;
        lease.hold();
        query::get(&mut lease, table, key, row)
    }

    fn estimate(&self, table: &TableSchema) -> Estimate {
        let call = if self.inner.settings.path.is_some() { 12 } else { 8 };
        let rows = self.inner.try_read().and_then(|mut lease| {
            // The largest rowid: exact where no row was deleted, and found at once.
            let name = bobak_sql::quote(bobak_sql::Dialect::Sqlite, table.name());
            lease.first_integer(&format!("SELECT max(rowid) FROM main.{name}")).ok()
        });
        Estimate { rows: rows.and_then(|rows| u64::try_from(rows).ok()), call, row: 2 }
    }

    fn sql_host(&self) -> Option<&dyn SqlHost> {
        Some(self)
    }

    fn flush(&self) -> Result<()> {
        let settings = &self.inner.settings;
        if settings.path.is_none() || settings.read_only {
            return Ok(());
        }
        let mut lease = self.inner.write()?;
        lease.spill_cursors();
        let _writing = self.inner.begin_commit()?;
        // Where journals are removed, the removal of the last one need not be durable yet.
        if matches!(settings.synchronous, Synchronous::Normal | Synchronous::Off)
            || settings.journal != JournalMode::Wal
        {
            lease.sync()?;
        }
        if settings.journal == JournalMode::Wal {
            // What is committed is durable already: it goes from the log to the file as far as
            // readers of the log allow.
            lease.first_integer("PRAGMA wal_checkpoint(PASSIVE)")?;
        }
        Ok(())
    }

    fn backup(&self, job: BackupJob<'_>) -> Result<BackupContent> {
        self.inner.backup(job)
    }
}
