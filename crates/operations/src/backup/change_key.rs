//! Changing the key of a database's file, or of a backup.

use super::FileType;
use crate::DatabaseFile;
use bobak_core::{Error, ErrorKind, Result};
use bobak_encryption::{EncryptionKey, change_file_key};

/// Encrypts a file, changes its key, or decrypts it if `new` is `None`: a database, a snapshot, or a compressed or encrypted
/// backup. At every moment the file has the old key or the new one.
///
/// # Errors
/// `Denied` for a wrong key; `Busy` if a process has the database open; `Corrupt` if the file is damaged; `Config`, `Full`,
/// `Io`.
pub fn change_key(database: &DatabaseFile, new: Option<&EncryptionKey>) -> Result<()> {
    let old = database.read_key()?.into_key();
    match database {
        DatabaseFile::Memory { path, builder } => {
            // A file that cannot be read with this key must not get another one.
            builder.check_file(path)?;
            change_file_key(path, old.as_ref(), new)
        }
        DatabaseFile::Sqlite { path, builder } => match FileType::of(path) {
            Ok(FileType::Encrypted | FileType::Zstd | FileType::Gzip) => {
                change_file_key(path, old.as_ref(), new)
            }
            Ok(FileType::Snapshot | FileType::Json) => {
                let message = format!(
                    "{} is a snapshot of the memory engine: write memory:FILE",
                    path.display()
                );
                Err(Error::new(ErrorKind::Unsupported, message))
            }
            _ => (**builder).clone().change_key(path, new),
        },
    }
}
