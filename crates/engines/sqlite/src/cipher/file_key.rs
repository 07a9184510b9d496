//! The key of a file, which its journal and its log share.

use super::ResultCode;
use super::file_start::FileStart;
use super::page_key::{CHECK_BYTES, Nonces, PageKey, TAIL_BYTES};
use super::recent_pages::RecentPages;
use super::{RawKey, SALT_BYTES};
use libsqlite3_sys as codes;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The first bytes of an unencrypted database.
const PLAIN: &[u8; 16] = b"SQLite format 3\0";
/// The bytes at the start of the first page that are not encrypted.
pub(super) const HEAD_BYTES: usize = FileStart::BYTES;
/// SQLite's own part of them, with the page size: it is the same in an unencrypted file.
const SIZES: std::ops::Range<usize> = 16..24;
/// The rest of SQLite's header, which is encrypted.
const HEADER: std::ops::Range<usize> = 24..72;
/// The part of SQLite's header that is zeros in every file. It makes room for the salt.
const UNUSED: std::ops::Range<usize> = 72..92;
/// Where SQLite's header says how many bytes at the end of each page it does not use.
const RESERVED: usize = 20;
/// The offset of the page that SQLite never uses, because systems lock its bytes.
const LOCK_BYTES_AT: u64 = 1 << 30;
/// The smallest page, in bytes.
const SMALLEST: usize = 1_024;

/// The key of an open file.
pub(crate) struct FileKey(Mutex<KeyState>);

/// The state of a file's key.
pub(crate) struct KeyState {
    given: RawKey,
    /// `None` if the file was not encrypted with the given key.
    page_key: Option<PageKey>,
    /// The bytes of a page; 0 if there are none yet.
    pub page_size: usize,
    nonces: Nonces,
    recent: RecentPages,
}

impl FileKey {
    /// The key for a file that begins with `head`, or for an empty one.
    ///
    /// # Errors
    /// If the system has no random numbers.
    pub(crate) fn new(given: RawKey, head: Option<&[u8]>) -> Result<Arc<Self>, ResultCode> {
        let mut state = KeyState {
            given,
            page_key: None,
            page_size: 0,
            nonces: Nonces::new(),
            recent: RecentPages::default(),
        };
        match head {
            Some(head) => {
                state.adopt(head)?;
            }
            None => state.begin()?,
        }
        Ok(Arc::new(Self(Mutex::new(state))))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, KeyState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the file was encrypted with the given key, or is new.
    pub(crate) fn is_right(&self) -> bool {
        self.lock().page_key.is_some()
    }
}

impl KeyState {
    /// Begins a new file.
    pub(super) fn begin(&mut self) -> Result<(), ResultCode> {
        let salt = match self.given.salt {
            Some(salt) => salt,
            None => {
                let mut salt = [0; SALT_BYTES];
                getrandom::fill(&mut salt).map_err(|_| codes::SQLITE_IOERR_WRITE)?;
                salt
            }
        };
        self.recent = RecentPages::default();
        self.page_key = Some(PageKey::derive(&self.given.key, salt)?);
        self.page_size = 0;
        Ok(())
    }

    /// Takes over the salt and the page size of an existing file. Returns `false` if it was not encrypted with the given
    /// key.
    pub(super) fn adopt(&mut self, head: &[u8]) -> Result<bool, ResultCode> {
        self.recent = RecentPages::default();
        self.page_key = None;
        self.page_size = 0;
        let Some((start, size)) = FileStart::parse(head).zip(page_size(head)) else {
            return Ok(false);
        };
        let page_key = PageKey::derive(&self.given.key, start.salt)?;
        if page_key.check == start.check {
            self.page_key = Some(page_key);
            self.page_size = size;
        }
        Ok(self.page_key.is_some())
    }

    /// Whether a file that begins with `head` still has this key and page size.
    pub(super) fn is_of(&self, head: &[u8]) -> bool {
        let start = FileStart::parse(head);
        let known = self.page_key.as_ref().map(|key| (key.salt, key.check));
        start.map(|start| (start.salt, start.check)) == known
            && known.is_some()
            && page_size(head) == Some(self.page_size)
    }

    /// Whether the file was encrypted with the given key, or is new.
    pub(super) const fn is_right(&self) -> bool {
        self.page_key.is_some()
    }

    /// Encrypts a message of any kind with a new nonce: all but the last bytes of `sealed`.
    pub(super) fn seal(&mut self, associated: &[u8], sealed: &mut [u8]) -> Result<(), ResultCode> {
        let nonce = self.nonces.take()?;
        let key = self.page_key.as_ref().ok_or(codes::SQLITE_IOERR_WRITE)?;
        key.seal(associated, nonce, sealed);
        Ok(())
    }

    /// Decrypts a message; `false` if it is not authentic.
    #[must_use]
    pub(super) fn open(&self, associated: &[u8], sealed: &mut [u8]) -> bool {
        self.page_key.as_ref().is_some_and(|key| key.open(associated, sealed))
    }

    /// Encrypts a page into `into`, as the database and the journal store it.
    pub(super) fn seal_page(
        &mut self,
        number: u64,
        page: &[u8],
        into: &mut Vec<u8>,
    ) -> Result<(), ResultCode> {
        if page.len() != self.page_size {
            return Err(codes::SQLITE_IOERR_WRITE);
        }
        into.clear();
        into.extend_from_slice(page);
        let head = if number == 1 { self.write_head(into)? } else { 0 };
        let mut associated = AssociatedData::page(number);
        let (head, sealed) = into.split_at_mut(head);
        associated.add(head);
        self.seal(associated.as_bytes(), sealed)
    }

    /// Encrypts a page for the journal, which has its content before a change.
    pub(super) fn seal_old_page(
        &mut self,
        number: u64,
        page: &[u8],
        into: &mut Vec<u8>,
    ) -> Result<(), ResultCode> {
        let Some(sealed) = self.recent.find(number, page) else {
            return self.seal_page(number, page, into);
        };
        into.clear();
        into.extend_from_slice(sealed);
        Ok(())
    }

    /// Keeps a page that was written, in exchange for another buffer.
    pub(super) fn keep(&mut self, number: u64, page: &[u8], sealed: &mut Vec<u8>) {
        self.recent.keep(number, page, sealed);
    }

    /// Decrypts a page in place; `false` if it is not authentic.
    #[must_use]
    pub(super) fn open_page(&self, number: u64, page: &mut [u8]) -> bool {
        let head = if number == 1 { HEAD_BYTES } else { 0 };
        let mut associated = AssociatedData::page(number);
        let (head, sealed) = page.split_at_mut(head);
        associated.add(head);
        if !self.open(associated.as_bytes(), sealed) {
            return false;
        }
        if number == 1 {
            page.copy_within(HEAD_BYTES..UNUSED.end, HEADER.start);
            page[UNUSED].fill(0);
            page[..PLAIN.len()].copy_from_slice(PLAIN);
        }
        true
    }

    /// Takes over the page size of an unencrypted database, whose first bytes are `first`, for a new file. Returns `false`
    /// if its pages have no room for the encryption.
    pub(crate) fn begin_file(&mut self, first: &[u8]) -> bool {
        let fits =
            first.starts_with(PLAIN) && first.get(RESERVED).map(|&n| n.into()) == Some(TAIL_BYTES);
        self.page_size = page_size(first).filter(|_| fits).unwrap_or(0);
        self.page_size > 0
    }

    /// Decrypts a page that was read from the whole file; `false` if it is not authentic.
    #[must_use]
    pub(crate) fn open_stored_page(&self, number: u64, page: &mut [u8]) -> bool {
        if self.is_unused(number) {
            page.fill(0);
            return true;
        }
        self.open_page(number, page)
    }

    /// Encrypts a page of a file that is written as a whole.
    pub(crate) fn seal_stored_page(
        &mut self,
        number: u64,
        page: &[u8],
        into: &mut Vec<u8>,
    ) -> Result<(), ResultCode> {
        if self.is_unused(number) {
            into.clear();
            into.resize(page.len(), 0);
            return Ok(());
        }
        self.seal_page(number, page, into)
    }

    /// Whether SQLite never reads or writes the page.
    pub(super) const fn is_unused(&self, number: u64) -> bool {
        (number - 1) * self.page_size as u64 == LOCK_BYTES_AT
    }

    /// Writes the unencrypted bytes of the first page, and moves SQLite's header behind them.
    fn write_head(&self, page: &mut [u8]) -> Result<usize, ResultCode> {
        let key = self.page_key.as_ref().ok_or(codes::SQLITE_IOERR_WRITE)?;
        let fits = page.starts_with(PLAIN)
            && usize::from(page[RESERVED]) == TAIL_BYTES
            && page[UNUSED].iter().all(|byte| *byte == 0)
            && page_size(page) == Some(self.page_size);
        if !fits {
            return Err(codes::SQLITE_IOERR_WRITE);
        }
        page.copy_within(HEADER, HEAD_BYTES);
        FileStart { check: key.check, salt: key.salt }.write(page);
        Ok(HEAD_BYTES)
    }

    /// What SQLite needs to know of the first page before it reads it.
    pub(super) fn bare_header(head: &[u8], into: &mut [u8]) {
        into.fill(0);
        into[..PLAIN.len()].copy_from_slice(PLAIN);
        into[SIZES].copy_from_slice(&head[SIZES]);
    }
}

/// The page size in the header of a database, encrypted or not.
fn page_size(head: &[u8]) -> Option<usize> {
    let size = u16::from_be_bytes(*head.get(SIZES)?.first_chunk()?);
    let size = if size == 1 { 65_536 } else { usize::from(size) };
    (size.is_power_of_two() && size >= SMALLEST).then_some(size)
}

/// What is authenticated with a message and not part of it: the place it belongs to.
pub(super) struct AssociatedData {
    bytes: [u8; 9 + HEAD_BYTES],
    length: usize,
}

impl AssociatedData {
    fn new(kind: u8, place: u64) -> Self {
        let mut new = Self { bytes: [0; 9 + HEAD_BYTES], length: 0 };
        new.add(&[kind]);
        new.add(&place.to_le_bytes());
        new
    }

    /// For a page with a number.
    fn page(number: u64) -> Self {
        Self::new(b'P', number)
    }

    /// For a frame of the log at an offset.
    pub(super) fn frame(offset: u64) -> Self {
        Self::new(b'F', offset)
    }

    /// Adds bytes, as many as there is room for.
    pub(super) fn add(&mut self, bytes: &[u8]) {
        let room = &mut self.bytes[self.length..];
        let length = bytes.len().min(room.len());
        room[..length].copy_from_slice(&bytes[..length]);
        self.length += length;
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

const _: () = assert!(UNUSED.end - UNUSED.start == HEAD_BYTES - HEADER.start);
const _: () = assert!(CHECK_BYTES == 8);
