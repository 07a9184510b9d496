//! How a backup is written.

use crate::backup_key::BackupKey;
use bobak_core::{Engine, Error, ErrorKind, Result, choices, settings};
use std::path::{Path, PathBuf};

settings! {
    /// How a backup is written.
    #[derive(Clone, PartialEq, Eq)]
    pub struct BackupOptions with pub(super) settings {
        /// Compression of the backup.
        ///
        /// A backup to a writer is not compressed by default.
        compression: Option<Compression> = None, key = "compress",
            default_text = "by the file's extension, .zst or .gz; otherwise none";
        /// Pause for about two thirds of the time, so that other programs are not slowed down.
        pauses: bool = true;
        /// Replace an existing file once the new backup is complete.
        ///
        /// Without it, the backup fails with `Conflict`.
        overwrite: bool = false;
        /// Encrypt the backup with the key in this file: 32 bytes, or 64 hexadecimal digits.
        ///
        /// For databases that are not encrypted: the backup of one that is has its key. Needs the feature `encryption`.
        key_file: Option<PathBuf> = None, key = "backup_key_file", unit = "a file",
            default_text = "none: not encrypted";
        /// Encrypt the backup with the password in the first line of this file.
        ///
        /// As `backup_key_file`.
        password_file: Option<PathBuf> = None, key = "backup_password_file", unit = "a file",
            default_text = "none: not encrypted";
    }
    and {
        key: BackupKey,
        /// The name of the engine to back up; `None` for the main engine.
        engine: Option<String>,
    }
}

/// The compression of a backup. The compressed backup of an encrypted database is encrypted with its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Compression {
    /// None: the file is a database that can be opened as it is.
    #[default]
    None,
    /// Zstandard, level 3; `zstd -d` restores the database file. Needs the feature `compress`.
    Zstd,
    /// gzip, level 6; `gunzip` restores the database file. Needs the feature `compress`.
    Gzip,
}

choices!(Compression: "none" => None, "zstd" => Zstd, "gzip" => Gzip);

impl BackupOptions {
    /// A backup of the main engine, with pauses, to a file that does not exist yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Encrypts the backup with this key. For databases that are not encrypted: the backup of one that is has its key.
    #[cfg(feature = "encryption")]
    pub fn key(mut self, key: bobak_encryption::EncryptionKey) -> Self {
        self.key = BackupKey::from(Some(key));
        self
    }

    /// The key of the backup, read from where a setting says; that of the database for the compressed backup of an
    /// encrypted one.
    ///
    /// # Errors
    /// `Unsupported` for another key or a compression that the engine's backups do not have, and without the feature
    /// `encryption`; `Config`, `Io`.
    pub(super) fn read_key(&self, engine: &dyn Engine) -> Result<BackupKey> {
        let unsupported = |message| Error::new(ErrorKind::Unsupported, message);
        let key = self.key.read(self.key_file.as_deref(), self.password_file.as_deref())?;
        if !engine.capabilities().encrypted {
            return Ok(key);
        }
        if key.is_some() {
            let message = "the database is encrypted, and its backup with the same key: omit the \
                           backup's key";
            return Err(unsupported(message));
        }
        if self.compression_of(None) == Compression::None {
            return Ok(key);
        }
        BackupKey::of_pages(engine).ok_or_else(|| {
            unsupported(match engine.name() {
                "memory" => "an encrypted snapshot is compressed already: omit the compression",
                _ => {
                    "a database with the cipher sqlcipher has no compressed backups: omit the \
                     compression, or change the cipher to aegis256"
                }
            })
        })
    }

    /// Backs up the attached engine with this name instead of the main engine.
    pub fn engine(mut self, name: impl Into<String>) -> Self {
        self.engine = Some(name.into());
        self
    }

    /// The name of the engine to back up; `None` for the main engine.
    #[must_use]
    pub fn engine_name(&self) -> Option<&str> {
        self.engine.as_deref()
    }

    /// The compression of a backup to this file; to a writer if there is none.
    pub(super) fn compression_of(&self, file: Option<&Path>) -> Compression {
        let extension = file.and_then(Path::extension).unwrap_or_default();
        self.compression.unwrap_or_else(|| {
            if extension.eq_ignore_ascii_case("zst") {
                Compression::Zstd
            } else if extension.eq_ignore_ascii_case("gz") {
                Compression::Gzip
            } else {
                Compression::None
            }
        })
    }
}

impl Compression {
    /// Rejects a compression that this program was built without.
    pub(super) fn must_be_available(self) -> Result<()> {
        if self == Self::None || cfg!(feature = "compress") {
            return Ok(());
        }
        let message =
            "this program was built without compression: enable the feature `compress` of bobak";
        Err(Error::new(ErrorKind::Unsupported, message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compression_follows_the_extension_unless_it_is_set() {
        for (name, compression) in [
            ("a.db.zst", Compression::Zstd),
            ("a.gz", Compression::Gzip),
            ("A.DB.ZST", Compression::Zstd),
            ("a.db", Compression::None),
            ("-", Compression::None),
        ] {
            let options = BackupOptions::new();
            assert_eq!(options.compression_of(Some(Path::new(name))), compression, "{name}");
            assert_eq!(options.compression_of(None), Compression::None);
            let set = options.compression(Compression::None);
            assert_eq!(set.compression_of(Some(Path::new(name))), Compression::None);
        }
    }
}
