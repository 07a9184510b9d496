//! Detects the page size of SQLCipher's files. SQLCipher must know it before it reads the first
//! page, and reports a wrong size like a wrong key.

use crate::open::file_id::beside;
use crate::settings::{Cipher, Settings};
use bobak_core::{ErrorKind, Result};
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

/// The default page size of a new file.
const USUAL: u32 = 4_096;
/// The page sizes of encrypted files, the most likely first. SQLCipher's data does not fit in 512
/// bytes.
const SIZES: [u32; 7] = [USUAL, 8_192, 16_384, 32_768, 65_536, 2_048, 1_024];

/// The first bytes of a rollback journal to be played back; its page size is at offset 24.
const JOURNAL: [u8; 8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];
/// The first bytes of a write-ahead log, except for the last bit; its page size is at offset 8.
const LOG: [u8; 4] = [0x37, 0x7f, 0x06, 0x82];

/// Runs `work` with the file's page size; for a new or unencrypted file, with that of the
/// settings.
/// | # Errors
/// Those of `work`: `Denied` if no page size makes the file readable.
pub(crate) fn with_page_size<R>(
    settings: Settings,
    mut work: impl FnMut(Settings) -> Result<R>,
) -> Result<R> {
    if settings.key.is_none() || settings.cipher != Some(Cipher::Sqlcipher) {
        return work(settings);
    }
    let mut with = |size| work(Settings { page_size: Some(size), ..settings.clone() });
    let wanted = settings.page_size.unwrap_or(USUAL);
    let Some(path) = settings.path.as_deref() else { return with(wanted) };
    // No other size is tried: SQLCipher would read out of bounds in journals with another page
    // size.
    if let Some(size) = size_beside(path) {
        return with(size);
    }
    let first = with(wanted);
    let is_denied =
        |result: &Result<R>| matches!(result, Err(error) if error.kind() == ErrorKind::Denied);
    if !is_denied(&first) || fs::metadata(path).map_or(true, |file| file.len() == 0) {
        return first;
    }
    let others = SIZES.into_iter().filter(|size| *size != wanted);
    others.map(with).find(|result| !is_denied(result)).unwrap_or(first)
}

/// The page size in the header of the file's log or journal; neither header is encrypted.
fn size_beside(path: &Path) -> Option<u32> {
    let number = |head: &[u8], place: usize| {
        let bytes = head.get(place..place + 4)?;
        Some(u32::from_be_bytes(bytes.try_into().ok()?))
    };
    let journal = head(&beside(path, "-journal")).filter(|head| head.starts_with(&JOURNAL));
    let size = journal.and_then(|head| number(&head, 24)).or_else(|| {
        let log = head(&beside(path, "-wal"))?;
        let begins =
            log.get(..3) == LOG.get(..3) && log.get(3).map(|last| last & 0xfe) == Some(LOG[3]);
        begins.then(|| number(&log, 8)).flatten()
    });
    size.filter(|size| SIZES.contains(size))
}

/// The first bytes of a file that SQLite does not lock.
fn head(path: &Path) -> Option<[u8; 28]> {
    let mut head = [0; 28];
    File::open(path).and_then(|mut file| file.read_exact(&mut head)).ok()?;
    Some(head)
}
