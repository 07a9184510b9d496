//! The start of an encrypted file.

use crate::key::{EncryptionKey, KEY_BYTES, RawKey, SALT_BYTES, random};
use blake2::digest::{KeyInit, Mac};
use blake2::{Blake2bMac512, digest};
use bobak_core::{Error, ErrorKind, Result};
use std::io::Read;
use zeroize::Zeroizing;

const MAGIC: &[u8; 8] = b"BOBAKENC";
const VERSION: u8 = 1;
/// The key was given as 32 bytes.
const GIVEN: u8 = 0;
/// The key was derived from a password.
const DERIVED: u8 = 1;
/// The offset of the mark of what the file contains.
const CONTENT_AT: usize = 10;
/// The offset of the salt for a password.
const SALT_AT: usize = 12;
/// The bytes of a file's own salt.
const FILE_SALT_BYTES: usize = 24;
/// The bytes of the check of the key.
const CHECK_BYTES: usize = 8;
/// The bytes of the part of the nonce that all chunks of a file share.
pub(crate) const NONCE_BYTES: usize = 19;
/// The bytes that the keys depend on: all before the check.
const BOUND: usize = 8 + 1 + 1 + 2 + SALT_BYTES + FILE_SALT_BYTES;
/// The bytes of a header: the check and a CRC-32 follow.
pub(crate) const HEADER_BYTES: usize = BOUND + CHECK_BYTES + 4;

/// What a file contains: some content must not be stored unencrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// What the user may store unencrypted.
    Any = 0,
    /// The pages of a database that no disk may have unencrypted.
    Pages = 1,
}

/// What encrypts the chunks of one file.
pub(crate) struct StreamKey {
    pub key: Zeroizing<[u8; KEY_BYTES]>,
    pub nonce: [u8; NONCE_BYTES],
}

/// Whether a file that begins with these bytes is in the format of [`EncryptedWriter`](crate::EncryptedWriter).
///
/// ```
/// assert!(bobak_encryption::is_encrypted(b"BOBAKENC\x01"));
/// assert!(!bobak_encryption::is_encrypted(b"BOBAKMEM"));
/// ```
#[must_use]
pub fn is_encrypted(first: &[u8]) -> bool {
    first.starts_with(MAGIC)
}

/// The salt with which the key of a file was made of a password; `None` for a file without one.
///
/// # Errors
/// `Io`.
pub fn salt_of(file: impl Read) -> Result<Option<[u8; SALT_BYTES]>> {
    let mut first = Vec::new();
    let read = file.take(HEADER_BYTES as u64).read_to_end(&mut first);
    read.map_err(|error| Error::io("read it", error))?;
    let salt = first.get(SALT_AT..).and_then(|rest| rest.first_chunk::<SALT_BYTES>());
    let has_salt = is_encrypted(&first) && first.get(9) == Some(&DERIVED);
    Ok(salt.copied().filter(|_| has_salt))
}

/// What a file that begins with these bytes contains.
pub(crate) fn content(first: &[u8]) -> Content {
    let has_pages = is_encrypted(first) && first.get(CONTENT_AT) == Some(&(Content::Pages as u8));
    if has_pages { Content::Pages } else { Content::Any }
}

/// A header for a new file, and its key.
pub(crate) fn create(
    key: &EncryptionKey,
    content: Content,
) -> Result<([u8; HEADER_BYTES], StreamKey)> {
    let key = key.for_file(None)?;
    let raw = raw(&key)?;
    let file_salt: [u8; FILE_SALT_BYTES] = random()?;
    let kind = if raw.salt.is_some() { DERIVED } else { GIVEN };
    let start = [MAGIC, &[VERSION, kind, content as u8, 0][..]].concat();
    let salt = raw.salt.unwrap_or_default();
    let bound = [&start[..], &salt, &file_salt].concat();
    let (stream, check) = stream_key(raw, &bound)?;
    let mut header = [bound, check.to_vec()].concat();
    header.extend_from_slice(&crc32fast::hash(&header).to_le_bytes());
    let header = header.try_into().map_err(|_| corrupt("its header has another length"))?;
    Ok((header, stream))
}

/// The key of the file with this header.
///
/// # Errors
/// `Corrupt` for a damaged header; `Unsupported` for a newer version; `Denied` for a wrong key.
pub(crate) fn open(header: &[u8; HEADER_BYTES], key: &EncryptionKey) -> Result<StreamKey> {
    let (bound, rest) = header.split_at(BOUND);
    let (check, sum) = rest.split_at(CHECK_BYTES);
    let covered = header.get(..BOUND + CHECK_BYTES).unwrap_or_default();
    if !is_encrypted(bound) || crc32fast::hash(covered).to_le_bytes() != *sum {
        return Err(corrupt("its header is damaged"));
    }
    let (version, kind) = (bound.get(8).copied(), bound.get(9).copied());
    if version != Some(VERSION) || !matches!(kind, Some(GIVEN | DERIVED)) {
        let message = "it has a newer version of the encrypted format; this program knows 1";
        return Err(Error::new(ErrorKind::Unsupported, message));
    }
    if (kind == Some(DERIVED)) != key.is_from_password() {
        let message = if kind == Some(DERIVED) {
            "it is encrypted with a password, not with a key file"
        } else {
            "it is encrypted with a key file, not with a password"
        };
        return Err(Error::new(ErrorKind::Denied, message));
    }
    let salt = bound.get(SALT_AT..).and_then(|rest| rest.first_chunk::<SALT_BYTES>());
    let (stream, own) = stream_key(raw(&key.for_file(salt.copied())?)?, bound)?;
    if own != check {
        return Err(Error::new(ErrorKind::Denied, "the key is wrong"));
    }
    Ok(stream)
}

fn raw(key: &EncryptionKey) -> Result<&RawKey> {
    key.raw().ok_or_else(|| Error::new(ErrorKind::Engine, "the password has no key"))
}

/// The keys that BLAKE2b makes of the user's key and the header, and the check of the user's key.
fn stream_key(raw: &RawKey, bound: &[u8]) -> Result<(StreamKey, [u8; CHECK_BYTES])> {
    let failed = |_| Error::new(ErrorKind::Engine, "could not derive the key of a file");
    let mut mac = <Blake2bMac512 as KeyInit>::new_from_slice(&raw.key[..]).map_err(failed)?;
    mac.update(b"bobak encrypted stream 1");
    mac.update(bound);
    let made: digest::CtOutput<Blake2bMac512> = mac.finalize();
    let made = Zeroizing::new(<[u8; 64]>::from(made.into_bytes()));
    let mut stream = StreamKey { key: Zeroizing::new([0; KEY_BYTES]), nonce: [0; NONCE_BYTES] };
    let mut check = [0; CHECK_BYTES];
    let (key, rest) = made.split_at(KEY_BYTES);
    stream.key.copy_from_slice(key);
    stream.nonce.iter_mut().zip(rest).for_each(|(to, from)| *to = *from);
    check.iter_mut().zip(rest.iter().skip(NONCE_BYTES)).for_each(|(to, from)| *to = *from);
    Ok((stream, check))
}

pub(crate) fn corrupt(message: &str) -> Error {
    Error::new(ErrorKind::Corrupt, message)
}
