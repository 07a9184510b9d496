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
    /// When to wait for the disk. Default [`Synchronous::Full`].
    pub const fn synchronous(mut self, synchronous: Synchronous) -> Self {
        self.settings.synchronous = synchronous;
        self
    }

    /// How to undo or redo. Default [`JournalMode::Wal`]; the file keeps the mode WAL.
    pub const fn journal_mode(mut self, journal: JournalMode) -> Self {
        self.settings.journal = journal;
        self
    }

    /// Who may use the file. Default [`Locking::Normal`].
    pub const fn locking(mut self, locking: Locking) -> Self {
        self.settings.locking = locking;
        self
    }

    /// The page size in bytes, for a file that is new: a power of two from 512 to 65,536, of an
    /// encrypted file from 1,024. Default 4,096. Larger pages suit long rows, and cost more at each
    /// small write.
    pub const fn page_size(mut self, bytes: u32) -> Self {
        self.settings.page_size = Some(bytes);
        self
    }

    /// The memory that each connection may use for pages, in bytes. Default about 2 MB.
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

    /// How many bytes of the file may be mapped into memory instead of being read. Default 0. Reads
    /// of a large file get faster; an error of the disk then ends the program instead of the call.
    pub const fn mmap_bytes(mut self, bytes: u64) -> Self {
        self.settings.mmap = Some(bytes);
        self
    }

    /// The most bytes of a text or blob, and of a stored row: a statement that reads, writes or makes a larger one
    /// fails with `OutOfRange`. For databases that others send SQL to: by one function it makes as many bytes as it
    /// likes. Default: SQLite's own limit, a billion.
    pub const fn max_value_bytes(mut self, bytes: u32) -> Self {
        self.settings.max_value = Some(bytes);
        self
    }

    /// The most bytes of rows that are kept in memory for one who has asked for them and not fetched
    /// them yet: of an open cursor when its session writes, or ends its transaction; and of a statement
    /// that writes and gives rows back. Beyond it the cursor ends with `OutOfRange`, and the statement fails. Default: 1 GiB.
    pub const fn max_ahead_bytes(mut self, bytes: usize) -> Self {
        self.settings.max_ahead = bytes;
        self
    }

    /// How long a call waits for other writers, in this process and in others, before it gives
    /// `Busy`. Default 5 s.
    pub const fn busy_timeout(mut self, timeout: Duration) -> Self {
        self.settings.busy_timeout = timeout;
        self
    }

    /// The most connections for reading beside the writing one; each is opened when it is first
    /// needed. Default: the number of cores, from 2 to 8. No effect with [`Locking::Exclusive`] and
    /// in memory.
    pub fn readers(mut self, readers: usize) -> Self {
        self.settings.readers = readers.max(1);
        self
    }

    /// Opens the file for reading only: every write gives `ReadOnly`. Default no.
    pub const fn read_only(mut self, read_only: bool) -> Self {
        self.settings.read_only = read_only;
        self
    }

    /// With [`read_only`](Self::read_only): where a program was killed that wrote to the file, what it
    /// left is undone first, for which the file is opened for writing once. Without, such a file gives
    /// `ReadOnly`. Default no.
    pub const fn recover(mut self, recover: bool) -> Self {
        self.settings.recover = recover;
        self
    }

    /// Whether a missing file is made. Default yes.
    pub const fn create(mut self, create: bool) -> Self {
        self.settings.create = create;
        self
    }

    /// The VFS by which SQLite reaches the file, by its name: on Unix `unix-none` locks nothing,
    /// `unix-dotfile` locks by a file beside it, for folders that other machines mount. Default the
    /// system's own.
    pub fn vfs(mut self, name: impl Into<String>) -> Self {
        self.settings.vfs = Some(name.into());
        self
    }

    /// Opens an encrypted file, or makes one, by SQLCipher: AES-256 in CBC mode, each page with an
    /// HMAC-SHA512. The log and the journal are encrypted too. Each connection then keeps 16 MB of
    /// decrypted pages, less where there are more than seven readers, unless [`cache_bytes`](Self::cache_bytes) says otherwise: a page that is not
    /// there costs about ten times what it costs in a plain file.
    ///
    /// A wrong key gives `Denied` when the file is opened.
    #[cfg(feature = "encryption")]
    pub fn key(mut self, key: Key) -> Self {
        self.settings.key = Some(key);
        self
    }

    /// Whether a key was given.
    #[must_use]
    pub fn has_key(&self) -> bool {
        self.settings.has_key()
    }

    /// Gives a file that nobody has open another key: encrypts a plain one, for which the builder has
    /// no [`key`](Self::key), and makes an encrypted one plain where `new` is `None`.
    ///
    /// The file is written anew beside its place, checked, and put there by a rename: at every moment
    /// it opens with the old key or with the new one. What was in its blocks on the disk before is not
    /// overwritten. A table's hidden row numbers may be others afterwards, as after `VACUUM`.
    ///
    /// # Errors
    /// `Denied` where the builder's key is wrong; `Busy` where somebody has it open; `Corrupt`,
    /// `Full`, `ReadOnly`, `Io`.
    #[cfg(feature = "encryption")]
    pub fn change_key(self, path: impl AsRef<Path>, new: Option<&Key>) -> Result<()> {
        crate::backup::change_key(path.as_ref(), &self.settings, new)
    }

    /// Adds a function that SQL may call. One of SQLite's own with the same name and number of
    /// arguments gives way to it.
    pub fn function(mut self, function: Function) -> Self {
        self.settings.functions.push(function);
        self
    }

    /// Opens a file.
    ///
    /// # Errors
    /// `Corrupt` where it is not a database or is damaged, with nothing changed in it; `ReadOnly`
    /// where it can't be written and [`read_only`](Self::read_only) was not asked for; `Io` where
    /// it, or its folder, is missing; `Busy` where another process holds it; `Config` for a page
    /// size that is none, and for a VFS that SQLite does not have; `Denied` for a wrong key.
    pub fn open(self, path: impl AsRef<Path>) -> Result<Sqlite> {
        with_page_size(settings_for_file(&self.settings, path.as_ref())?, Sqlite::with)
    }

    /// Opens a new database in memory, gone when it is closed. Journal, locking and sync settings
    /// have no effect.
    ///
    /// # Errors
    /// `Config` for a page size that is none, and where a key was given: memory is not encrypted.
    pub fn open_memory(mut self) -> Result<Sqlite> {
        if self.has_key() {
            let message = "a database in memory can't be encrypted: leave the key out";
            return Err(Error::new(ErrorKind::Config, message));
        }
        self.settings.path = None;
        Sqlite::with(self.settings)
    }

    /// Reads a file wholly, which nobody may have open: whether it is a sound database, and how many
    /// rows its tables have. For backups.
    ///
    /// # Errors
    /// `Corrupt` where it is not a database or is damaged; `Io` where it can't be read.
    pub fn check_file(self, path: impl AsRef<Path>) -> Result<BackupContent> {
        crate::backup::check_file(path.as_ref(), &self.settings, false)
    }

    /// Puts a new file in the place of a database that nobody has open; of the settings only those
    /// count that are needed to open the old one.
    ///
    /// At every moment there is the old database or the new one, whole. What SQLite kept beside the
    /// old one goes with it.
    ///
    /// # Errors
    /// `Conflict` where there is one, or a log of one, and it is not to be overwritten; `Busy` where
    /// somebody has it open; `ReadOnly`, `Io`.
    pub fn replace(self, new: AtomicFile, overwrite: bool) -> Result<()> {
        crate::backup::replace(new, &self.settings, overwrite, false)
    }

    /// Puts a backup in the place of an older one, which is not read: what somebody has written to it
    /// since goes with it.
    ///
    /// # Errors
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
