//! Numbers at places of pages, little-endian. A damaged file may name places that are not there.

use bobak_core::{Error, ErrorKind, Result};

/// The error for pages that contradict each other.
#[cold]
pub(super) fn damaged() -> Error {
    Error::new(ErrorKind::Corrupt, "its pages contradict each other")
}

/// The error for what Access's format has no room for.
#[cold]
pub(super) fn too_large(what: &str) -> Error {
    Error::new(ErrorKind::OutOfRange, what.to_owned())
}

/// So many bytes at a place.
pub(super) fn part(bytes: &[u8], at: usize, length: usize) -> Result<&[u8]> {
    at.checked_add(length).and_then(|end| bytes.get(at..end)).ok_or_else(damaged)
}

/// The byte at a place.
pub(super) fn byte(bytes: &[u8], at: usize) -> Result<u8> {
    bytes.get(at).copied().ok_or_else(damaged)
}

/// The two bytes at a place as a number.
pub(super) fn short(bytes: &[u8], at: usize) -> Result<u16> {
    let found = part(bytes, at, 2)?;
    Ok(u16::from_le_bytes(found.try_into().map_err(|_| damaged())?))
}

/// The four bytes at a place as a number.
pub(super) fn long(bytes: &[u8], at: usize) -> Result<u32> {
    let found = part(bytes, at, 4)?;
    Ok(u32::from_le_bytes(found.try_into().map_err(|_| damaged())?))
}

/// Puts bytes at a place.
pub(super) fn put(bytes: &mut [u8], at: usize, new: &[u8]) -> Result<()> {
    let end = at.checked_add(new.len());
    let place = end.and_then(|end| bytes.get_mut(at..end)).ok_or_else(damaged)?;
    place.copy_from_slice(new);
    Ok(())
}

/// A length or place as the two bytes that a page has for it.
pub(super) fn as_short(number: usize) -> Result<u16> {
    u16::try_from(number).map_err(|_| too_large("more than a page of Access has room for"))
}

/// A count as the four bytes that a page has for it.
pub(super) fn as_long(number: usize) -> Result<u32> {
    u32::try_from(number).map_err(|_| too_large("more than a file of Access has room for"))
}

/// The place of a row or of a usage map: its page, and its number there. Four bytes in pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct RowPlace {
    pub page: u32,
    pub row: u8,
}

impl RowPlace {
    /// The place that four bytes of a page name: the row first.
    pub fn read(bytes: &[u8], at: usize) -> Result<Self> {
        let number = long(bytes, at)?;
        Ok(Self { page: number >> 8, row: byte(bytes, at)? })
    }

    /// The four bytes: the row first.
    pub fn bytes(self) -> [u8; 4] {
        let [a, b, c, _] = self.page.to_le_bytes();
        [self.row, a, b, c]
    }

    /// The four bytes in an index: the page first, its highest byte first.
    pub fn index_bytes(self) -> [u8; 4] {
        let [_, a, b, c] = self.page.to_be_bytes();
        [a, b, c, self.row]
    }
}
