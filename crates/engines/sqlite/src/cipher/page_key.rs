//! The key of a file's pages, and the nonces.

use super::ResultCode;
use super::{KEY_BYTES, SALT_BYTES};
use aegis::aegis256::Aegis256;
use blake2::Blake2bMac512;
use blake2::digest::{KeyInit, Mac};
use libsqlite3_sys as codes;
use zeroize::{Zeroize, Zeroizing};

/// The bytes of a nonce. They are random, and so many that none repeats.
const NONCE_BYTES: usize = 32;
/// The bytes of a tag.
const TAG_BYTES: usize = 16;
/// The bytes at the end of each page that SQLite leaves to the encryption: a nonce and a tag.
pub(crate) const TAIL_BYTES: usize = NONCE_BYTES + TAG_BYTES;
/// The bytes that tell a wrong key from a damaged file.
pub(super) const CHECK_BYTES: usize = 8;
/// What the derivation is for.
const PURPOSE: &[u8] = b"bobak aegis-256 pages 1";

/// The key of one file's pages, derived from the user's key and the file's salt.
pub(super) struct PageKey {
    key: Zeroizing<[u8; KEY_BYTES]>,
    pub check: [u8; CHECK_BYTES],
    pub salt: [u8; SALT_BYTES],
}

impl PageKey {
    /// Derives it by keyed BLAKE2b: the key first, then the check.
    pub(super) fn derive(
        key: &[u8; KEY_BYTES],
        salt: [u8; SALT_BYTES],
    ) -> Result<Self, ResultCode> {
        let mut mac = Blake2bMac512::new_from_slice(key).map_err(|_| codes::SQLITE_IOERR_AUTH)?;
        mac.update(PURPOSE);
        mac.update(&salt);
        let mut derived = mac.finalize().into_bytes();
        let mut page_key =
            Self { key: Zeroizing::new([0; KEY_BYTES]), check: [0; CHECK_BYTES], salt };
        let (key, check) = derived.split_at(KEY_BYTES);
        page_key.key.copy_from_slice(key);
        page_key.check.copy_from_slice(&check[..CHECK_BYTES]);
        derived.zeroize();
        Ok(page_key)
    }

    /// Encrypts all but the last [`TAIL_BYTES`] of `sealed`, which get the nonce and the tag.
    pub(super) fn seal(&self, associated: &[u8], nonce: [u8; NONCE_BYTES], sealed: &mut [u8]) {
        let (message, tail) = sealed.split_at_mut(sealed.len() - TAIL_BYTES);
        let tag =
            Aegis256::<TAG_BYTES>::new(&self.key, &nonce).encrypt_in_place(message, associated);
        tail[..NONCE_BYTES].copy_from_slice(&nonce);
        tail[NONCE_BYTES..].copy_from_slice(&tag);
    }

    /// Decrypts what [`seal`](Self::seal) made, whose last bytes become zeros. Returns `false`, and leaves no plain text,
    /// if it is not authentic.
    #[must_use]
    pub(super) fn open(&self, associated: &[u8], sealed: &mut [u8]) -> bool {
        let Some((message, tail)) = sealed.split_last_chunk_mut::<TAIL_BYTES>() else {
            return false;
        };
        let Some((nonce, tag)) = tail.split_first_chunk::<NONCE_BYTES>() else { return false };
        let Some(tag) = tag.first_chunk::<TAG_BYTES>() else { return false };
        let cipher = Aegis256::<TAG_BYTES>::new(&self.key, nonce);
        let authentic = cipher.decrypt_in_place(message, tag, associated).is_ok();
        tail.fill(0);
        authentic
    }
}

/// Random nonces of the operating system, a few at a time.
pub(super) struct Nonces {
    bytes: [u8; 8 * NONCE_BYTES],
    used: usize,
}

impl Nonces {
    pub(super) const fn new() -> Self {
        Self { bytes: [0; 8 * NONCE_BYTES], used: 8 * NONCE_BYTES }
    }

    /// A nonce that was never returned before.
    pub(super) fn take(&mut self) -> Result<[u8; NONCE_BYTES], ResultCode> {
        if self.used >= self.bytes.len() {
            getrandom::fill(&mut self.bytes).map_err(|_| codes::SQLITE_IOERR_WRITE)?;
            self.used = 0;
        }
        let mut nonce = [0; NONCE_BYTES];
        nonce.copy_from_slice(&self.bytes[self.used..self.used + NONCE_BYTES]);
        self.used += NONCE_BYTES;
        Ok(nonce)
    }
}
