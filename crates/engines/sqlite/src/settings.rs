//! How a database is opened: typed settings, each with its default and its price.

use crate::{Function, Sqlite};
use bobak_core::{AtomicFile, BackupContent, Error, ErrorKind, Result};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

/// When SQLite waits for the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Synchronous {
    /// As `Full`, and with [`JournalMode::Delete`] also until the journal is known to be removed:
    /// one sync more. An `Ok` is on the disk in every mode that has a journal there.
    Extra,
    /// At each commit: an `Ok` is on the disk. The default. With [`JournalMode::Delete`] alone a
    /// power cut right after the last commit may undo that one: the removal of its journal is not
    /// waited for.
    #[default]
    Full,
    /// At checkpoints only (in the rollback modes: less often within a commit). A power cut may
    /// undo the last commits; with [`JournalMode::Wal`] it damages nothing, with the rollback modes
    /// it might on old file systems.
    Normal,
    /// Never. A crash of the program loses nothing, but a power cut may damage the whole file.
    Off,
}

/// How SQLite keeps what it needs to undo, or redo, a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum JournalMode {
    /// A log beside the file (`-wal`, `-shm`): readers and the writer do not disturb each other,
    /// one sync a commit. Not for files on a network. The default.
    #[default]
    Wal,
    /// A rollback journal, deleted at each commit: about three syncs a commit, and readers wait for
    /// the writer's commit, and it for them.
    Delete,
    /// As `Delete`; the journal is cut to nothing instead, which is quicker on many file systems.
    Truncate,
    /// As `Delete`; the journal's head is overwritten instead.
    Persist,
    /// The journal is in memory: a crash of the program in the middle of a commit damages the file.
    Memory,
    /// No journal: nothing can be undone. A statement that fails half-way, and a rollback, leave the
    /// file in any state. Only for files that can be made again.
    Off,
}

/// Whether others may use the file at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Locking {
    /// Other processes, and the pool of readers, use the file too. The default.
    #[default]
    Normal,
    /// This connection alone, until it is closed: nothing is locked and unlocked for each
    /// operation, which makes small ones several times faster. There are no readers beside it.
    Exclusive,
}

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
#[derive(Clone, Debug)]
#[must_use]
pub struct SqliteBuilder {
    pub(crate) settings: Settings,
}

#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// `None`: a database in memory.
    pub path: Option<PathBuf>,
    pub synchronous: Synchronous,
    pub journal: JournalMode,
    pub locking: Locking,
    pub page_size: Option<u32>,
    /// As SQLite's pragma has it: pages, or negative KiB.
    pub cache: Option<i64>,
    pub mmap: Option<u64>,
    pub max_value: Option<u32>,
    pub max_ahead: usize,
    pub busy_timeout: Duration,
    pub readers: usize,
    pub read_only: bool,
    /// Whether what killed programs left is undone before the file is only read.
    pub recover: bool,
    pub create: bool,
    /// Whether each connection is a database in memory of its own, with nothing in it but virtual
    /// tables.
    pub isolated: bool,
    pub vfs: Option<String>,
    #[cfg(feature = "encryption")]
    pub key: Option<crate::Key>,
    /// Functions that SQL may call.
    pub functions: Vec<Function>,
}

impl Default for SqliteBuilder {
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        Self {
            settings: Settings {
                path: None,
                synchronous: Synchronous::default(),
                journal: JournalMode::default(),
                locking: Locking::default(),
                page_size: None,
                cache: None,
                mmap: None,
                max_value: None,
                max_ahead: 1 << 30,
                busy_timeout: Duration::from_secs(5),
                readers: cores.clamp(2, 8),
                read_only: false,
                recover: false,
                create: true,
                isolated: false,
                vfs: None,
                #[cfg(feature = "encryption")]
                key: None,
                functions: Vec::new(),
            },
        }
    }
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
    pub fn key(mut self, key: crate::Key) -> Self {
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
    pub fn change_key(self, path: impl AsRef<Path>, new: Option<&crate::Key>) -> Result<()> {
        crate::rekey::change_key(path.as_ref(), &self.settings, new)
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
        self.settings.for_file(path.as_ref())?.fitting(Sqlite::with)
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
}

/// How much of an encrypted file each connection keeps, and all of them together, unless they are
/// told: in KiB.
#[cfg(feature = "encryption")]
const ENCRYPTED_CACHE: (i64, i64) = (16_384, 131_072);

impl Settings {
    /// The settings for one file: the key is made that a password gives there.
    ///
    /// # Errors
    /// `Io` where the salt in the file can't be read.
    pub(crate) fn for_file(&self, path: &Path) -> Result<Self> {
        let settings = Self { path: Some(path.to_owned()), ..self.clone() };
        #[cfg(feature = "encryption")]
        if let Some(key) = &self.key {
            return Ok(Self { key: Some(key.for_file(&settings)?), ..settings });
        }
        Ok(settings)
    }

    /// The settings for a file of which nothing is read.
    pub(crate) fn without_key(&self, path: &Path) -> Self {
        Self {
            path: Some(path.to_owned()),
            #[cfg(feature = "encryption")]
            key: None,
            ..self.clone()
        }
    }

    pub(crate) fn has_key(&self) -> bool {
        #[cfg(feature = "encryption")]
        return self.key.is_some();
        #[cfg(not(feature = "encryption"))]
        false
    }

    /// Does `work` with the page size that the file has, where that has to be known before.
    #[cfg(feature = "encryption")]
    pub(crate) fn fitting<R>(self, work: impl FnMut(Self) -> Result<R>) -> Result<R> {
        crate::page_size::fitting(self, work)
    }

    /// Does `work`: SQLite finds the page size by itself.
    #[cfg(not(feature = "encryption"))]
    pub(crate) fn fitting<R>(self, work: impl FnOnce(Self) -> Result<R>) -> Result<R> {
        work(self)
    }

    /// Whether the journal stays when a commit ends, its head overwritten.
    pub(crate) const fn keeps_journal(&self) -> bool {
        match self.journal {
            JournalMode::Persist => true,
            JournalMode::Delete | JournalMode::Truncate => {
                matches!(self.locking, Locking::Exclusive)
            }
            _ => false,
        }
    }

    /// The pages that each connection keeps, as SQLite's pragma has it.
    pub(crate) fn cache_size(&self) -> Option<i64> {
        #[cfg(feature = "encryption")]
        return self.cache.or_else(|| {
            let (each, all) = ENCRYPTED_CACHE;
            let readers = if self.is_single() { 0 } else { self.readers };
            let share = all / i64::try_from(readers + 1).unwrap_or(all);
            // As much as a plain file's, at least.
            self.key.is_some().then(|| -share.clamp(2_000, each))
        });
        #[cfg(not(feature = "encryption"))]
        self.cache
    }

    /// Whether all operations share one connection.
    pub(crate) fn is_single(&self) -> bool {
        (self.path.is_none() && !self.isolated) || self.locking == Locking::Exclusive
    }

    /// Whether each commit waits for the disk, and what fails in it can be undone.
    pub(crate) fn commits_wait(&self) -> bool {
        let synced = match self.synchronous {
            Synchronous::Extra | Synchronous::Full => true,
            Synchronous::Normal => self.journal != JournalMode::Wal,
            Synchronous::Off => false,
        };
        synced && self.path.is_some() && !self.read_only && self.journal != JournalMode::Off
    }
}

macro_rules! words {
    ($type:ident, $what:literal, $($word:literal => $variant:ident),+) => {
        impl $type {
            /// Its word in SQLite's pragmas and in URLs, in lower case.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word),+
                }
            }
        }

        impl FromStr for $type {
            type Err = Error;

            /// Takes the word in any case.
            ///
            /// # Errors
            /// `Config` for another word.
            fn from_str(word: &str) -> Result<Self> {
                $(if word.eq_ignore_ascii_case($word) {
                    return Ok(Self::$variant);
                })+
                let known = [$($word),+].join(", ");
                let message = format!("'{word}' is no {}: it is one of {known}", $what);
                Err(Error::new(ErrorKind::Config, message))
            }
        }
    };
}
words!(
    Synchronous, "synchronous setting",
    "extra" => Extra, "full" => Full, "normal" => Normal, "off" => Off
);
words!(Locking, "locking mode", "normal" => Normal, "exclusive" => Exclusive);
words!(
    JournalMode, "journal mode",
    "wal" => Wal, "delete" => Delete, "truncate" => Truncate, "persist" => Persist,
    "memory" => Memory, "off" => Off
);
