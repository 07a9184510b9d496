//! Keys of encrypted files.

use argon2::{Algorithm, Argon2, Params, Version};
use bobak_core::{Error, ErrorKind, Result};
use std::fmt;
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
/// in the file, once for each database that is opened.
///
/// ```
/// use bobak_encryption::EncryptionKey;
/// let key = EncryptionKey::bytes([7; 32]);
/// assert_eq!(format!("{key:?}"), "EncryptionKey(…)");
/// assert!(EncryptionKey::password("").is_err());
/// ```
#[derive(Clone)]
pub struct EncryptionKey(Secret);

#[derive(Clone)]
enum Secret {
    Raw(RawKey),
    Password(Arc<Zeroizing<String>>),
}

/// The bytes of a key, and the salt with which they were made of a password.
#[derive(Clone)]
pub struct RawKey {
    /// The key.
    pub key: Arc<Zeroizing<[u8; KEY_BYTES]>>,
    /// `None` if the key was given as bytes.
    pub salt: Option<[u8; SALT_BYTES]>,
}

/// The bytes of a key.
pub const KEY_BYTES: usize = 32;
/// The bytes of the salt for a password.
pub const SALT_BYTES: usize = 16;

impl EncryptionKey {
    /// A key of 32 random bytes.
    #[must_use]
    pub fn bytes(key: [u8; KEY_BYTES]) -> Self {
        Self::copied(&Zeroizing::new(key))
    }

    /// A password.
    ///
    /// # Errors
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
    ///
    /// # Errors
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
    ///
    /// # Errors
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

    /// The key that at most one of three settings names: a file with a key, a file with a password, an environment
    /// variable with a password.
    ///
    /// # Errors
    /// `Config` for more than one, for an unset variable and for wrong content; `Io`.
    pub fn from_settings(
        key_file: Option<&Path>,
        password_file: Option<&Path>,
        password_env: Option<&str>,
    ) -> Result<Option<Self>> {
        let config = |message: String| Error::new(ErrorKind::Config, message);
        match (key_file, password_file, password_env) {
            (None, None, None) => Ok(None),
            (Some(file), None, None) => Self::from_file(file).map(Some),
            (None, Some(file), None) => Self::from_password_file(file).map(Some),
            (None, None, Some(name)) => {
                let missing = |_| config(format!("the environment variable {name} is not set"));
                Self::password(std::env::var(name).map_err(missing)?).map(Some)
            }
            _ => Err(config("give only one of key_file, password_file and password_env".into())),
        }
    }

    /// The key of a file: a password becomes a key by the file's salt, or by a new one for a new file.
    ///
    /// # Errors
    /// `Engine` if the system provides no random numbers.
    pub fn for_file(&self, salt: Option<[u8; SALT_BYTES]>) -> Result<Self> {
        match &self.0 {
            Secret::Raw(_) => Ok(self.clone()),
            Secret::Password(password) => {
                let salt = salt.map_or_else(random::<SALT_BYTES>, Ok)?;
                derive(password, salt).map(|raw| Self(Secret::Raw(raw)))
            }
        }
    }

    /// The bytes of the key; `None` for a password, which is replaced by the [key of a file](Self::for_file) before use.
    #[must_use]
    pub fn raw(&self) -> Option<&RawKey> {
        match &self.0 {
            Secret::Raw(raw) => Some(raw),
            Secret::Password(_) => None,
        }
    }

    fn secret(&self) -> &[u8] {
        match &self.0 {
            Secret::Raw(raw) => &raw.key[..],
            Secret::Password(password) => password.as_bytes(),
        }
    }

    /// Whether it is a password, or made of one.
    pub(crate) fn is_from_password(&self) -> bool {
        self.raw().is_none_or(|raw| raw.salt.is_some())
    }

    /// Writes the key where it stays: moving it would leave copies behind.
    fn copied(bytes: &[u8; KEY_BYTES]) -> Self {
        let mut key = Arc::new(Zeroizing::new([0; KEY_BYTES]));
        if let Some(key) = Arc::get_mut(&mut key) {
            key.copy_from_slice(bytes);
        }
        Self(Secret::Raw(RawKey { key, salt: None }))
    }
}

/// Makes a key of a password.
fn derive(password: &str, salt: [u8; SALT_BYTES]) -> Result<RawKey> {
    let failed = |error: &dyn fmt::Display| {
        Error::new(ErrorKind::Engine, format!("could not derive a key from the password: {error}"))
    };
    let parameters = Params::new(19_456, 2, 1, Some(KEY_BYTES)).map_err(|error| failed(&error))?;
    let mut key = Arc::new(Zeroizing::new([0; KEY_BYTES]));
    if let Some(key) = Arc::get_mut(&mut key) {
        Argon2::new(Algorithm::Argon2id, Version::V0x13, parameters)
            .hash_password_into(password.as_bytes(), &salt, &mut key[..])
            .map_err(|error| failed(&error))?;
    }
    Ok(RawKey { key, salt: Some(salt) })
}

/// Random bytes of the system.
pub(crate) fn random<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| {
        Error::new(ErrorKind::Engine, format!("the system provides no random numbers: {error}"))
    })?;
    Ok(bytes)
}

/// Takes the same time for all keys of one length.
impl PartialEq for EncryptionKey {
    fn eq(&self, other: &Self) -> bool {
        let (own, others) = (self.secret(), other.secret());
        let differences = own.iter().zip(others).fold(0, |all, (a, b)| all | (a ^ b));
        let salt = |key: &Self| key.raw().map(|raw| raw.salt);
        own.len() == others.len() && differences == 0 && salt(self) == salt(other)
    }
}

impl Eq for EncryptionKey {}

impl fmt::Debug for RawKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RawKey(…)")
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
        let read = |content: &[u8]| {
            fs::write(&file, content).unwrap();
            EncryptionKey::from_file(&file).map(|key| **key.raw().unwrap().key)
        };
        assert_eq!(read(&[0xab; 32]).unwrap(), [0xab; 32]);
        assert_eq!(read(format!(" {}\n", "aB".repeat(32)).as_bytes()).unwrap(), [0xab; 32]);
        for wrong in [&b""[..], b"secret", &[1; 33], "+b".repeat(32).as_bytes()] {
            assert_eq!(read(wrong).unwrap_err().kind(), ErrorKind::Config);
        }
        fs::write(&file, "secret\r\nmore").unwrap();
        let key = EncryptionKey::from_password_file(&file).unwrap();
        assert!(matches!(&key.0, Secret::Password(text) if text.as_str() == "secret"));
        assert_eq!(EncryptionKey::password("").unwrap_err().kind(), ErrorKind::Config);
        assert_eq!(format!("{key:?}"), "EncryptionKey(…)");
        assert_eq!(key, EncryptionKey::password("secret").unwrap());
        assert_ne!(key, EncryptionKey::password("secreT").unwrap());
        assert_ne!(EncryptionKey::bytes([7; 32]), EncryptionKey::bytes([8; 32]));
    }

    #[test]
    fn a_password_makes_one_key_for_a_salt() {
        let key = |text: &str, salt| {
            let key = EncryptionKey::password(text).unwrap().for_file(salt).unwrap();
            key.raw().unwrap().clone()
        };
        let salt = Some([5; SALT_BYTES]);
        assert_eq!(**key("secret", salt).key, **key("secret", salt).key);
        assert_ne!(**key("secret", salt).key, **key("Secret", salt).key);
        assert_eq!(key("secret", salt).salt, salt);
        assert_ne!(key("secret", None).salt, key("secret", None).salt, "a new file has a new salt");
    }
}
