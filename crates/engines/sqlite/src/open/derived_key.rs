//! Keys derived from passwords, with the salt of an encrypted file.

use super::{connect, name_file};
use crate::error::translate;
use crate::ffi::OpenFlags;
use crate::key::{EncryptionKey, KEY_BYTES, SALT_BYTES, Secret};
use crate::settings::Settings;
use argon2::{Algorithm, Argon2, Params, Version};
use bobak_core::{Error, ErrorKind, Result};
use std::fmt;
use std::sync::Arc;
use zeroize::Zeroizing;

/// The first bytes of an unencrypted file.
const PLAIN: &[u8; SALT_BYTES] = b"SQLite format 3\0";

/// The key for the settings' file: a password becomes a key by the file's salt, or by a new one
/// if there is no file.
/// | # Errors
/// `Io`; `Engine` if the system provides no random numbers.
pub(crate) fn key_for_file(key: &EncryptionKey, settings: &Settings) -> Result<EncryptionKey> {
    let Secret::Password(password) = &key.0 else {
        return Ok(key.clone());
    };
    let salt = match beginning(settings)? {
        Some(salt) => salt,
        None => new_salt()?,
    };
    let mut derived = Arc::new(Zeroizing::new([0; KEY_BYTES]));
    let failed = |error: &dyn fmt::Display| {
        Error::new(ErrorKind::Engine, format!("could not derive a key from the password: {error}"))
    };
    let parameters = Params::new(19_456, 2, 1, Some(KEY_BYTES)).map_err(|error| failed(&error))?;
    if let Some(derived) = Arc::get_mut(&mut derived) {
        Argon2::new(Algorithm::Argon2id, Version::V0x13, parameters)
            .hash_password_into(password.as_bytes(), &salt, &mut derived[..])
            .map_err(|error| failed(&error))?;
    }
    Ok(EncryptionKey(Secret::OfFile(derived, salt)))
}

/// The error for a file that the given key cannot decrypt.
pub(crate) fn wrong_key(settings: &Settings) -> Error {
    let message = match beginning(settings) {
        Ok(Some(first)) if first == *PLAIN => {
            "the file is not encrypted: open it without a key, or encrypt it"
        }
        _ => "the key is wrong, or the file is not an encrypted database",
    };
    Error::new(ErrorKind::Denied, message)
}

/// The first bytes of a file, which are the salt of an encrypted one; `None` for a new file.
fn beginning(settings: &Settings) -> Result<Option<[u8; SALT_BYTES]>> {
    let settings = Settings { key: None, ..settings.clone() };
    let flags = OpenFlags { read_only: true, create: false };
    let db = match connect(&settings, flags) {
        Ok(db) => db,
        Err(_) if settings.path.as_deref().is_none_or(|path| !path.exists()) => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut first = [0; SALT_BYTES];
    let read = db.read_file(0, &mut first);
    let read = read.map_err(|failure| name_file(translate(failure, None), &settings))?;
    Ok((read == first.len()).then_some(first))
}

fn new_salt() -> Result<[u8; SALT_BYTES]> {
    let mut salt = [0; SALT_BYTES];
    getrandom::fill(&mut salt).map_err(|error| {
        Error::new(ErrorKind::Engine, format!("the system provides no random numbers: {error}"))
    })?;
    Ok(salt)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_password_makes_one_key_for_a_salt() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.db");
        fs::write(&file, [5; 40]).unwrap();
        let at =
            |name: &str| Settings { path: Some(folder.path().join(name)), ..Settings::default() };
        let key = |text: &str| {
            key_for_file(&EncryptionKey::password(text).unwrap(), &at("a.db")).unwrap().literal()
        };
        assert_eq!(*key("secret"), *key("secret"));
        assert_ne!(*key("secret"), *key("Secret"));
        assert!(key("secret").ends_with(&format!("{}'", "05".repeat(16))));
        let new = |text: &str| {
            key_for_file(&EncryptionKey::password(text).unwrap(), &at("missing.db"))
                .unwrap()
                .literal()
        };
        assert_ne!(*new("secret"), *new("secret"), "a new file has a new salt");
    }
}
