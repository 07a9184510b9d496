//! Hashes of passwords and tokens. Nothing else of them is stored.

use argon2::Argon2;
use argon2::password_hash::{PasswordHasher, PasswordVerifier, phc::PasswordHash};
use blake2::{Blake2s256, Digest};
use bobak_core::{Error, ErrorKind, Result};
use std::fmt::Write;
use std::hint::black_box;

/// The start of generated tokens, so that secret scanners find leaked ones.
const TOKEN_PREFIX: &str = "bobak_";
/// The random bytes of a generated token.
const TOKEN_BYTES: usize = 24;

/// Hashes a password with argon2id and a random salt, in the PHC string format.
///
/// # Errors
/// `Config` for an empty password; `Engine` if the system provides no random bytes.
pub fn hash_password(password: &str) -> Result<String> {
    if password.is_empty() {
        return Err(Error::new(ErrorKind::Config, "the password is empty"));
    }
    let hash = Argon2::default().hash_password(password.as_bytes());
    hash.map(|hash| hash.to_string()).map_err(|error| {
        Error::new(ErrorKind::Engine, "the password could not be hashed")
            .with_source(error.to_string())
    })
}

/// Generates a token of 192 random bits. Returns it and its hash for the access file; the token itself
/// is stored nowhere.
///
/// # Errors
/// `Engine` if the system provides no random bytes.
pub fn new_token() -> Result<(String, String)> {
    let mut bytes = [0; TOKEN_BYTES];
    getrandom::fill(&mut bytes).map_err(|error| {
        Error::new(ErrorKind::Engine, "the system provides no random bytes")
            .with_source(error.to_string())
    })?;
    let token = format!("{TOKEN_PREFIX}{}", hex(&bytes));
    let hash = hash_token(&token);
    Ok((token, hash))
}

/// Hashes a token for the access file: BLAKE2s-256 in hexadecimal. Tokens are as random as keys, so a
/// fast hash without salt is enough.
#[must_use]
pub fn hash_token(token: &str) -> String {
    hex(&Blake2s256::digest(token.as_bytes()))
}

/// Whether a text has the form of a token's hash.
pub(crate) fn is_token_hash(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
}

/// Whether a text has the form of a password's hash.
pub(crate) fn is_password_hash(text: &str) -> bool {
    PasswordHash::new(text).is_ok()
}

/// Whether a password matches a hash.
pub(crate) fn verify_password(password: &str, hash: &str) -> bool {
    let Ok(hash) = PasswordHash::new(hash) else { return false };
    Argon2::default().verify_password(password.as_bytes(), &hash).is_ok()
}

/// Compares in constant time.
pub(crate) fn is_equal(a: &str, b: &str) -> bool {
    let differ = a.bytes().zip(b.bytes()).fold(0, |differ, (a, b)| black_box(differ | (a ^ b)));
    differ == 0 && a.len() == b.len()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a String cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
