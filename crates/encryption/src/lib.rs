//! Keys of encrypted files, and the format of encrypted snapshots and backups.
//!
//! * [`EncryptionKey`] is 32 bytes, or a password that becomes 32 bytes by Argon2id.
//! * [`EncryptedWriter`] encrypts a stream of bytes, [`EncryptedReader`] decrypts and authenticates it.
//! * [`change_file_key`] rewrites a file with another key.
//!
//! The cipher is XChaCha20-Poly1305 in the STREAM construction (Hoang, Reyhanitabar, Rogaway and Vizár, "Online
//! Authenticated-Encryption and its Nonce-Reuse Misuse-Resistance", 2015): each chunk has the next number in its nonce, and
//! the last chunk a mark. `docs/encryption.md` describes the format byte by byte.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod change_key;
mod header;
mod key;
mod reader;
mod writer;

pub use change_key::change_file_key;
pub use header::{is_encrypted, salt_of};
pub use key::{EncryptionKey, KEY_BYTES, RawKey, SALT_BYTES};
pub use reader::{EncryptedReader, decrypted};
pub use writer::EncryptedWriter;
