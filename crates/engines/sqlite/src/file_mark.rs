//! How a file shows that it is encrypted, also to programs that were built without encryption.

/// The first bytes of a file that is encrypted with AEGIS-256.
pub(crate) const AEGIS_MARK: [u8; 8] = *b"bobakAE1";
