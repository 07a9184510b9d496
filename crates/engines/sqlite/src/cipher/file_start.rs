//! The unencrypted bytes at the start of a file.

use super::SALT_BYTES;
use super::page_key::CHECK_BYTES;
use crate::file_mark::AEGIS_MARK;
use std::ops::Range;

/// Where the check is.
const CHECK: Range<usize> = 8..16;
/// Where the salt is, after the page size and other numbers of SQLite.
const SALT: Range<usize> = 24..40;

/// The first bytes of a file that is encrypted with AEGIS-256. They never change, so that an interrupted write of the first
/// page leaves them as they are.
pub(crate) struct FileStart {
    /// Tells a wrong key from a damaged file.
    pub check: [u8; CHECK_BYTES],
    pub salt: [u8; SALT_BYTES],
}

impl FileStart {
    /// The number of bytes that are not encrypted; the last four are zeros.
    pub(crate) const BYTES: usize = 44;

    /// Reads the first bytes of a file; `None` if it is not encrypted with AEGIS-256.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        if !bytes.starts_with(&AEGIS_MARK) {
            return None;
        }
        let check = bytes.get(CHECK)?.try_into().ok()?;
        let salt = bytes.get(SALT)?.try_into().ok()?;
        Some(Self { check, salt })
    }

    /// Writes it over the start of a page, except for the page size and the other numbers of SQLite.
    pub(super) fn write(&self, page: &mut [u8]) {
        page[..CHECK.start].copy_from_slice(&AEGIS_MARK);
        page[CHECK].copy_from_slice(&self.check);
        page[SALT].copy_from_slice(&self.salt);
        page[SALT.end..Self::BYTES].fill(0);
    }
}
