//! The engine and its settings.

use crate::NAME;
use crate::catalog::TableCatalog;
use crate::data::{DATA, Data};
use crate::error::{commit_failed, failed};
use crate::session::KvSession;
use bobak_core::{Capabilities, Engine, Estimate, Result, Session, TableSchema};
use bobak_engine_common::WriteLock;
use redb::{ReadTransaction, ReadableDatabase};
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock, RwLockWriteGuard};
use std::time::Duration;

/// An engine that keeps its tables in one redb file.
///
/// ```
/// use bobak_core::{ColumnSchema, Engine, SchemaChange, TableSchema, Type};
/// use bobak_kv::Kv;
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("planes.kv");
/// let kv = Kv::open(path)?;
/// let table = TableSchema::builder("plane").column(ColumnSchema::new("tail", Type::Text));
/// kv.alter(&[SchemaChange::CreateTable(table.key(["tail"]).build()?.into())])?;
/// assert_eq!(kv.tables()?.len(), 1);
/// # Ok::<(), bobak_core::Error>(())
/// ```
pub struct Kv {
    file: KvFile,
}

/// How a [`Kv`] is opened. See [`Kv::builder`].
#[derive(Clone, Debug)]
#[must_use]
pub struct KvBuilder {
    busy_timeout: Duration,
    cache_bytes: usize,
    durability: Durability,
    check_on_open: bool,
}

/// When a commit is on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Durability {
    /// When it returns.
    #[default]
    Immediate,
    /// After the next [`Engine::flush`]. A crash loses the commits since then, and nothing else.
    OnFlush,
}

/// What the sessions of an engine share.
pub(super) struct KvFile {
    pub redb: redb::Database,
    pub writer: WriteLock,
    pub durability: Durability,
    catalog: RwLock<Arc<TableCatalog>>,
}

impl Kv {
    /// Opens a file with the default settings, or creates it.
    ///
    /// # Errors
    /// As [`KvBuilder::open`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        Self::builder().open(path)
    }

    /// Returns the default settings.
    pub const fn builder() -> KvBuilder {
        KvBuilder {
            busy_timeout: Duration::from_secs(5),
            cache_bytes: 64 << 20,
            durability: Durability::Immediate,
            check_on_open: false,
        }
    }
}

impl KvBuilder {
    /// How long a writer waits for another's transaction before it fails with `Busy`. Default: 5
    /// seconds.
    pub const fn busy_timeout(mut self, time: Duration) -> Self {
        self.busy_timeout = time;
        self
    }

    /// The memory for cached pages, in bytes. Default: 64 MiB.
    pub const fn cache_bytes(mut self, bytes: usize) -> Self {
        self.cache_bytes = bytes;
        self
    }

    /// When a commit is on disk. Default: [`Durability::Immediate`].
    pub const fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// Reads the whole file and verifies its checksums when it is opened. Default: only after a crash.
    pub const fn check_on_open(mut self, check: bool) -> Self {
        self.check_on_open = check;
        self
    }

    /// Opens the file, or creates it. After a crash redb repairs it first.
    ///
    /// # Errors
    /// `Busy` if the file is open already, here or in another process; `Corrupt` if it is damaged or not
    /// a redb file; `Io`, `Full`, `ReadOnly`.
    pub fn open(&self, path: impl AsRef<Path>) -> Result<Kv> {
        let path = path.as_ref();
        let doing = format!("open {}", path.display());
        let mut builder = redb::Builder::new();
        builder.set_cache_size(self.cache_bytes).set_check_integrity_on_open(self.check_on_open);
        let redb = builder.create(path).map_err(|error| failed(&doing, error))?;
        // Reading needs the table, which a new file does not have.
        let begun = redb.begin_write().map_err(|error| failed("begin", error))?;
        let table = begun.open_table(DATA).map_err(|error| failed("read", error))?;
        let catalog = TableCatalog::load(&Data::Writing(table))?;
        begun.commit().map_err(commit_failed)?;
        let file = KvFile {
            redb,
            writer: WriteLock::new(self.busy_timeout),
            durability: self.durability,
            catalog: RwLock::new(Arc::new(catalog)),
        };
        Ok(Kv { file })
    }
}

impl KvFile {
    /// The tables that are committed.
    pub fn catalog(&self) -> Arc<TableCatalog> {
        Arc::clone(&self.catalog.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Excludes readers that begin, until the result is dropped.
    pub fn lock_catalog(&self) -> RwLockWriteGuard<'_, Arc<TableCatalog>> {
        self.catalog.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// The data and the tables of this moment.
    ///
    /// # Errors
    /// `Io`.
    pub fn begin_read(&self) -> Result<(ReadTransaction, Arc<TableCatalog>)> {
        let catalog = self.catalog.read().unwrap_or_else(PoisonError::into_inner);
        let begun = self.redb.begin_read().map_err(|error| failed("begin", error))?;
        Ok((begun, Arc::clone(&catalog)))
    }
}

impl Engine for Kv {
    fn name(&self) -> &'static str {
        NAME
    }

    fn capabilities(&self) -> Capabilities {
        let mut capabilities = Capabilities::NONE;
        capabilities.persistent = true;
        capabilities.concurrent_readers = true;
        capabilities.sequential_keys = true;
        capabilities.nul_in_text = true;
        capabilities.untyped_columns = true;
        capabilities
    }

    fn session(&self) -> Result<Box<dyn Session + '_>> {
        Ok(Box::new(KvSession::new(&self.file)))
    }

    fn estimate(&self, _table: &TableSchema) -> Estimate {
        Estimate { rows: None, call: 10, row: 2 }
    }

    fn flush(&self) -> Result<()> {
        if self.file.durability == Durability::Immediate {
            return Ok(());
        }
        let _lock = self.file.writer.hold()?;
        let begun = self.file.redb.begin_write().map_err(|error| failed("begin", error))?;
        begun.commit().map_err(commit_failed)
    }
}

impl Durability {
    /// redb's name for it.
    pub(super) const fn of_commit(self) -> redb::Durability {
        match self {
            Self::Immediate => redb::Durability::Immediate,
            Self::OnFlush => redb::Durability::None,
        }
    }
}

impl std::fmt::Debug for Kv {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Kv").field("tables", &self.file.catalog().tables.len()).finish()
    }
}
