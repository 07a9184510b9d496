//! The keys of encrypted fields.

use blake2::Blake2bMac512;
use blake2::digest::{KeyInit, Mac};
use bobak_core::{Error, ErrorKind, Result};
use std::fmt;
use std::path::Path;
use zeroize::Zeroizing;

/// The bytes of a key.
const KEY_BYTES: usize = 32;

/// The keys of encrypted fields, each with a number that is stored with every value. New values are encrypted with the
/// current key; values of the others can still be read.
///
/// To change the key, add the new one in front and run [`Db::reencrypt`](crate::Db::reencrypt). Keys are cleared from memory
/// when the last database with them is dropped, and `Debug` does not show them.
#[derive(Clone)]
pub struct FieldKeys {
    /// The current one first.
    keys: Vec<FieldKey>,
}

/// A key, and what is derived from it.
#[derive(Clone)]
pub(super) struct FieldKey {
    pub id: u32,
    /// Stored with each value, to tell a wrong key from a damaged value.
    pub check: [u8; 4],
    /// For XChaCha20-Poly1305.
    pub random: Zeroizing<[u8; 32]>,
    /// For AES-256-SIV.
    pub searchable: Zeroizing<[u8; 64]>,
}

impl FieldKeys {
    /// One key, the current one, with any number. 32 random bytes: `head -c 32 /dev/urandom`.
    #[must_use]
    pub fn new(id: u32, key: [u8; KEY_BYTES]) -> Self {
        Self { keys: vec![FieldKey::new(id, &Zeroizing::new(key))] }
    }

    /// Adds a former key, with which values can be read and found.
    ///
    /// # Errors
    /// `Config` if a key with this number is there.
    pub fn with_former(mut self, id: u32, key: [u8; KEY_BYTES]) -> Result<Self> {
        let key = Zeroizing::new(key);
        if self.keys.iter().any(|other| other.id == id) {
            return Err(config(format!("two keys of encrypted fields have the number {id}")));
        }
        self.keys.push(FieldKey::new(id, &key));
        Ok(self)
    }

    /// Reads keys from a text: a line for each, the current one first, of a number and 64 hexadecimal digits. Empty lines and
    /// lines that begin with `#` are skipped.
    ///
    /// ```
    /// use bobak::field_encryption::FieldKeys;
    /// let old = format!("1 {}", "0f".repeat(32));
    /// let keys = FieldKeys::parse(&format!("2 {}\n{old}\n", "a7".repeat(32)))?;
    /// assert_eq!(keys.ids().collect::<Vec<_>>(), [2, 1]);
    /// # Ok::<(), bobak::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Config` for another text, with the line's number; the error does not show the line.
    pub fn parse(text: &str) -> Result<Self> {
        let mut all: Option<Self> = None;
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (id, key) = read_line(line).ok_or_else(|| {
                config(format!(
                    "line {number} of the keys of encrypted fields is not a number and 64 hexadecimal digits"
                ))
            })?;
            all = Some(match all {
                None => Self::new(id, *key),
                Some(keys) => keys.with_former(id, *key)?,
            });
        }
        all.ok_or_else(|| config("there is no key of encrypted fields".to_owned()))
    }

    /// As [`parse`](Self::parse), from a file.
    ///
    /// # Errors
    /// `Io` if the file cannot be read; as [`parse`](Self::parse).
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let text = std::fs::read_to_string(path).map(Zeroizing::new).map_err(|error| {
            let message = format!("cannot read the keys of encrypted fields in {}", path.display());
            Error::new(ErrorKind::Io, message).with_source(error)
        })?;
        Self::parse(&text)
    }

    /// The numbers of the keys, the current one first.
    pub fn ids(&self) -> impl Iterator<Item = u32> {
        self.keys.iter().map(|key| key.id)
    }

    pub(super) fn all(&self) -> &[FieldKey] {
        &self.keys
    }
}

impl fmt::Debug for FieldKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FieldKeys").field(&self.ids().collect::<Vec<_>>()).finish()
    }
}

impl FieldKey {
    fn new(id: u32, key: &[u8; KEY_BYTES]) -> Self {
        let mut made = Self {
            id,
            check: [0; 4],
            random: Zeroizing::default(),
            searchable: Zeroizing::new([0; 64]),
        };
        made.check.copy_from_slice(&derive(key, b"bobak field check")[..4]);
        made.random.copy_from_slice(&derive(key, b"bobak field xchacha20poly1305")[..32]);
        made.searchable.copy_from_slice(&derive(key, b"bobak field aes256siv")[..]);
        made
    }
}

/// Keyed BLAKE2b of a purpose.
fn derive(key: &[u8; KEY_BYTES], purpose: &[u8]) -> Zeroizing<[u8; 64]> {
    let mac = Blake2bMac512::new_from_slice(key).expect("BLAKE2b takes keys of up to 64 bytes");
    Zeroizing::new(mac.chain_update(purpose).finalize().into_bytes().into())
}

fn read_line(line: &str) -> Option<(u32, Zeroizing<[u8; KEY_BYTES]>)> {
    let (id, digits) = line.split_once(char::is_whitespace)?;
    let digits = digits.trim();
    if digits.len() != 2 * KEY_BYTES || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    let mut key = Zeroizing::new([0; KEY_BYTES]);
    for (place, byte) in key.iter_mut().enumerate() {
        *byte = u8::from_str_radix(digits.get(2 * place..2 * place + 2)?, 16).ok()?;
    }
    Some((id.parse().ok()?, key))
}

fn config(message: String) -> Error {
    Error::new(ErrorKind::Config, message)
}
