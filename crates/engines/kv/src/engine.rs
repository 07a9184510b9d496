//! The engine and its settings.

use crate::NAME;
use crate::catalog::{self, TableCatalog};
use crate::data::{DATA, Data};
use crate::error::{commit_failed, failed};
use crate::session::KvSession;
use bobak_core::{
    Capabilities, Engine, Error, ErrorKind, Estimate, Result, Session, TableSchema, choices,
    settings,
};
use bobak_engine_common::WriteLock;
use redb::{DatabaseError, ReadTransaction, ReadableDatabase};
use std::fs::File;
use std::io::Read;
use std::panic::{AssertUnwindSafe, catch_unwind};
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

settings! {
    /// How a [`Kv`] is opened. See [`Kv::builder`].
    #[derive(Clone)]
    pub struct KvBuilder with pub(crate) settings {
        /// How long a writer waits for another transaction to end before it fails with `Busy`.
        busy_timeout: Duration = Duration::from_secs(5);
        /// The memory for cached pages.
        cache_bytes: usize = 64 << 20, unit = "bytes";
        /// When a commit is on disk.
        durability: Durability = Durability::Immediate;
        /// Whether the whole file is read and its checksums are verified when it is opened.
        ///
        /// After a crash they are verified in any case.
        check_on_open: bool = false;
    }
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

choices!(Durability: "immediate" => Immediate, "on_flush" => OnFlush);

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

    /// Begins the settings of an engine.
    pub fn builder() -> KvBuilder {
        KvBuilder::default()
    }
}

impl KvBuilder {
    /// Opens the file, or creates it; an empty file is a new one. After a crash redb repairs it first.
    ///
    /// # Errors
    /// `Busy` if the file is open already, here or in another process; `Corrupt` if it is damaged or not
    /// a redb file; `Misuse` if it is a folder; `Io`, `Full`, `ReadOnly`.
    pub fn open(&self, path: impl AsRef<Path>) -> Result<Kv> {
        let path = path.as_ref();
        reject_others(path)?;
        self.open_by(&format!("open {}", path.display()), |redb| redb.create(path))
    }

    /// Opens what `create` opens or creates.
    pub(super) fn open_by(
        &self,
        doing: &str,
        create: impl FnOnce(&redb::Builder) -> std::result::Result<redb::Database, DatabaseError>,
    ) -> Result<Kv> {
        let mut builder = redb::Builder::new();
        builder.set_cache_size(self.cache_bytes).set_check_integrity_on_open(self.check_on_open);
        // redb may panic if a file was changed by others.
        let redb = catch_unwind(AssertUnwindSafe(|| create(&builder)))
            .unwrap_or_else(|_| {
                Err(redb::StorageError::Corrupted("the file is damaged".into()).into())
            })
            .map_err(|error| failed(doing, error))?;
        // Reading needs the table, which a new file does not have.
        let begun = redb.begin_write().map_err(|error| failed("begin", error))?;
        let table = begun.open_table(DATA).map_err(|error| failed("read", error))?;
        let catalog = catalog::load(&Data::Writing(table))?;
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

/// The first bytes of a redb file.
const MAGIC: &[u8] = b"redb\x1a\x0a\xa9\x0d\x0a";

/// Rejects a folder, and a file of another program: redb would only say that a number in it is wrong.
fn reject_others(path: &Path) -> Result<()> {
    let shown = path.display();
    let doing = format!("open {shown}");
    let mut start = Vec::new();
    match File::open(path) {
        Ok(file) if file.metadata().is_ok_and(|metadata| metadata.is_dir()) => {
            let message = format!("{shown} is a folder: name a file in it");
            return Err(Error::new(ErrorKind::Misuse, message));
        }
        Ok(file) => {
            let read = file.take(MAGIC.len() as u64).read_to_end(&mut start);
            read.map_err(|error| Error::io(&doing, error))?;
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => return Err(Error::io(&doing, error)),
    }
    if start.is_empty() || start == MAGIC {
        return Ok(());
    }
    let what = match start.starts_with(b"SQLite") {
        true => format!("an SQLite database: open it as sqlite:{shown}"),
        false => "not a key-value file, or its creation was interrupted: delete it".into(),
    };
    Err(Error::new(ErrorKind::Corrupt, format!("{shown} is {what}")))
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
        capabilities.vectors = true;
        capabilities.persistent = true;
        capabilities.concurrent_readers = true;
        capabilities.sequential_keys = true;
        capabilities.nul_in_text = true;
        capabilities.untyped_columns = true;
        capabilities.alter_table = true;
        capabilities.unreused_keys = true;
        capabilities.generated_columns = true;
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
        f.debug_struct("Kv").field("tables", &self.file.catalog().iter().count()).finish()
    }
}
