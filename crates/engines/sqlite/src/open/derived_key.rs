//! Keys derived from passwords, with the salt of an encrypted file.

use crate::cipher::{KEY_BYTES, SALT_BYTES};
use crate::key::{EncryptionKey, Secret};
use argon2::{Algorithm, Argon2, Params, Version};
use bobak_core::{Error, ErrorKind, Result};
use std::fmt;
use std::sync::Arc;
use zeroize::Zeroizing;

/// The key for a file: a password becomes a key by the file's salt, or by a new one for a new file.
/// | # Errors
/// `Engine` if the system provides no random numbers.
pub(crate) fn key_for_file(
    key: &EncryptionKey,
    salt: Option<[u8; SALT_BYTES]>,
) -> Result<EncryptionKey> {
    let Secret::Password(password) = &key.0 else {
        return Ok(key.clone());
    };
    let salt = match salt {
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

    #[test]
    fn a_password_makes_one_key_for_a_salt() {
        let key = |text: &str, salt| {
            key_for_file(&EncryptionKey::password(text).unwrap(), salt).unwrap().literal()
        };
        let salt = Some([5; SALT_BYTES]);
        assert_eq!(*key("secret", salt), *key("secret", salt));
        assert_ne!(*key("secret", salt), *key("Secret", salt));
        assert!(key("secret", salt).ends_with(&format!("{}'", "05".repeat(16))));
        assert_ne!(*key("secret", None), *key("secret", None), "a new file has a new salt");
    }
}
