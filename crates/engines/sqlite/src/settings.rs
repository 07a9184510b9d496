//! The settings that a database is opened with.

use crate::functions::Function;
#[cfg(feature = "encryption")]
use crate::key::Key;
use bobak_core::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};
use std::str::FromStr;
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
pub enum Locking {
    /// Other processes, and the pool of readers, can use the file. The default.
    #[default]
    Normal,
    /// Only this connection can use the file until it is closed. It does not lock and unlock for
    /// each operation, which makes small operations several times faster. There are no separate
    /// readers.
    Exclusive,
}

#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// `None` for a database in memory.
    pub path: Option<PathBuf>,
    pub synchronous: Synchronous,
    pub journal: JournalMode,
    pub locking: Locking,
    pub page_size: Option<u32>,
    /// In the notation of SQLite's pragma: pages, or negative KiB.
    pub cache: Option<i64>,
    pub mmap: Option<u64>,
    pub max_value: Option<u32>,
    pub max_ahead: usize,
    pub busy_timeout: Duration,
    pub readers: usize,
    pub read_only: bool,
    /// Whether what a killed program left is rolled back before the file is opened read-only.
    pub recover: bool,
    pub create: bool,
    /// Whether each connection is a separate database in memory, with nothing but virtual tables.
    pub isolated: bool,
    pub vfs: Option<String>,
    #[cfg(feature = "encryption")]
    pub key: Option<Key>,
    /// Functions that SQL can call.
    pub functions: Vec<Function>,
}

/// The default cache of an encrypted file, per connection and for all of them together, in KiB.
#[cfg(feature = "encryption")]
const ENCRYPTED_CACHE: (i64, i64) = (16_384, 131_072);

impl Default for Settings {
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        Self {
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
        }
    }
}

impl Settings {
    /// The settings for a file whose pages are not read.
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

    /// Whether the journal remains after a commit, with its header overwritten.
    pub(crate) const fn keeps_journal(&self) -> bool {
        match self.journal {
            JournalMode::Persist => true,
            JournalMode::Delete | JournalMode::Truncate => {
                matches!(self.locking, Locking::Exclusive)
            }
            _ => false,
        }
    }

    /// The cache of each connection, in the notation of SQLite's pragma.
    pub(crate) fn cache_size(&self) -> Option<i64> {
        #[cfg(feature = "encryption")]
        return self.cache.or_else(|| {
            let (each, all) = ENCRYPTED_CACHE;
            let readers = if self.is_single() { 0 } else { self.readers };
            let share = all / i64::try_from(readers + 1).unwrap_or(all);
            // At least as much as for an unencrypted file.
            self.key.is_some().then(|| -share.clamp(2_000, each))
        });
        #[cfg(not(feature = "encryption"))]
        self.cache
    }

    /// Whether all operations share one connection.
    pub(crate) fn is_single(&self) -> bool {
        (self.path.is_none() && !self.isolated) || self.locking == Locking::Exclusive
    }

    /// Whether each commit waits for the disk, and a failing transaction can be undone.
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
            /// Its name in SQLite's pragmas and in URLs, in lower case.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word),+
                }
            }
        }

        impl FromStr for $type {
            type Err = Error;

            /// Parses the name, in any case.
            /// | # Errors
            /// `Config` for another name.
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
