//! The settings that a database is opened with.

use crate::functions::Function;
#[cfg(not(feature = "encryption"))]
use bobak_core::{Error, ErrorKind, Result};
#[cfg(feature = "encryption")]
use bobak_core::{Result, url::config};
use bobak_core::{choices, settings};
#[cfg(feature = "encryption")]
use bobak_encryption::EncryptionKey;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// When SQLite waits for the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Synchronous {
    /// As `Full`; with [`JournalMode::Delete`] a commit also waits until the removal of the
    /// journal is durable, which is one more sync. In every mode with a journal on disk, `Ok`
    /// means durable.
    Extra,
    /// At each commit: `Ok` means durable. The default. Exception: with [`JournalMode::Delete`] a
    /// power cut may undo the last commit, since the removal of its journal is not synced.
    #[default]
    Full,
    /// At checkpoints only (with a rollback journal: fewer syncs per commit). A power cut may
    /// undo the last commits. With [`JournalMode::Wal`] it damages nothing; with a rollback
    /// journal it may, on old file systems.
    Normal,
    /// Never. A crash of the program loses nothing, but a power cut may damage the whole file.
    Off,
}

/// How SQLite undoes or repeats a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum JournalMode {
    /// A write-ahead log next to the file (`-wal`, `-shm`): readers and the writer do not block
    /// each other, and a commit is one sync. Not for network file systems. The default.
    #[default]
    Wal,
    /// A rollback journal, deleted at each commit: about three syncs per commit, and readers and
    /// commits block each other.
    Delete,
    /// As `Delete`, but the journal is truncated, which is faster on many file systems.
    Truncate,
    /// As `Delete`, but the journal's header is overwritten.
    Persist,
    /// The journal is in memory: a crash of the program during a commit damages the file.
    Memory,
    /// No journal: nothing can be undone. A failing statement and a rollback leave the file in an
    /// undefined state. Only for files that can be created again.
    Off,
}

/// Whether others can use the file at the same time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum LockingMode {
    /// Other processes, and the pool of readers, can use the file. The default.
    #[default]
    Normal,
    /// Only this connection can use the file until it is closed. It does not lock and unlock for
    /// each operation, which makes small operations several times faster. There are no separate
    /// readers.
    Exclusive,
}

/// How a file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum OpenMode {
    /// For reading and writing; a missing file is created. The default.
    #[default]
    Create,
    /// For reading and writing; a missing file is an error.
    ReadWrite,
    /// For reading: every write fails with `ReadOnly`.
    ReadOnly,
}

/// How a file is encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum Cipher {
    /// By Bobak with AEGIS-256, which encrypts and authenticates each page. Only Bobak reads such files. The default.
    #[default]
    Aegis256,
    /// By SQLCipher 4, whose files other programs can read: AES-256 in CBC mode, each page with an HMAC-SHA512. Needs
    /// the feature `sqlcipher`, and is several times slower.
    Sqlcipher,
}

choices!(Cipher: "aegis256" => Aegis256, "sqlcipher" => Sqlcipher);
choices!(Synchronous: "extra" => Extra, "full" => Full, "normal" => Normal, "off" => Off);
choices!(LockingMode: "normal" => Normal, "exclusive" => Exclusive);
choices!(OpenMode: "rwc" => Create, "rw" => ReadWrite, "ro" => ReadOnly);
choices!(
    JournalMode: "wal" => Wal, "delete" => Delete, "truncate" => Truncate, "persist" => Persist,
    "memory" => Memory, "off" => Off
);

settings! {
    /// Settings that a database is opened with. Made by [`Sqlite::builder`](crate::Sqlite::builder).
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
    #[derive(Clone)]
    pub struct SqliteBuilder with pub(crate) settings {
        /// When commits wait for the disk.
        synchronous: Synchronous = Synchronous::Full;
        /// How SQLite undoes or repeats a transaction.
        ///
        /// A file in WAL mode stays in that mode.
        journal_mode: JournalMode = JournalMode::Wal;
        /// Whether others may use the file at the same time.
        locking: LockingMode = LockingMode::Normal;
        /// Whether the file is read-only (`ro`), and whether a missing one is created (`rwc`).
        mode: OpenMode = OpenMode::Create;
        /// Whether a file that is opened read-only is recovered first, if a killed program left a transaction.
        ///
        /// For that, the file is opened for writing once. Otherwise such a file fails with `ReadOnly`.
        recover: bool = false;
        /// How long a call waits for other writers, in any process, before it fails with `Busy`.
        busy_timeout: Duration = Duration::from_secs(5);
        /// The maximum number of connections that read while another one writes.
        ///
        /// Each is opened when it is first needed. No effect with [`LockingMode::Exclusive`] and in memory.
        readers: usize = std::thread::available_parallelism().map_or(2, usize::from).clamp(2, 8),
            min = 1, default_text = "the number of cores, 2 to 8";
        /// The page size of a new file.
        ///
        /// A power of two from 512 (encrypted: 1,024) to 65,536; opening fails with `Config` for others. Larger
        /// pages suit long rows, and make small writes more expensive.
        page_size: Option<u32> = None, unit = "bytes", default_text = "4096";
        /// The memory that each connection may use to cache pages.
        cache_bytes: Option<u64> = None, unit = "bytes", default_text = "about 2 MB";
        /// The memory for vectors, with which queries for the nearest rows need not read all rows.
        ///
        /// The second query of an unchanged database reads the vectors into memory; the first one after a change
        /// drops them. A column with more vectors is read by each query. 0 keeps none.
        vector_cache_bytes: usize = 256 << 20, unit = "bytes";
        /// How much of the file may be memory-mapped instead of read.
        ///
        /// Large files read faster, but a disk error then terminates the process.
        mmap_bytes: Option<u64> = None, unit = "bytes", default_text = "0";
        /// The maximum size of a text or blob, and of a stored row.
        ///
        /// A statement that reads, writes or creates a larger one fails with `OutOfRange`. For databases that run
        /// SQL of untrusted clients: a single function call can create values of any size.
        max_value_bytes: Option<u32> = None, unit = "bytes", default_text = "1000000000";
        /// The maximum size of the rows that are buffered for a caller who has not fetched them.
        ///
        /// These are the rest of an open cursor when its session writes or ends its transaction, and the rows of a
        /// statement that writes. Beyond it the cursor, or the statement, fails with `OutOfRange`.
        max_ahead_bytes: usize = 1 << 30, unit = "bytes";
        /// Whether amounts, dates, times and UUIDs in SQL text mean what they mean on database servers.
        ///
        /// `balance > 5` compares with 5.00, and `strftime('%Y', placed)` takes a timestamp column: see
        /// `docs/sql.md`. `off`: SQL text and its results are in stored units.
        typed_sql: bool = true;
        /// The name of the VFS by which SQLite accesses the file.
        ///
        /// On Unix, `unix-none` does not lock; `unix-dotfile` locks by a file next to the database, for network
        /// file systems.
        vfs: Option<String> = None, unit = "the name of a VFS", default_text = "the system's";
        /// How a new file with a key is encrypted.
        ///
        /// An existing file opens with its own cipher, and with no other. Needs a key, and the feature `encryption`.
        cipher: Option<Cipher> = None, default_text = "aegis256, or that of the file";
        /// The file with the key of an encrypted database: 32 bytes, or 64 hexadecimal digits.
        ///
        /// It is read when the database is opened. Needs the feature `encryption`.
        key_file: Option<PathBuf> = None, unit = "a file";
        /// The file with the password of an encrypted database in its first line.
        ///
        /// It is read when the database is opened. Needs the feature `encryption`.
        password_file: Option<PathBuf> = None, unit = "a file";
        /// The environment variable with the password of an encrypted database.
        ///
        /// It is read when the database is opened. Needs the feature `encryption`.
        password_env: Option<String> = None, unit = "a variable";
    } and {
        // `None` for a database in memory.
        path: Option<PathBuf>,
        // Whether each connection is a separate database in memory, with nothing but virtual tables.
        isolated: bool,
        #[cfg(feature = "encryption")]
        key: Option<EncryptionKey>,
        // Functions that SQL can call.
        functions: Vec<Function>,
    }
}

pub(crate) type Settings = SqliteBuilder;

/// The default cache of an encrypted file, per connection and for all of them together, in KiB.
#[cfg(feature = "encryption")]
const ENCRYPTED_CACHE: (i64, i64) = (16_384, 131_072);

impl SqliteBuilder {
    /// The settings for a file whose pages are not read.
    pub(crate) fn without_key(&self, path: &Path) -> Self {
        Self {
            path: Some(path.to_owned()),
            key_file: None,
            password_file: None,
            password_env: None,
            cipher: None,
            #[cfg(feature = "encryption")]
            key: None,
            ..self.clone()
        }
    }

    /// How many of the settings name a key.
    fn named_keys(&self) -> usize {
        let files = [&self.key_file, &self.password_file].into_iter().flatten().count();
        files + usize::from(self.password_env.is_some())
    }

    /// Whether the file is encrypted.
    #[must_use]
    pub fn has_key(&self) -> bool {
        #[cfg(feature = "encryption")]
        return self.key.is_some() || self.named_keys() > 0;
        #[cfg(not(feature = "encryption"))]
        return self.named_keys() > 0;
    }

    /// The key, read from where a setting says.
    ///
    /// # Errors
    /// `Config` for several keys and for wrong content; `Io`.
    #[cfg(feature = "encryption")]
    pub fn read_key(&self) -> Result<Option<EncryptionKey>> {
        let (file, password) = (self.key_file.as_deref(), self.password_file.as_deref());
        let named = EncryptionKey::from_settings(file, password, self.password_env.as_deref())?;
        if named.is_some() && self.key.is_some() {
            return Err(config("give only one of key_file, password_file and password_env"));
        }
        Ok(named.or_else(|| self.key.clone()))
    }

    /// Rejects a key.
    #[cfg(not(feature = "encryption"))]
    pub(crate) fn must_have_no_key(&self) -> Result<()> {
        if self.named_keys() == 0 && self.cipher.is_none() {
            return Ok(());
        }
        let message = "this program was built without encryption, which a key needs: enable the feature \
                       `encryption` of bobak";
        Err(Error::new(ErrorKind::Unsupported, message))
    }

    /// Whether every write fails.
    pub(crate) fn is_read_only(&self) -> bool {
        self.mode == OpenMode::ReadOnly
    }

    /// Whether the journal remains after a commit, with its header overwritten.
    pub(crate) const fn keeps_journal(&self) -> bool {
        match self.journal_mode {
            JournalMode::Persist => true,
            JournalMode::Delete | JournalMode::Truncate => {
                matches!(self.locking, LockingMode::Exclusive)
            }
            _ => false,
        }
    }

    /// The cache of each connection, in the notation of SQLite's pragma.
    pub(crate) fn cache_size(&self) -> Option<i64> {
        // In the notation of SQLite's pragma, KiB are negative.
        let given = self
            .cache_bytes
            .map(|bytes| -i64::try_from(bytes.div_ceil(1024)).unwrap_or(i64::MAX).max(1));
        #[cfg(feature = "encryption")]
        return given.or_else(|| {
            let (each, all) = ENCRYPTED_CACHE;
            let readers = if self.is_single() { 0 } else { self.readers };
            let share = all / i64::try_from(readers + 1).unwrap_or(all);
            // At least as much as for an unencrypted file.
            self.key.is_some().then(|| -share.clamp(2_000, each))
        });
        #[cfg(not(feature = "encryption"))]
        given
    }

    /// Whether all operations share one connection.
    pub(crate) fn is_single(&self) -> bool {
        (self.path.is_none() && !self.isolated) || self.locking == LockingMode::Exclusive
    }

    /// Whether vectors are kept in memory: not of virtual tables, which others change.
    pub(crate) const fn caches_vectors(&self) -> bool {
        self.vector_cache_bytes > 0 && !self.isolated
    }

    /// Whether each commit waits for the disk, and a failing transaction can be undone.
    pub(crate) fn commits_wait(&self) -> bool {
        let synced = match self.synchronous {
            Synchronous::Extra | Synchronous::Full => true,
            Synchronous::Normal => self.journal_mode != JournalMode::Wal,
            Synchronous::Off => false,
        };
        synced
            && self.path.is_some()
            && !self.is_read_only()
            && self.journal_mode != JournalMode::Off
    }
}
