//! The cipher of an encrypted file.

use super::first_bytes;
use crate::cipher::{FileStart, SALT_BYTES};
use crate::ffi::{Connection, Failure, OpenFlags, codes};
use crate::settings::{Cipher, Settings};
use bobak_core::{Error, ErrorKind, Result};
use bobak_encryption::EncryptionKey;
use std::ffi::CStr;
use std::path::Path;

/// The smallest page size of an encrypted file: the ciphers need some bytes of each page.
pub(crate) const SMALLEST: u32 = 1_024;

/// The first bytes of an unencrypted file.
const PLAIN: &[u8; SALT_BYTES] = b"SQLite format 3\0";

/// What the first bytes of a file say.
enum Content {
    /// There is no file, or it is empty.
    New,
    Plain,
    /// It is encrypted with a cipher, and has a salt.
    Encrypted(Cipher, [u8; SALT_BYTES]),
}

impl Content {
    fn of(settings: &Settings) -> Result<Self> {
        let mut first = [0; FileStart::BYTES];
        if first_bytes(settings, &mut first)? < first.len() {
            return Ok(Self::New);
        }
        if let Some(start) = FileStart::parse(&first) {
            return Ok(Self::Encrypted(Cipher::Aegis256, start.salt));
        }
        Ok(match first.first_chunk() {
            Some(PLAIN) | None => Self::Plain,
            // SQLCipher's files begin with their salt.
            Some(salt) => Self::Encrypted(Cipher::Sqlcipher, *salt),
        })
    }
}

/// The settings for one file with a key: its cipher, and the key that is derived from a password.
///
/// # Errors
/// `Denied` if the file has another cipher than the settings say; `Unsupported` for a cipher that this program does not
/// have; `Io`.
pub(super) fn settings_with_key(
    settings: &Settings,
    key: &EncryptionKey,
    path: &Path,
) -> Result<Settings> {
    let bare = settings.without_key(path);
    let (found, salt) = match Content::of(&bare)? {
        Content::Encrypted(found, salt) => (Some(found), Some(salt)),
        Content::New | Content::Plain => (None, None),
    };
    let cipher = match (settings.cipher, found) {
        (Some(wanted), Some(found)) if wanted != found && found == Cipher::Aegis256 => {
            return Err(wrong_cipher(path, found, wanted));
        }
        (Some(wanted), _) => wanted,
        // A file that seems to be SQLCipher's may be a new one, whose creation was interrupted.
        (None, Some(found)) if has(found) => found,
        (None, _) => Cipher::default(),
    };
    must_have(cipher)?;
    let key = key.for_file(salt)?;
    Ok(Settings { key: Some(key), cipher: Some(cipher), ..bare })
}

fn wrong_cipher(path: &Path, found: Cipher, wanted: Cipher) -> Error {
    let message = format!(
        "{} is encrypted with {}, not with {}: omit the cipher",
        path.display(),
        found.as_str(),
        wanted.as_str()
    );
    Error::new(ErrorKind::Denied, message)
}

/// Whether this program has a cipher.
const fn has(cipher: Cipher) -> bool {
    matches!(cipher, Cipher::Aegis256) || cfg!(feature = "sqlcipher")
}

/// Rejects a cipher that this program does not have.
///
/// # Errors
/// `Unsupported`.
pub(crate) fn must_have(cipher: Cipher) -> Result<()> {
    if has(cipher) {
        return Ok(());
    }
    let message = format!(
        "this program was built without the cipher {}: enable the feature `sqlcipher` of bobak",
        cipher.as_str()
    );
    Err(Error::new(ErrorKind::Unsupported, message))
}

/// The error for a cipher without a key.
pub(super) fn without_key() -> Error {
    let message = "the cipher is for a key: give key_file, password_file or password_env too";
    Error::new(ErrorKind::Config, message)
}

/// Opens a file with its key; a wrong one fails at the first read.
///
/// # Errors
/// Those of SQLite.
pub(super) fn open(
    name: &CStr,
    flags: OpenFlags,
    vfs: Option<&CStr>,
    settings: &Settings,
    key: &EncryptionKey,
) -> Result<Connection, Failure> {
    #[cfg(feature = "sqlcipher")]
    if settings.cipher == Some(Cipher::Sqlcipher) {
        let mut db = Connection::open(name, flags, vfs)?;
        // The key must come first.
        db.set_key(c"main", &literal(key))?;
        if let Some(size) = settings.page_size {
            db.exec(&format!("PRAGMA cipher_page_size = {size}"))?;
        }
        // Otherwise SQLCipher logs every wrong key to standard error; the caller gets an error anyway.
        db.exec("PRAGMA cipher_log_level = NONE")?;
        return Ok(db);
    }
    let _ = settings;
    let raw = key.raw();
    let raw = raw.ok_or_else(|| Failure::own(codes::SQLITE_MISUSE, "the password has no key"))?;
    Connection::open_encrypted(name, flags, vfs, raw.clone())
}

/// The error for a file that the given key cannot decrypt.
pub(crate) fn wrong_key(settings: &Settings) -> Error {
    let message = match Content::of(settings) {
        Ok(Content::Plain) => "the file is not encrypted: open it without a key, or encrypt it",
        Ok(Content::Encrypted(Cipher::Sqlcipher, _)) if !has(Cipher::Sqlcipher) => {
            "the file is not encrypted with aegis256: if it is SQLCipher's, enable the feature \
             `sqlcipher` of bobak"
        }
        Ok(Content::Encrypted(Cipher::Sqlcipher, _))
            if settings.cipher == Some(Cipher::Aegis256) =>
        {
            "the file is not encrypted with aegis256: omit the cipher"
        }
        _ => "the key is wrong, or the file is not an encrypted database",
    };
    Error::new(ErrorKind::Denied, message)
}

/// The key in SQLCipher's notation, `x'…'`; for a derived key, with its salt.
#[cfg(feature = "sqlcipher")]
pub(crate) fn literal(key: &EncryptionKey) -> zeroize::Zeroizing<String> {
    use std::fmt::Write as _;
    let raw = key.raw();
    let key = raw.map_or(&[][..], |raw| &raw.key[..]);
    let salt = raw.and_then(|raw| raw.salt.as_ref()).map_or(&[][..], |salt| &salt[..]);
    let mut text = zeroize::Zeroizing::new(String::with_capacity(2 * (key.len() + salt.len()) + 3));
    text.push_str("x'");
    for byte in key.iter().chain(salt) {
        let _ = write!(text, "{byte:02x}");
    }
    text.push('\'');
    text
}
