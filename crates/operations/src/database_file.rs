//! A database that is one file, described before it is opened.

use crate::backup_key::BackupKey;
use bobak_core::{Engine, Result};
use bobak_memory::MemoryBuilder;
use std::path::{Path, PathBuf};

/// A database that is one file, with the settings to open it. The file need not exist.
#[derive(Debug)]
#[non_exhaustive]
pub enum DatabaseFile {
    /// A snapshot of the memory engine.
    Memory {
        /// The snapshot file.
        path: PathBuf,
        /// The settings.
        builder: MemoryBuilder,
    },
    /// An SQLite database.
    #[cfg(feature = "sqlite")]
    Sqlite {
        /// The database file.
        path: PathBuf,
        /// The settings, with the key if the file is encrypted.
        builder: Box<bobak_sqlite::SqliteBuilder>,
    },
}

impl DatabaseFile {
    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        match self {
            Self::Memory { path, .. } => path,
            #[cfg(feature = "sqlite")]
            Self::Sqlite { path, .. } => path,
        }
    }

    /// Whether it is an encrypted snapshot of the memory engine.
    pub(crate) fn is_encrypted_snapshot(&self) -> bool {
        matches!(self, Self::Memory { builder, .. } if builder.has_key())
    }

    /// The encryption key that the settings have.
    ///
    /// # Errors
    /// `Config`, `Io`.
    pub(crate) fn read_key(&self) -> Result<BackupKey> {
        #[cfg(feature = "encryption")]
        return Ok(BackupKey::from(match self {
            Self::Memory { builder, .. } => builder.read_key()?,
            Self::Sqlite { builder, .. } => builder.read_key()?,
        }));
        #[cfg(not(feature = "encryption"))]
        Ok(BackupKey::default())
    }

    /// Whether the settings have an encryption key.
    pub(crate) fn has_key(&self) -> bool {
        match self {
            Self::Memory { builder, .. } => builder.has_key(),
            #[cfg(feature = "sqlite")]
            Self::Sqlite { builder, .. } => builder.has_key(),
        }
    }

    /// Opens a private copy of the database with its settings. The copy is deleted if anything fails, so nothing is
    /// synced and no journal file is written next to it.
    ///
    /// # Errors
    /// Those of the engine.
    pub(crate) fn open_copy(&self, copy: &Path) -> Result<Box<dyn Engine>> {
        match self {
            Self::Memory { builder, .. } => Ok(Box::new(builder.clone().snapshot(copy).open()?)),
            #[cfg(feature = "sqlite")]
            Self::Sqlite { builder, .. } => {
                use bobak_sqlite::{JournalMode, LockingMode, OpenMode, Synchronous};
                let builder = builder.clone().mode(OpenMode::ReadWrite);
                let builder =
                    builder.journal_mode(JournalMode::Memory).locking(LockingMode::Exclusive);
                Ok(Box::new(builder.synchronous(Synchronous::Off).open(copy)?))
            }
        }
    }
}
