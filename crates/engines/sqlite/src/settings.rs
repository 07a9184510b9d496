//! How a database is opened: typed settings, each with its default and its price.

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
    pub key: Option<Key>,
    /// Functions that SQL may call.
    pub functions: Vec<Function>,
}

/// How much of an encrypted file each connection keeps, and all of them together, unless they are
/// told: in KiB.
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
