//! The engine: settings, snapshots and backups.

use crate::saving::MemoryTables;
use crate::session::{self, MemorySession};
use crate::shared::{NAME, SharedState};
use crate::snapshot::{self, SnapshotFormat, SnapshotKey};
use crate::state::DatabaseState;
use crate::table::TableState;
use bobak_core::codec::EncodedRow;
use bobak_core::{
    BackupContent, BackupFormat, BackupJob, BackupPhase, BackupProgress, Capabilities, Engine,
    Error, ErrorKind, Estimate, Outcome, Result, Row, Session, TableSchema, Value, Write, choices,
    settings,
};
#[cfg(feature = "encryption")]
use bobak_encryption::EncryptionKey;
use bobak_engine_common::WriteLock;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

/// An engine that keeps its tables in memory.
///
/// ```
/// use bobak_core::{ColumnSchema, Engine, SchemaChange, TableSchema, Type};
/// use bobak_memory::Memory;
///
/// let memory = Memory::new();
/// let table = TableSchema::builder("plane").column(ColumnSchema::new("tail", Type::Text));
/// memory.alter(&[SchemaChange::CreateTable(table.key(["tail"]).build()?.into())])?;
/// assert_eq!(memory.tables()?.len(), 1);
/// # Ok::<(), bobak_core::Error>(())
/// ```
pub struct Memory {
    pub(crate) shared: SharedState,
    path: Option<PathBuf>,
    format: SnapshotFormat,
    key: SnapshotKey,
    /// Held while the snapshot is written.
    flushing: Mutex<()>,
}

settings! {
    /// How a [`Memory`] is opened. See [`Memory::builder`].
    #[derive(Clone)]
    pub struct MemoryBuilder with pub(crate) settings {
        /// How long a writer waits for another transaction to end before it fails with `Busy`.
        busy_timeout: Duration = Duration::from_secs(5);
        /// How the snapshot is written.
        format: SnapshotFormat = SnapshotFormat::Binary;
        /// The file with the key of an encrypted snapshot: 32 bytes, or 64 hexadecimal digits.
        ///
        /// It is read when the engine is opened. Needs the feature `encryption`.
        key_file: Option<PathBuf> = None, unit = "a file";
        /// The file with the password of an encrypted snapshot in its first line.
        ///
        /// It is read when the engine is opened. Needs the feature `encryption`.
        password_file: Option<PathBuf> = None, unit = "a file";
        /// The environment variable with the password of an encrypted snapshot.
        ///
        /// It is read when the engine is opened. Needs the feature `encryption`.
        password_env: Option<String> = None, unit = "a variable";
    } and {
        path: Option<PathBuf>,
        #[cfg(feature = "encryption")]
        key: Option<EncryptionKey>,
    }
}

choices!(SnapshotFormat: "binary" => Binary, "json" => Json);

impl Memory {
    /// An engine without tables and without a file. Its content is lost when it is dropped.
    #[must_use]
    pub fn new() -> Self {
        Self::with(DatabaseState::default(), Self::builder(), SnapshotKey::default())
    }

    /// Returns the default settings.
    pub fn builder() -> MemoryBuilder {
        MemoryBuilder::default()
    }

    /// Reads a whole snapshot and returns its tables with their row counts.
    ///
    /// # Errors
    /// As [`MemoryBuilder::open`]; `Io` if the file does not exist.
    pub fn check_file(path: &Path) -> Result<BackupContent> {
        Self::builder().check_file(path)
    }

    fn check(path: &Path, key: &SnapshotKey) -> Result<BackupContent> {
        let doing = || format!("read {}", path.display());
        let file = std::fs::metadata(path).map_err(|error| Error::io(&doing(), error))?;
        let state = snapshot::load(path, key)?.unwrap_or_default();
        Ok(BackupContent {
            tables: count(&state),
            compared: false,
            bytes: file.len(),
            unverified: Vec::new(),
        })
    }

    /// Calls `save` with each change, before others see it, and before the call that makes it returns: a write or schema
    /// change outside a transaction, a commit, a batch. If it fails, the change is undone. One change is saved at a time.
    #[must_use]
    pub fn save_with(
        mut self,
        save: impl Fn(&MemoryTables<'_>, &MemoryTables<'_>) -> Result<()> + Send + Sync + 'static,
    ) -> Self {
        self.shared.save = Some(Box::new(save));
        self
    }

    fn with(state: DatabaseState, settings: MemoryBuilder, key: SnapshotKey) -> Self {
        let shared = SharedState {
            published: RwLock::new(Arc::new(state)),
            writer: WriteLock::new(settings.busy_timeout),
            save: None,
        };
        let (path, format) = (settings.path, settings.format);
        Self { shared, path, format, key, flushing: Mutex::new(()) }
    }
}

impl Default for Memory {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for Memory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let tables = self.shared.read().tables.len();
        f.debug_struct("Memory").field("path", &self.path).field("tables", &tables).finish()
    }
}

impl MemoryBuilder {
    /// Keeps the tables in a snapshot file. It is read when the engine is opened, if it exists, and written only by
    /// [`Engine::flush`].
    pub fn snapshot(mut self, path: impl Into<PathBuf>) -> Self {
        self.path = Some(path.into());
        self
    }

    /// Encrypts the snapshot: see `docs/encryption.md`.
    #[cfg(feature = "encryption")]
    pub fn key(mut self, key: EncryptionKey) -> Self {
        self.key = Some(key);
        self
    }

    /// Opens the engine.
    ///
    /// # Errors
    /// `Corrupt` for a file that is damaged or no snapshot, `Unsupported` for one of a newer version; `Denied` for a wrong
    /// or missing key, and for the key of a file that is not encrypted; `Config` for a key without a file; `Io`. The file
    /// is not changed.
    pub fn open(self) -> Result<Memory> {
        let key = self.snapshot_key()?;
        let Some(path) = &self.path else {
            if key.is_some() {
                let message = "a database in memory cannot be encrypted: omit the key";
                return Err(Error::new(ErrorKind::Config, message));
            }
            return Ok(Memory::with(DatabaseState::default(), self, key));
        };
        let key = key.for_file(path)?;
        let state = snapshot::load(path, &key)?;
        Ok(Memory::with(state.unwrap_or_default(), self, key))
    }

    /// Reads a whole snapshot and returns its tables with their row counts.
    ///
    /// # Errors
    /// As [`open`](Self::open); `Io` if the file does not exist.
    pub fn check_file(&self, path: &Path) -> Result<BackupContent> {
        Memory::check(path, &self.snapshot_key()?)
    }

    /// Whether the snapshot is encrypted.
    #[must_use]
    pub fn has_key(&self) -> bool {
        #[cfg(feature = "encryption")]
        if self.key.is_some() {
            return true;
        }
        self.key_file.is_some() || self.password_file.is_some() || self.password_env.is_some()
    }

    /// The key, read from where a setting says.
    ///
    /// # Errors
    /// `Config` for several keys and for wrong content; `Io`.
    #[cfg(feature = "encryption")]
    pub fn read_key(&self) -> Result<Option<EncryptionKey>> {
        let (file, password) = (self.key_file.as_deref(), self.password_file.as_deref());
        let named = EncryptionKey::from_settings(file, password, self.password_env.as_deref())?;
        Ok(named.or_else(|| self.key.clone()))
    }

    #[cfg(feature = "encryption")]
    fn snapshot_key(&self) -> Result<SnapshotKey> {
        self.read_key().map(SnapshotKey)
    }

    /// Rejects a key.
    #[cfg(not(feature = "encryption"))]
    fn snapshot_key(&self) -> Result<SnapshotKey> {
        if !self.has_key() {
            return Ok(SnapshotKey());
        }
        let message = "this program was built without encryption, which a key needs: enable the \
                       feature `encryption` of bobak";
        Err(Error::new(ErrorKind::Unsupported, message))
    }
}

impl Engine for Memory {
    fn name(&self) -> &'static str {
        NAME
    }

    fn capabilities(&self) -> Capabilities {
        let mut capabilities = Capabilities::NONE;
        capabilities.persistent = self.path.is_some();
        capabilities.encrypted = self.key.is_some();
        capabilities.concurrent_readers = true;
        capabilities.nonblocking_get = true;
        capabilities.sequential_keys = true;
        capabilities.nul_in_text = true;
        capabilities.untyped_columns = true;
        capabilities.foreign_keys = true;
        capabilities.add_reference = true;
        capabilities.alter_table = true;
        capabilities.unreused_keys = true;
        capabilities.generated_columns = true;
        capabilities.search = true;
        capabilities.search_in_transaction = true;
        capabilities.vectors = true;
        capabilities.explain = true;
        capabilities.value_parts = true;
        capabilities
    }

    fn session(&self) -> Result<Box<dyn Session + '_>> {
        Ok(Box::new(MemorySession::new(&self.shared)))
    }

    fn write(&self, write: &Write<'_>) -> Result<Outcome> {
        match session::write_one(&self.shared, write) {
            Err(error) if error.kind() == ErrorKind::Schema => self.session()?.write(write),
            written => written,
        }
    }

    fn get(
        &self,
        table: &Arc<TableSchema>,
        key: &[Value<'_>],
        row: &mut dyn FnMut(&dyn Row) -> Result<()>,
    ) -> Result<bool> {
        // No lock is held while the callback runs: it may write.
        let found = self.shared.read().get(table, key);
        match found {
            Err(error) if error.kind() == ErrorKind::Schema => self.session()?.get(table, key, row),
            found => match found? {
                Some(bytes) => row(&EncodedRow::new(&bytes)).map(|()| true),
                None => Ok(false),
            },
        }
    }

    fn estimate(&self, table: &TableSchema) -> Estimate {
        let state = self.shared.read();
        let found = state.position(table.name()).and_then(|position| state.tables.get(position));
        Estimate { rows: Some(found.map_or(0, |table| table.len() as u64)), call: 2, row: 1 }
    }

    fn flush(&self) -> Result<()> {
        let Some(path) = &self.path else {
            return Ok(());
        };
        let _one = self.flushing.lock().unwrap_or_else(PoisonError::into_inner);
        let state = Arc::clone(&self.shared.read());
        snapshot::save(path, self.format, &self.key, &state)
    }

    fn backup_format(&self) -> Option<BackupFormat> {
        Some(BackupFormat { scheme: "memory", extension: "bobak" })
    }

    /// The backup reads the state at its start, without copying it, and does not disturb writers.
    fn backup(&self, job: BackupJob<'_>) -> Result<BackupContent> {
        let full = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        if self.path.as_deref().is_some_and(|own| full(own) == full(job.target)) {
            let message =
                format!("{} is the database itself: name another file", job.target.display());
            return Err(Error::new(ErrorKind::Misuse, message));
        }
        let state = Arc::clone(&self.shared.read());
        let step = |phase, done, of| BackupProgress { phase, done, of };
        (job.watch)(step(BackupPhase::Copy, 0, 1))?;
        snapshot::write_to(job.file, &self.key, &state)?;
        // Readable only by those who can read the database.
        #[cfg(unix)]
        if let Some(own) = self.path.as_ref().and_then(|own| std::fs::metadata(own).ok()) {
            use std::os::unix::fs::PermissionsExt;
            let mode = own.permissions().mode() & 0o777 | 0o600;
            let doing = |error| Error::io(&format!("write {}", job.file.display()), error);
            let permissions = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(job.file, permissions).map_err(doing)?;
        }
        (job.watch)(step(BackupPhase::Check, 1, 1))?;
        let content = Self::check(job.file, &self.key)?;
        if content.tables != count(&state) {
            let message = format!("the rows of the backup {} differ", job.file.display());
            return Err(Error::new(ErrorKind::Corrupt, message));
        }
        Ok(BackupContent { compared: true, ..content })
    }
}

/// The tables and their row counts, by name.
fn count(state: &DatabaseState) -> Vec<(String, u64)> {
    let named = |table: &Arc<TableState>| (table.schema.name().to_owned(), table.len() as u64);
    let mut tables: Vec<_> = state.tables.iter().map(named).collect();
    tables.sort();
    tables
}
