//! The key of a backup, in programs with and without encryption.

#[cfg(feature = "encryption")]
pub(crate) use encrypted::BackupKey;
#[cfg(not(feature = "encryption"))]
pub(crate) use plain::BackupKey;

#[cfg(feature = "encryption")]
mod encrypted {
    use crate::temp_dir::TempDir;
    use bobak_core::{Error, ErrorKind, Result};
    use bobak_encryption::{EncryptedReader, EncryptedWriter, EncryptionKey};
    use std::fs::File;
    use std::io::{self, Write};
    use std::path::Path;

    /// The key; `None` for a backup that is not encrypted.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub(crate) struct BackupKey(pub Option<EncryptionKey>);

    impl BackupKey {
        /// The key that was given, or that is in one of the files.
        pub(crate) fn read(
            &self,
            key_file: Option<&Path>,
            password_file: Option<&Path>,
        ) -> Result<Self> {
            let named = EncryptionKey::from_settings(key_file, password_file, None)?;
            Ok(Self(named.or_else(|| self.0.clone())))
        }

        pub(crate) fn is_some(&self) -> bool {
            self.0.is_some()
        }

        /// Calls `write` with a writer that encrypts, and returns the number of bytes before encryption.
        pub(crate) fn write(
            &self,
            writer: impl Write,
            doing: &str,
            write: impl FnOnce(&mut dyn Write) -> Result<u64>,
        ) -> Result<u64> {
            let mut writer = writer;
            let Some(key) = &self.0 else { return write(&mut writer) };
            let mut writer = EncryptedWriter::new(writer, key)?;
            let written = write(&mut writer)?;
            writer.finish().map_err(|error| Error::io(doing, error))?;
            Ok(written)
        }

        /// Decrypts a backup to a file `backup` in a private folder.
        pub(crate) fn decrypt(&self, backup: &Path) -> Result<TempDir> {
            let name = backup.display();
            let unusable = |error: Error| {
                let message = format!("the backup {name} can't be used: {}", error.message());
                Error::new(error.kind(), message).with_source(error)
            };
            let reading = |error| Error::io(&format!("read {name}"), error);
            let key = self.0.as_ref().ok_or_else(|| {
                unusable(Error::new(ErrorKind::Denied, "it is encrypted: give its key"))
            })?;
            let mut reader = EncryptedReader::new(File::open(backup).map_err(reading)?, key)
                .map_err(unusable)?;
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
            Ok(folder)
        }
    }
}

#[cfg(not(feature = "encryption"))]
mod plain {
    use crate::temp_dir::TempDir;
    use bobak_core::{Error, ErrorKind, Result};
    use std::io::Write;
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

        pub(crate) fn decrypt(&self, _: &Path) -> Result<TempDir> {
            Err(missing_feature())
        }
    }

    fn missing_feature() -> Error {
        let message = "this program was built without encryption, which an encrypted backup needs: \
                       enable the feature `encryption` of bobak";
        Error::new(ErrorKind::Unsupported, message)
    }
}
