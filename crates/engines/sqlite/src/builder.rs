//! The builder of a database's settings.

use crate::Sqlite;
use crate::functions::Function;
#[cfg(feature = "encryption")]
use crate::key::Key;
use crate::open::{settings_for_file, with_page_size};
use crate::settings::{JournalMode, Locking, Settings, Synchronous};
use bobak_core::{AtomicFile, BackupContent, Error, ErrorKind, Result};
use std::path::Path;
use std::time::Duration;

/// Settings that a database is opened with. Made by [`Sqlite::builder`].
///
/// The defaults are durable: [`JournalMode::Wal`] with [`Synchronous::Full`].
///
/// ```
/// use bobak_sqlite::{JournalMode, Sqlite, Synchronous};
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("app.db");
/// let engine = Sqlite::builder()
///     .journal_mode(JournalMode::Wal)
///     .synchronous(Synchronous::Normal)
///     .cache_bytes(64 << 20)
///     .open(path)?;
/// # Ok::<(), bobak_core::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct SqliteBuilder {
    pub(crate) settings: Settings,
}

impl SqliteBuilder {
    /// When commits wait for the disk. Default: [`Synchronous::Full`].
    pub const fn synchronous(mut self, synchronous: Synchronous) -> Self {
        self.settings.synchronous = synchronous;
        self
    }

    /// The journal mode. Default: [`JournalMode::Wal`]. A file in WAL mode stays in that mode.
    pub const fn journal_mode(mut self, journal: JournalMode) -> Self {
        self.settings.journal = journal;
        self
    }

    /// Who may use the file at the same time. Default: [`Locking::Normal`].
    pub const fn locking(mut self, locking: Locking) -> Self {
        self.settings.locking = locking;
        self
    }

    /// The page size of a new file, in bytes: a power of two from 512 (encrypted: 1,024) to
    /// 65,536. Default: 4,096. Larger pages suit long rows, and make small writes more expensive.
    pub const fn page_size(mut self, bytes: u32) -> Self {
        self.settings.page_size = Some(bytes);
        self
    }

    /// The memory that each connection may use to cache pages, in bytes. Default: about 2 MB.
    pub fn cache_bytes(mut self, bytes: u64) -> Self {
        let kibibytes = i64::try_from(bytes.div_ceil(1024)).unwrap_or(i64::MAX);
        self.settings.cache = Some(-kibibytes.max(1));
        self
    }

    /// The same as a number of pages.
    pub fn cache_pages(mut self, pages: u32) -> Self {
        self.settings.cache = Some(i64::from(pages).max(1));
        self
    }

    /// The number of bytes of the file that may be memory-mapped instead of read. Default: 0.
    /// Large files read faster, but a disk error then terminates the process.
    pub const fn mmap_bytes(mut self, bytes: u64) -> Self {
        self.settings.mmap = Some(bytes);
        self
    }

    /// The maximum size of a text or blob, and of a stored row, in bytes. A statement that reads,
    /// writes or creates a larger one fails with `OutOfRange`. For databases that run SQL of
    /// untrusted clients: a single function call can create values of any size. Default: SQLite's
    /// own limit, 10⁹.
    pub const fn max_value_bytes(mut self, bytes: u32) -> Self {
        self.settings.max_value = Some(bytes);
        self
    }

    /// The maximum number of bytes of rows that are buffered for a caller who has not fetched
    /// them: the rest of an open cursor when its session writes or ends its transaction, and the
    /// rows of a statement that writes. Beyond it the cursor, or the statement, fails with
    /// `OutOfRange`. Default: 1 GiB.
    pub const fn max_ahead_bytes(mut self, bytes: usize) -> Self {
        self.settings.max_ahead = bytes;
        self
    }

    /// How long a call waits for other writers, in this process and in others, before it fails
    /// with `Busy`. Default: 5 s.
    pub const fn busy_timeout(mut self, timeout: Duration) -> Self {
        self.settings.busy_timeout = timeout;
        self
    }

    /// The maximum number of reading connections next to the writing one; each is opened when it
    /// is first needed. Default: the number of cores, from 2 to 8. No effect with
    /// [`Locking::Exclusive`] and in memory.
    pub fn readers(mut self, readers: usize) -> Self {
        self.settings.readers = readers.max(1);
        self
    }

    /// Opens the file read-only: every write fails with `ReadOnly`. Default: no.
    pub const fn read_only(mut self, read_only: bool) -> Self {
        self.settings.read_only = read_only;
        self
    }

    /// With [`read_only`](Self::read_only): if a program was killed while it wrote to the file,
    /// rolls back what it left, for which the file is opened for writing once. Otherwise such a
    /// file fails with `ReadOnly`. Default: no.
    pub const fn recover(mut self, recover: bool) -> Self {
        self.settings.recover = recover;
        self
    }

    /// Whether a missing file is created. Default: yes.
    pub const fn create(mut self, create: bool) -> Self {
        self.settings.create = create;
        self
    }

    /// The name of the VFS by which SQLite accesses the file. On Unix, `unix-none` does not lock;
    /// `unix-dotfile` locks by a file next to the database, for network file systems. Default:
    /// the system's own.
    pub fn vfs(mut self, name: impl Into<String>) -> Self {
        self.settings.vfs = Some(name.into());
        self
    }

    /// Opens or creates an encrypted file, by SQLCipher: AES-256 in CBC mode, each page with an
    /// HMAC-SHA512. The log and the journal are encrypted too. Each connection then caches 16 MB
    /// of decrypted pages (less with more than seven readers), unless
    /// [`cache_bytes`](Self::cache_bytes) is set: reading a page that is not cached costs about
    /// ten times as much as in an unencrypted file.
    /// | Opening fails with `Denied` for a wrong key.
    #[cfg(feature = "encryption")]
    pub fn key(mut self, key: Key) -> Self {
        self.settings.key = Some(key);
        self
    }

    /// Whether a key is set.
    #[must_use]
    pub fn has_key(&self) -> bool {
        self.settings.has_key()
    }

    /// Changes the key of a file that is not open: encrypts an unencrypted file, for which the
    /// builder has no [`key`](Self::key), and decrypts an encrypted one if `new` is `None`.
    /// | Writes a complete new file, verifies it, and renames it into place: at every moment the
    /// file opens with the old or the new key. The old blocks on the disk are not overwritten.
    /// The rowids of a table without an integer key may change, as by `VACUUM`.
    /// | # Errors
    /// `Denied` if the builder's key is wrong; `Busy` if the file is open elsewhere; `Corrupt`,
    /// `Full`, `ReadOnly`, `Io`.
    #[cfg(feature = "encryption")]
    pub fn change_key(self, path: impl AsRef<Path>, new: Option<&Key>) -> Result<()> {
        crate::backup::change_key(path.as_ref(), &self.settings, new)
    }

    /// Adds a function that SQL can call. It replaces a function of SQLite with the same name and
    /// number of arguments.
    pub fn function(mut self, function: Function) -> Self {
        self.settings.functions.push(function);
        self
    }

    /// Opens a file.
    /// | # Errors
    /// `Corrupt` if it is not a database or is damaged; the file is not changed. `ReadOnly` if it
    /// cannot be written, without [`read_only`](Self::read_only); `Io` if it or its directory is
    /// missing; `Busy` if another process locks it; `Config` for an invalid page size or an
    /// unknown VFS; `Denied` for a wrong key.
    pub fn open(self, path: impl AsRef<Path>) -> Result<Sqlite> {
        with_page_size(settings_for_file(&self.settings, path.as_ref())?, Sqlite::with)
    }

    /// Opens a new database in memory, which ends when it is closed. Journal, locking and sync
    /// settings have no effect.
    /// | # Errors
    /// `Config` for an invalid page size, and if a key is set: databases in memory are not
    /// encrypted.
    pub fn open_memory(mut self) -> Result<Sqlite> {
        if self.has_key() {
            let message = "a database in memory cannot be encrypted: omit the key";
            return Err(Error::new(ErrorKind::Config, message));
        }
        self.settings.path = None;
        Sqlite::with(self.settings)
    }

    /// Reads a whole file that is not open: whether it is a sound database, and the numbers of
    /// rows of its tables. For backups.
    /// | # Errors
    /// `Corrupt` if it is not a database or is damaged; `Io` if it cannot be read.
    pub fn check_file(self, path: impl AsRef<Path>) -> Result<BackupContent> {
        crate::backup::check_file(path.as_ref(), &self.settings, false)
    }

    /// Replaces a database that is not open with a new file. Uses only the settings that are
    /// needed to open the old one.
    /// | At every moment the complete old or new database is in place. The old one's logs are
    /// deleted with it.
    /// | # Errors
    /// `Conflict` if a database, or a log of one, exists and is not to be overwritten; `Busy` if
    /// it is open elsewhere; `ReadOnly`, `Io`.
    pub fn replace(self, new: AtomicFile, overwrite: bool) -> Result<()> {
        crate::backup::replace(new, &self.settings, overwrite, false)
    }

    /// Replaces an older backup, without reading it: anything written to it since is lost.
    /// | # Errors
    /// As [`replace`](Self::replace).
    pub fn replace_backup(self, new: AtomicFile, overwrite: bool) -> Result<()> {
        crate::backup::replace(new, &self.settings, overwrite, true)
    }

    /// Opens a database for extensions alone: each connection is an empty database in memory, and
    /// no two connections share anything.
    ///
    /// # Errors
    /// As [`open_memory`](Self::open_memory).
    pub fn open_isolated(mut self) -> Result<Sqlite> {
        self.settings.path = None;
        self.settings.isolated = true;
        Sqlite::with(self.settings)
    }
}
