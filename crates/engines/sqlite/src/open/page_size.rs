//! The page size of an encrypted file. SQLCipher has to be told before it reads the first page, where
//! SQLite would find it, and says of a wrong one what it says of a wrong key.

use crate::open::file_id::beside;
use crate::settings::Settings;
use bobak_core::{ErrorKind, Result};
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

/// That of a new file of which nothing else is said.
const USUAL: u32 = 4_096;
/// Those that encrypted files may have, the likeliest first. In 512 bytes there is no room for what
/// SQLCipher adds to a page.
const SIZES: [u32; 7] = [USUAL, 8_192, 16_384, 32_768, 65_536, 2_048, 1_024];
/// The smallest of them.
pub(crate) const SMALLEST: u32 = 1_024;

/// What a rollback journal begins with that is to be played back; its page size stands at byte 24.
const JOURNAL: [u8; 8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];
/// What a log begins with, but for the last bit; its page size stands at byte 8.
const LOG: [u8; 4] = [0x37, 0x7f, 0x06, 0x82];

/// Does `work` with the page size that the file has; where it is new, or not encrypted, with that of
/// the settings.
///
/// # Errors
/// Those of `work`: `Denied` where no page size makes the file readable.
pub(crate) fn with_page_size<R>(
    settings: Settings,
    mut work: impl FnMut(Settings) -> Result<R>,
) -> Result<R> {
    if settings.key.is_none() {
        return work(settings);
    }
    let mut with = |size| work(Settings { page_size: Some(size), ..settings.clone() });
    let wanted = settings.page_size.unwrap_or(USUAL);
    let Some(path) = settings.path.as_deref() else { return with(wanted) };
    // No other is tried then: SQLCipher would read journals with pages of another size beyond the end
    // of its memory.
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

/// The page size that a log or a journal beside the file names; neither is encrypted in its head.
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

/// The first bytes of a file that SQLite keeps no locks on.
fn head(path: &Path) -> Option<[u8; 28]> {
    let mut head = [0; 28];
    File::open(path).and_then(|mut file| file.read_exact(&mut head)).ok()?;
    Some(head)
}
