//! The key of a snapshot, in programs with and without encryption.

#[cfg(feature = "encryption")]
pub(crate) use encrypted::SnapshotKey;
#[cfg(not(feature = "encryption"))]
pub(crate) use plain::SnapshotKey;

#[cfg(feature = "encryption")]
mod encrypted {
    use bobak_core::Result;
    use bobak_encryption::{EncryptedWriter, EncryptionKey};
    use std::fs::File;
    use std::io::{self, Read, Write};
    use std::path::Path;

    /// The key; `None` if the snapshot is not encrypted.
    #[derive(Clone, Default)]
    pub(crate) struct SnapshotKey(pub Option<EncryptionKey>);

    impl SnapshotKey {
        pub(crate) fn is_some(&self) -> bool {
            self.0.is_some()
        }

        /// The key for a file, which need not exist: a password becomes a key once.
        pub(crate) fn for_file(self, path: &Path) -> Result<Self> {
            let Some(key) = self.0 else { return Ok(self) };
            let salt = match File::open(path) {
                Ok(file) => bobak_encryption::salt_of(file)?,
                Err(_) => None,
            };
            key.for_file(salt).map(|key| Self(Some(key)))
        }

        /// The unencrypted bytes of a file.
        pub(crate) fn reader<'a>(
            &self,
            first: &[u8],
            file: impl Read + 'a,
        ) -> Result<Box<dyn Read + 'a>> {
            bobak_encryption::decrypted(first, file, self.0.as_ref())
        }

        /// Calls `write` with a writer that encrypts.
        pub(crate) fn write(
            &self,
            mut file: impl Write,
            write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
        ) -> io::Result<()> {
            let Some(key) = &self.0 else { return write(&mut file) };
            let mut file = EncryptedWriter::new(file, key).map_err(io::Error::other)?;
            write(&mut file)?;
            file.finish().map(drop)
        }
    }
}

#[cfg(not(feature = "encryption"))]
mod plain {
    use bobak_core::{Error, ErrorKind, Result};
    use std::io::{self, Read, Write};
    use std::path::Path;

    /// The first bytes of an encrypted file.
    const ENCRYPTED: &[u8; 8] = b"BOBAKENC";

    /// No key.
    #[derive(Clone, Default)]
    pub(crate) struct SnapshotKey();

    impl SnapshotKey {
        pub(crate) const fn is_some(&self) -> bool {
            false
        }

        pub(crate) fn for_file(self, _: &Path) -> Result<Self> {
            Ok(self)
        }

        pub(crate) fn reader<'a>(
            &self,
            first: &[u8],
            file: impl Read + 'a,
        ) -> Result<Box<dyn Read + 'a>> {
            if first == ENCRYPTED {
                let message = "it is encrypted, and this program was built without encryption: \
                               enable the feature `encryption` of bobak";
                return Err(Error::new(ErrorKind::Unsupported, message));
            }
            Ok(Box::new(io::Cursor::new(first.to_vec()).chain(file)))
        }

        pub(crate) fn write(
            &self,
            mut file: impl Write,
            write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
        ) -> io::Result<()> {
            write(&mut file)
        }
    }
}
