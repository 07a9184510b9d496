//! Passwords and tokens: kept as hashes only.

use argon2::Argon2;
use argon2::password_hash::{PasswordHasher, PasswordVerifier, phc::PasswordHash};
use blake2::{Blake2s256, Digest};
use bobak_core::{Error, ErrorKind, Result};
use std::fmt::Write;
use std::hint::black_box;

/// What tokens begin with, so that a search for lost secrets finds them.
const PREFIX: &str = "bobak_";
/// Random bytes of a token.
const BYTES: usize = 24;

/// Makes the hash of a password, in the PHC form: argon2id, salted.
///
/// # Errors
/// `Config` for an empty password; `Engine` where the system has no random bytes.
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

/// Makes a token of 192 random bits; gives it, and its hash for the file. The token itself is kept
/// nowhere.
///
/// # Errors
/// `Engine` where the system has no random bytes.
pub fn new_token() -> Result<(String, String)> {
    let mut bytes = [0; BYTES];
    getrandom::fill(&mut bytes).map_err(|error| {
        Error::new(ErrorKind::Engine, "the system has no random bytes")
            .with_source(error.to_string())
    })?;
    let token = format!("{PREFIX}{}", hex(&bytes));
    let hash = hash_token(&token);
    Ok((token, hash))
}

/// The hash of a token, as the file has it: BLAKE2s-256 in hexadecimal. A token is as random as a
/// key, so that a quick hash without salt hides it.
#[must_use]
pub fn hash_token(token: &str) -> String {
    hex(&Blake2s256::digest(token.as_bytes()))
}

/// Whether this can be a token's hash.
pub(crate) fn is_token_hash(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
}

/// Whether this can be a password's hash.
pub(crate) fn is_password_hash(text: &str) -> bool {
    PasswordHash::new(text).is_ok()
}

/// Whether the password has the hash.
pub(crate) fn is_password(password: &str, hash: &str) -> bool {
    let Ok(hash) = PasswordHash::new(hash) else { return false };
    Argon2::default().verify_password(password.as_bytes(), &hash).is_ok()
}

/// Compares without ending early.
pub(crate) fn same(a: &str, b: &str) -> bool {
    let differ = a.bytes().zip(b.bytes()).fold(0, |differ, (a, b)| black_box(differ | (a ^ b)));
    differ == 0 && a.len() == b.len()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a text can't fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
