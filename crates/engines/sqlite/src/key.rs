//! Keys of encrypted files.

use crate::cipher::{GivenKey, KEY_BYTES, SALT_BYTES};
use bobak_core::{Error, ErrorKind, Result};
use std::fmt;
#[cfg(any(test, feature = "sqlcipher"))]
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use zeroize::Zeroizing;

/// Longer than any file with a key or password, in bytes.
const LONGEST_FILE: u64 = 4_096;

/// The key of an encrypted file: 32 bytes, or a password. Its memory is cleared when the last clone is
/// dropped, and no text shows it.
///
/// From a password the key is made by Argon2id (version 19; 19 MiB, 2 passes, one thread) with the salt
/// in the file, once for each [`Sqlite`](crate::Sqlite) that is opened.
///
/// ```
/// use bobak_sqlite::{EncryptionKey, Sqlite};
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("app.db");
/// let key = EncryptionKey::bytes([7; 32]);
/// assert_eq!(format!("{key:?}"), "EncryptionKey(…)");
/// let engine = Sqlite::builder().key(key).open(&path)?;
/// assert!(Sqlite::builder().key(EncryptionKey::bytes([8; 32])).open(&path).is_err());
/// # Ok::<(), bobak_core::Error>(())
/// ```
#[derive(Clone)]
pub struct EncryptionKey(pub(crate) Secret);

#[derive(Clone)]
pub(crate) enum Secret {
    Bytes(Arc<Zeroizing<[u8; KEY_BYTES]>>),
    Password(Arc<Zeroizing<String>>),
    /// The key and the salt of one file.
    OfFile(Arc<Zeroizing<[u8; KEY_BYTES]>>, [u8; SALT_BYTES]),
}

impl EncryptionKey {
    /// A key of 32 random bytes.
    #[must_use]
    pub fn bytes(key: [u8; KEY_BYTES]) -> Self {
        Self::copied(&Zeroizing::new(key))
    }

    /// A password.
    /// | # Errors
    /// `Config` for an empty one.
    pub fn password(password: impl Into<String>) -> Result<Self> {
        let password = Zeroizing::new(password.into());
        if password.is_empty() {
            return Err(Error::new(ErrorKind::Config, "the password is empty"));
        }
        Ok(Self(Secret::Password(Arc::new(password))))
    }

    /// Reads a key from a file with 32 bytes, or with 64 hexadecimal digits and optional white
    /// space around them.
    /// | # Errors
    /// `Config` for any other content; `Io`.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let content = read_secret(path)?;
        if let Ok(bytes) = <&[u8; KEY_BYTES]>::try_from(&content[..]) {
            return Ok(Self::copied(bytes));
        }
        from_digits(content.trim_ascii()).ok_or_else(|| {
            let message = format!(
                "{} does not hold a key: expected 32 bytes, or 64 hexadecimal digits",
                path.display()
            );
            Error::new(ErrorKind::Config, message)
        })
    }

    /// Reads a password from the first line of a file.
    /// | # Errors
    /// `Config` for an empty one, and for one that is not UTF-8; `Io`.
    pub fn from_password_file(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let content = read_secret(path)?;
        let line = content.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let text = std::str::from_utf8(line).map_err(|_| {
            let message = format!("the password in {} is not UTF-8", path.display());
            Error::new(ErrorKind::Config, message)
        })?;
        Self::password(text)
    }

    /// Writes the key where it stays: moving it would leave copies behind.
    fn copied(bytes: &[u8; KEY_BYTES]) -> Self {
        let mut key = Arc::new(Zeroizing::new([0; KEY_BYTES]));
        if let Some(key) = Arc::get_mut(&mut key) {
            key.copy_from_slice(bytes);
        }
        Self(Secret::Bytes(key))
    }

    /// The key for pages encrypted with AEGIS-256; `None` for a password, which is replaced by its derived key before use.
    pub(crate) fn given(&self) -> Option<GivenKey> {
        match &self.0 {
            Secret::Bytes(key) => Some(GivenKey { key: Arc::clone(key), salt: None }),
            Secret::OfFile(key, salt) => Some(GivenKey { key: Arc::clone(key), salt: Some(*salt) }),
            Secret::Password(_) => None,
        }
    }

    /// The key in SQLCipher's notation, `x'…'`; for a derived key, with its salt.
    #[cfg(any(test, feature = "sqlcipher"))]
    pub(crate) fn literal(&self) -> Zeroizing<String> {
        let (key, salt): (&[u8], &[u8]) = match &self.0 {
            Secret::Bytes(key) => (&key[..], &[]),
            Secret::OfFile(key, salt) => (&key[..], salt),
            // A password is replaced by its derived key before use.
            Secret::Password(_) => (&[], &[]),
        };
        let mut text = Zeroizing::new(String::with_capacity(2 * (KEY_BYTES + SALT_BYTES) + 3));
        text.push_str("x'");
        for byte in key.iter().chain(salt) {
            let _ = write!(text, "{byte:02x}");
        }
        text.push('\'');
        text
    }
}

impl fmt::Debug for EncryptionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EncryptionKey(…)")
    }
}

/// The content of a small file.
fn read_secret(path: &Path) -> Result<Zeroizing<Vec<u8>>> {
    let doing = |error| Error::io(&format!("read {}", path.display()), error);
    let length = fs::metadata(path).map_err(doing)?.len().min(LONGEST_FILE);
    // Allocated once: a growing buffer would leave copies behind.
    let room = usize::try_from(length).unwrap_or(0).max(KEY_BYTES * 4) + 1;
    let mut content = Zeroizing::new(Vec::with_capacity(room));
    let file = File::open(path).map_err(doing)?;
    file.take(LONGEST_FILE).read_to_end(&mut content).map_err(doing)?;
    Ok(content)
}

fn from_digits(digits: &[u8]) -> Option<EncryptionKey> {
    let mut key = Zeroizing::new([0; KEY_BYTES]);
    if digits.len() != 2 * KEY_BYTES {
        return None;
    }
    for (byte, pair) in key.iter_mut().zip(digits.chunks_exact(2)) {
        let pair = std::str::from_utf8(pair).ok().filter(|pair| !pair.starts_with('+'))?;
        *byte = u8::from_str_radix(pair, 16).ok()?;
    }
    Some(EncryptionKey::copied(&key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_from_files() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("key");
        let literal = |content: &[u8]| {
            fs::write(&file, content).unwrap();
            EncryptionKey::from_file(&file).map(|key| key.literal().to_string())
        };
        let expected = format!("x'{}'", "ab".repeat(32));
        assert_eq!(literal(&[0xab; 32]).unwrap(), expected);
        assert_eq!(literal(format!(" {}\n", "aB".repeat(32)).as_bytes()).unwrap(), expected);
        for wrong in [&b""[..], b"secret", &[1; 33], "+b".repeat(32).as_bytes()] {
            assert_eq!(literal(wrong).unwrap_err().kind(), ErrorKind::Config);
        }
        fs::write(&file, "secret\r\nmore").unwrap();
        let key = EncryptionKey::from_password_file(&file).unwrap();
        assert!(matches!(&key.0, Secret::Password(text) if text.as_str() == "secret"));
        assert_eq!(EncryptionKey::password("").unwrap_err().kind(), ErrorKind::Config);
        assert_eq!(format!("{key:?}"), "EncryptionKey(…)");
    }
}
