//! The key of a backup, in programs with and without encryption.

#[cfg(feature = "encryption")]
pub(crate) use encrypted::BackupKey;
#[cfg(not(feature = "encryption"))]
pub(crate) use plain::BackupKey;

use crate::temp_dir::TempDir;
use std::io::Read;

/// A backup without its encryption.
#[cfg_attr(not(feature = "encryption"), expect(dead_code, reason = "nothing is decrypted"))]
pub(crate) enum DecryptedBackup {
    /// In a file `backup` in a private folder.
    Stored(TempDir),
    /// The compressed pages of an encrypted database, which must not be stored like this.
    Pages(Box<dyn Read>),
}

#[cfg(feature = "encryption")]
mod encrypted {
    use super::DecryptedBackup;
    use crate::temp_dir::TempDir;
    use bobak_core::{Engine, Error, ErrorKind, Result};
    use bobak_encryption::{EncryptedReader, EncryptedWriter, EncryptionKey};
    use bobak_sqlite::SqliteBuilder;
    use std::fs::File;
    use std::io::{self, Read, Write};
    use std::path::Path;

    /// The key; `None` for a backup that is not encrypted.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub(crate) struct BackupKey {
        key: Option<EncryptionKey>,
        /// Whether the database is encrypted with it too, page by page.
        has_pages: bool,
    }

    impl From<Option<EncryptionKey>> for BackupKey {
        fn from(key: Option<EncryptionKey>) -> Self {
            Self { key, has_pages: false }
        }
    }

    impl BackupKey {
        /// The key of an encrypted database whose pages can be decrypted.
        pub(crate) fn of_pages(engine: &dyn Engine) -> Option<Self> {
            let key = engine.backup_key()?.downcast_ref::<EncryptionKey>()?;
            Some(Self { key: Some(key.clone()), has_pages: true })
        }

        pub(crate) fn into_key(self) -> Option<EncryptionKey> {
            self.key
        }

        /// The settings of an encrypted database with this key.
        pub(crate) fn builder(&self) -> SqliteBuilder {
            let builder = bobak_sqlite::Sqlite::builder();
            self.key.clone().map_or(builder.clone(), |key| builder.key(key))
        }

        /// The key that was given, or that is in one of the files.
        pub(crate) fn read(
            &self,
            key_file: Option<&Path>,
            password_file: Option<&Path>,
        ) -> Result<Self> {
            let named = EncryptionKey::from_settings(key_file, password_file, None)?;
            Ok(named.or_else(|| self.key.clone()).into())
        }

        pub(crate) fn is_some(&self) -> bool {
            self.key.is_some()
        }

        /// Calls `write` with a writer that encrypts, and returns the number of bytes before encryption.
        pub(crate) fn write(
            &self,
            writer: impl Write,
            doing: &str,
            write: impl FnOnce(&mut dyn Write) -> Result<u64>,
        ) -> Result<u64> {
            let mut writer = writer;
            let Some(key) = &self.key else { return write(&mut writer) };
            let mut writer = match self.has_pages {
                true => EncryptedWriter::of_pages(writer, key)?,
                false => EncryptedWriter::new(writer, key)?,
            };
            let written = write(&mut writer)?;
            writer.finish().map_err(|error| Error::io(doing, error))?;
            Ok(written)
        }

        /// The database in a file that the engine wrote, without its encryption.
        pub(crate) fn read_database(&self, file: &Path) -> Result<Box<dyn Read>> {
            if self.has_pages {
                return Ok(Box::new(self.builder().decrypted_pages(file.to_owned())?));
            }
            let reading = |error| Error::io(&format!("read {}", file.display()), error);
            Ok(Box::new(File::open(file).map_err(reading)?))
        }

        /// The content of an encrypted backup.
        pub(crate) fn open(&self, backup: &Path) -> Result<EncryptedReader<File>> {
            let name = backup.display();
            let unusable = |error: Error| {
                let message = format!("the backup {name} can't be used: {}", error.message());
                Error::new(error.kind(), message).with_source(error)
            };
            let key = self.key.as_ref().ok_or_else(|| {
                let message = "it is encrypted: give its key by --backup-key-file or \
                               --backup-password-file, or that of its encrypted database by \
                               --key-file or --password-file";
                unusable(Error::new(ErrorKind::Denied, message))
            })?;
            let file =
                File::open(backup).map_err(|error| Error::io(&format!("read {name}"), error));
            EncryptedReader::new(file?, key).map_err(unusable)
        }

        /// Decrypts a backup; to a file `backup` in a private folder, unless it may not be stored.
        pub(crate) fn decrypt(&self, backup: &Path) -> Result<DecryptedBackup> {
            let name = backup.display();
            let mut reader = self.open(backup)?;
            if reader.has_pages() {
                return Ok(DecryptedBackup::Pages(Box::new(reader)));
            }
            let folder = TempDir::new()?;
            let copied = File::create(folder.file("backup")).and_then(|mut file| {
                // Who cannot read the backup cannot read what it becomes.
                file.set_permissions(std::fs::metadata(backup)?.permissions())?;
                io::copy(&mut reader, &mut file)
            });
            copied.map_err(|error| match error.kind() {
                io::ErrorKind::InvalidData => {
                    let message = format!("the backup {name} can't be used: {error}");
                    Error::new(ErrorKind::Corrupt, message).with_source(error)
                }
                _ => Error::io(&format!("decrypt {name} to {}", folder.parent()), error),
            })?;
            Ok(DecryptedBackup::Stored(folder))
        }
    }
}

#[cfg(not(feature = "encryption"))]
mod plain {
    use super::DecryptedBackup;
    use bobak_core::{Engine, Error, ErrorKind, Result};
    use std::fs::File;
    use std::io::{Empty, Read, Write};
    use std::path::Path;

    /// No key.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub(crate) struct BackupKey();

    impl BackupKey {
        pub(crate) fn read(
            &self,
            key_file: Option<&Path>,
            password_file: Option<&Path>,
        ) -> Result<Self> {
            match (key_file, password_file) {
                (None, None) => Ok(Self()),
                _ => Err(missing_feature()),
            }
        }

        pub(crate) const fn is_some(&self) -> bool {
            false
        }

        pub(crate) fn write(
            &self,
            mut writer: impl Write,
            _: &str,
            write: impl FnOnce(&mut dyn Write) -> Result<u64>,
        ) -> Result<u64> {
            write(&mut writer)
        }

        pub(crate) const fn of_pages(_: &dyn Engine) -> Option<Self> {
            None
        }

        pub(crate) fn read_database(&self, file: &Path) -> Result<Box<dyn Read>> {
            let reading = |error| Error::io(&format!("read {}", file.display()), error);
            Ok(Box::new(File::open(file).map_err(reading)?))
        }

        pub(crate) fn open(&self, _: &Path) -> Result<Empty> {
            Err(missing_feature())
        }

        pub(crate) fn decrypt(&self, _: &Path) -> Result<DecryptedBackup> {
            Err(missing_feature())
        }
    }

    fn missing_feature() -> Error {
        let message = "this program was built without encryption, which an encrypted backup needs: \
                       enable the feature `encryption` of bobak";
        Error::new(ErrorKind::Unsupported, message)
    }
}
