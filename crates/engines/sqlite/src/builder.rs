//! Opening a database with its settings.

use crate::Sqlite;
use crate::functions::Function;
use crate::open::{settings_for_file, with_page_size};
use crate::settings::SqliteBuilder;
use bobak_core::{AtomicFile, BackupContent, Error, ErrorKind, Result};
#[cfg(feature = "encryption")]
use bobak_encryption::EncryptionKey;
#[cfg(feature = "encryption")]
use std::io::{Read, Write};
use std::path::Path;

impl SqliteBuilder {
    /// Opens or creates an encrypted file: see [`cipher`](Self::cipher). The log and the journal
    /// are encrypted too. Each connection then caches 16 MB of decrypted pages (less with more
    /// than seven readers), unless [`cache_bytes`](Self::cache_bytes) is set. Files are not
    /// memory-mapped.
    /// | Opening fails with `Denied` for a wrong key.
    #[cfg(feature = "encryption")]
    pub fn key(mut self, key: EncryptionKey) -> Self {
        self.key = Some(key);
        self
    }

    /// Changes the key of a file that is not open: encrypts an unencrypted file, for which the
    /// builder has no [`key`](Self::key), and decrypts an encrypted one if `new` is `None`.
    /// | Writes a complete new file, verifies it, and renames it into place: at every moment the
    /// file opens with the old or the new key. The old blocks on the disk are not overwritten.
    /// The rowids of a table without an integer key may change, as by `VACUUM`.
    /// | The [`cipher`](Self::cipher) is that of the new file; if it is not set, the old file's
    /// stays.
    /// | # Errors
    /// `Denied` if the builder's key is wrong; `Busy` if the file is open elsewhere; `Corrupt`,
    /// `Full`, `ReadOnly`, `Io`; `Unsupported` for a cipher that this program does not have.
    #[cfg(feature = "encryption")]
    pub fn change_key(self, path: impl AsRef<Path>, new: Option<&EncryptionKey>) -> Result<()> {
        crate::backup::change_key(path.as_ref(), &self, new)
    }

    /// Reads a file of [`Cipher::Aegis256`](crate::Cipher::Aegis256) that is not open, with its key: the file as it
    /// would be without encryption, but for the reserved bytes at the end of each page.
    /// | A damaged page is an error with [`InvalidData`](std::io::ErrorKind::InvalidData).
    /// | # Errors
    /// `Denied` for a wrong key and for another file; `Unsupported` for another cipher; `Io`.
    #[cfg(feature = "encryption")]
    pub fn decrypted_pages<P: AsRef<Path>>(self, path: P) -> Result<impl Read + use<P>> {
        crate::backup::DecryptedPages::open(path.as_ref(), &self)
    }

    /// Encrypts what [`decrypted_pages`](Self::decrypted_pages) read, with this key, for a new file.
    /// | [`flush`](Write::flush) fails if the end of a page is missing.
    /// | # Errors
    /// `Config` without a key, and for a wrong one; `Unsupported` for another cipher; `Io`.
    #[cfg(feature = "encryption")]
    pub fn encrypted_pages<W: Write>(self, target: W) -> Result<impl Write + use<W>> {
        crate::backup::EncryptedPages::new(target, &self)
    }

    /// Adds a function that SQL can call. It replaces a function of SQLite with the same name and
    /// number of arguments.
    pub fn function(mut self, function: Function) -> Self {
        self.functions.push(function);
        self
    }

    /// Opens a file.
    /// | # Errors
    /// `Corrupt` if it is not a database or is damaged; the file is not changed. `ReadOnly` if it
    /// cannot be written, without [`OpenMode::ReadOnly`](crate::OpenMode::ReadOnly); `Io` if it or its directory is
    /// missing; `Busy` if another process locks it; `Config` for an invalid page size or an
    /// unknown VFS; `Denied` for a wrong key.
    pub fn open(self, path: impl AsRef<Path>) -> Result<Sqlite> {
        with_page_size(settings_for_file(&self, path.as_ref())?, Sqlite::with)
    }

    /// Opens a new database in memory, which ends when it is closed. Journal, locking and sync
    /// settings have no effect.
    /// | # Errors
    /// `Config` for an invalid page size, and if a key is set: databases in memory are not
    /// encrypted.
    pub fn open_memory(mut self) -> Result<Sqlite> {
        if self.has_key() || self.cipher.is_some() {
            let message = "a database in memory cannot be encrypted: omit the key and the cipher";
            return Err(Error::new(ErrorKind::Config, message));
        }
        self.path = None;
        Sqlite::with(self)
    }

    /// Reads a whole file that is not open: whether it is a sound database, and the numbers of
    /// rows of its tables. For backups.
    /// | # Errors
    /// `Corrupt` if it is not a database or is damaged; `Io` if it cannot be read.
    pub fn check_file(self, path: impl AsRef<Path>) -> Result<BackupContent> {
        crate::backup::check_file(path.as_ref(), &self, false)
    }

    /// Replaces a database that is not open with a new file. Uses only the settings that are
    /// needed to open the old one.
    /// | At every moment the complete old or new database is in place. The old one's logs are
    /// deleted with it.
    /// | # Errors
    /// `Conflict` if a database, or a log of one, exists and is not to be overwritten; `Busy` if
    /// it is open elsewhere; `ReadOnly`, `Io`.
    pub fn replace(self, new: AtomicFile, overwrite: bool) -> Result<()> {
        crate::backup::replace(new, &self, overwrite, false)
    }

    /// Replaces an older backup, without reading it: anything written to it since is lost.
    /// | # Errors
    /// As [`replace`](Self::replace).
    pub fn replace_backup(self, new: AtomicFile, overwrite: bool) -> Result<()> {
        crate::backup::replace(new, &self, overwrite, true)
    }

    /// Opens a database for extensions alone: each connection is an empty database in memory, and
    /// no two connections share anything.
    ///
    /// # Errors
    /// As [`open_memory`](Self::open_memory).
    pub fn open_isolated(mut self) -> Result<Sqlite> {
        self.path = None;
        self.isolated = true;
        Sqlite::with(self)
    }
}
