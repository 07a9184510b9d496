//! The SQLite engine: the operations of the engine contract.

use crate::extension::{ExtendedConnection, Extension};
use crate::session::database::Database;
use crate::session::{SqliteSession, query};
use crate::settings::{JournalMode, Settings, SqliteBuilder, Synchronous};
use bobak_core::{
    BackupContent, BackupFormat, BackupJob, Capabilities, Engine, Error, ErrorKind, Estimate,
    Interrupt, Outcome, QueryTemplate, Result, Row, Session, SlotValues, SqlHost, TableSchema,
    TemplateQuery, Value, Write,
};
use std::path::Path;
use std::sync::Arc;

/// A database of SQLite: a file, or memory. Cheap to clone; closed when the last clone is gone.
///
/// On a file one connection writes, behind a gate, and a pool of others reads. With a write-ahead log, typed queries of a
/// thread that alone has written of late run on the writing connection, whose page cache has what was written; a second
/// connection takes its place meanwhile, so that no writer waits. In memory, and with
/// [`LockingMode::Exclusive`](crate::LockingMode::Exclusive), there is one connection for all.
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
    inner: Arc<Database>,
}

impl Sqlite {
    /// Returns the builder of a database's settings.
    pub fn builder() -> SqliteBuilder {
        SqliteBuilder::default()
    }

    /// Opens a file with the default settings, which are durable; creates it if it is missing.
    /// | # Errors
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

    /// Sets the extension of this database's connections.
    ///
    /// # Errors
    /// `Misuse` if it has one already.
    pub fn set_extension(&self, extension: Arc<dyn Extension>) -> Result<()> {
        self.inner().set_extension(extension).map_err(|_| {
            let message = "the database is already connected to other engines";
            Error::new(ErrorKind::Misuse, message)
        })
    }

    /// Runs `work` on a connection that can read, after the extension's
    /// [`begin`](crate::extension::ConnectionExtension::begin).
    ///
    /// # Errors
    /// `Busy` if no connection is free in time; those of the extension and of `work`.
    pub fn with_connection<R>(
        &self,
        work: impl FnOnce(&mut ExtendedConnection<'_>) -> Result<R>,
    ) -> Result<R> {
        let mut pooled = self.inner().read()?;
        if let Some(extension) = self.inner().extension() {
            pooled.begin_extension(extension)?;
        }
        work(&mut ExtendedConnection(&mut pooled))
    }

    pub(crate) fn with(settings: Settings) -> Result<Self> {
        Ok(Self { inner: Arc::new(Database::open(settings)?) })
    }

    pub(crate) fn inner(&self) -> &Database {
        &self.inner
    }
}

impl SqlHost for Sqlite {}

impl Engine for Sqlite {
    fn name(&self) -> &'static str {
        "sqlite"
    }

    fn capabilities(&self) -> Capabilities {
        let mut capabilities = Capabilities::NONE;
        capabilities.subqueries = true;
        capabilities.sequential_keys = true;
        capabilities.nul_in_text = true;
        capabilities.untyped_columns = true;
        capabilities.foreign_keys = true;
        capabilities.update_actions = true;
        capabilities.deferred_references = true;
        capabilities.unreused_keys = true;
        capabilities.generated_columns = true;
        capabilities.any_check = true;
        capabilities.weak_types = true;
        capabilities.sql = true;
        capabilities.persistent = self.inner.settings().path.is_some();
        capabilities.concurrent_readers = !self.inner.is_single();
        capabilities.nonblocking_get =
            !self.inner.is_single() && self.inner.settings().journal_mode == JournalMode::Wal;
        capabilities.encrypted = self.inner.settings().has_key();
        capabilities.alter_table = true;
        capabilities.search = true;
        capabilities.search_in_transaction = true;
        capabilities.vectors = true;
        capabilities.explain = true;
        capabilities.value_parts = true;
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
        let mut pooled = self.inner.reading_typed()?;
        let _callback = self.inner.begin_callback()?;
        query::get(&mut pooled, table, key, row)
    }

    fn run_template(
        &self,
        template: &QueryTemplate,
        values: &SlotValues<'_>,
        row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
    ) -> Result<Option<u64>> {
        if let TemplateQuery::Update { .. } = template.query() {
            return SqliteSession::new(&self.inner).run_template(template, values, row);
        }
        Interrupt::check()?;
        let mut pooled = self.inner.reading_typed()?;
        let _callback = self.inner.begin_callback()?;
        pooled.run_template(template, values, row)
    }

    fn estimate(&self, table: &TableSchema) -> Estimate {
        let call = if self.inner.settings().path.is_some() { 12 } else { 8 };
        let rows = self.inner.try_read().and_then(|mut pooled| {
            let name = bobak_sql::quote(bobak_sql::Dialect::Sqlite, table.name());
            let sql = match pooled.table_info(table).ok()?.rowids {
                // The largest rowid: exact if no row was deleted, and found at once.
                true => format!("SELECT max(rowid) FROM main.{name}"),
                // Tables of links have none: large ones count as having so many rows.
                false => format!("SELECT count(*) FROM (SELECT 1 FROM main.{name} LIMIT 10000)"),
            };
            pooled.first_integer(&sql).ok()
        });
        Estimate { rows: rows.and_then(|rows| u64::try_from(rows).ok()), call, row: 2 }
    }

    fn sql_host(&self) -> Option<&dyn SqlHost> {
        Some(self)
    }

    fn flush(&self) -> Result<()> {
        let settings = self.inner.settings();
        if settings.path.is_none() || settings.is_read_only() {
            return Ok(());
        }
        let mut pooled = self.inner.write()?;
        pooled.buffer_cursors();
        let _writing = self.inner.begin_commit()?;
        // In journal modes that delete the journal, the last deletion may not be durable yet.
        if matches!(settings.synchronous, Synchronous::Normal | Synchronous::Off)
            || settings.journal_mode != JournalMode::Wal
        {
            pooled.sync()?;
        }
        if settings.journal_mode == JournalMode::Wal {
            // Everything committed is durable; move it from the log to the file as far as readers
            // allow.
            pooled.first_integer("PRAGMA wal_checkpoint(PASSIVE)")?;
        }
        Ok(())
    }

    fn backup_format(&self) -> Option<BackupFormat> {
        Some(BackupFormat { scheme: "sqlite", extension: "db" })
    }

    /// The pages of a file with the cipher `sqlcipher` are decrypted by SQLite alone.
    #[cfg(feature = "encryption")]
    fn backup_key(&self) -> Option<&dyn std::any::Any> {
        let settings = self.inner.settings();
        let is_own = settings.cipher == Some(crate::Cipher::Aegis256);
        settings.key.as_ref().filter(|_| is_own).map(|key| key as _)
    }

    /// `None` for an encrypted database: its key is not known any more.
    fn open_backup(&self, file: &Path) -> Result<Option<Box<dyn Engine>>> {
        if self.inner.settings().has_key() {
            return Ok(None);
        }
        Ok(Some(Box::new(Self::builder().open(file)?)))
    }

    fn backup(&self, job: BackupJob<'_>) -> Result<BackupContent> {
        self.inner.backup(job)
    }
}
