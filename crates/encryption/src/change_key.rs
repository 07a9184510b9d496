//! Changing the key of a file.

use crate::header::{self, HEADER_BYTES};
use crate::{EncryptedWriter, EncryptionKey, decrypted};
use bobak_core::{AtomicFile, Error, ErrorKind, Result};
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::Path;

/// Encrypts a file, changes its key, or decrypts it if `new` is `None`. `old` is its key; `None` if it is not encrypted.
/// The whole new file is written and then renamed into place: at every moment the file has the old or the new key.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("a");
/// use bobak_encryption::{EncryptionKey, change_file_key, is_encrypted};
/// std::fs::write(&path, "Bern")?;
/// let key = EncryptionKey::bytes([7; 32]);
/// change_file_key(&path, None, Some(&key))?;
/// assert!(is_encrypted(&std::fs::read(&path)?));
/// change_file_key(&path, Some(&key), None)?;
/// assert_eq!(std::fs::read(&path)?, b"Bern");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// `Denied` for a wrong key, for a missing key, and for the key of a file that is not encrypted; `Corrupt` if the file
/// is damaged; `Full`, `ReadOnly`, `Io`. The file is then unchanged.
pub fn change_file_key(
    path: &Path,
    old: Option<&EncryptionKey>,
    new: Option<&EncryptionKey>,
) -> Result<()> {
    let named = |error: Error| {
        let message = format!("{}: {}", path.display(), error.message());
        Error::new(error.kind(), message).with_source(error)
    };
    let reading = |error| Error::io(&format!("read {}", path.display()), error);
    let file = AtomicFile::create_private(path)?;
    let writing = |error: io::Error| match error.kind() {
        io::ErrorKind::InvalidData => {
            let message = format!("{}: {error}", path.display());
            Error::new(ErrorKind::Corrupt, message).with_source(error)
        }
        _ => Error::io(&format!("write {}", path.display()), error),
    };
    let mut original = BufReader::new(File::open(path).map_err(reading)?);
    let mut first = Vec::new();
    original.by_ref().take(HEADER_BYTES as u64).read_to_end(&mut first).map_err(reading)?;
    let mut reader = decrypted(&first, original, old).map_err(named)?;
    let out = File::create(file.path()).map_err(writing)?;
    let mut out = BufWriter::new(out);
    match new {
        Some(key) => {
            let out = EncryptedWriter::with(out, key, header::content(&first));
            let mut out = out.map_err(named)?;
            io::copy(&mut reader, &mut out).map_err(writing)?;
            out.finish().map_err(writing)?;
        }
        None => {
            io::copy(&mut reader, &mut out).map_err(writing)?;
            out.flush().map_err(writing)?;
        }
    }
    file.commit().map_err(writing)
}
