//! The file of an encrypted database.

use super::RawKey;
use super::ResultCode;
use super::file_key::{FileKey, HEAD_BYTES, KeyState};
use super::{StoredFile, copy_part};
use libsqlite3_sys as codes;
use std::sync::Arc;

/// The part of the first page that SQLite reads when it opens a file.
const HEADER_BYTES: usize = 100;

/// The file of a database.
pub(crate) struct MainFile {
    key: Arc<FileKey>,
    page: Vec<u8>,
    /// At least so many pages are in the file, unless a lock was taken since.
    pages: u64,
}

impl MainFile {
    /// Opens a file of any content: one that was not encrypted with the key cannot be read, but a transaction that
    /// created it can be undone.
    ///
    /// # Errors
    /// Those of reading it.
    pub(crate) fn open(given: RawKey, file: &mut dyn StoredFile) -> Result<Self, ResultCode> {
        let mut head = [0; HEAD_BYTES];
        let head = match file.size()? {
            0 => None,
            _ => Some(file.read(&mut head, 0).map(|_| &head[..])?),
        };
        Ok(Self { key: FileKey::new(given, head)?, page: Vec::new(), pages: 0 })
    }

    /// The key, for the journal and the log.
    pub(crate) const fn key(&self) -> &Arc<FileKey> {
        &self.key
    }

    /// Forgets what others may change, before or after which SQLite takes a lock.
    pub(crate) const fn locked(&mut self) {
        self.pages = 0;
    }

    /// Reads a page, or a part of one, into a buffer of zeros. Returns `false` past the end of the file.
    ///
    /// # Errors
    /// `SQLITE_NOTADB` if the file was not encrypted with the key; `SQLITE_IOERR_DATA` for a damaged page.
    pub(crate) fn read(
        &mut self,
        file: &mut dyn StoredFile,
        into: &mut [u8],
        at: u64,
    ) -> Result<bool, ResultCode> {
        let key = Arc::clone(&self.key);
        let mut state = key.lock();
        if state.page_size == 0 && !self.look(&mut state, file)? {
            return Ok(false);
        }
        if !state.is_right() {
            // If there is a journal, SQLite may have to undo the creation of the file first.
            return if is_opening(into, at) { Ok(true) } else { Err(codes::SQLITE_NOTADB) };
        }
        let size = state.page_size as u64;
        let number = at / size + 1;
        if number > 1 && into.len() == state.page_size && at.is_multiple_of(size) {
            return read_page(&state, file, into, number);
        }
        self.read_part(&mut state, file, into, at)
    }

    /// Reads a part of a page, or the first page.
    fn read_part(
        &mut self,
        state: &mut KeyState,
        file: &mut dyn StoredFile,
        into: &mut [u8],
        at: u64,
    ) -> Result<bool, ResultCode> {
        let size = state.page_size as u64;
        let number = at / size + 1;
        if !self.load(state, file, number)? {
            return Ok(false);
        }
        let mut head = [0; HEAD_BYTES];
        copy_part(&self.page, 0, &mut head)?;
        if state.open_page(number, &mut self.page) {
            let start = usize::try_from(at % size).unwrap_or(usize::MAX);
            return copy_part(&self.page, start, into).map(|()| true);
        }
        if !is_opening(into, at) {
            return Err(codes::SQLITE_IOERR_DATA);
        }
        // The page may be in the log or the journal.
        KeyState::bare_header(&head, into);
        Ok(true)
    }

    /// Finds out the key and the page size of a file that may be new. Returns `false` if it is empty.
    fn look(
        &mut self,
        state: &mut KeyState,
        file: &mut dyn StoredFile,
    ) -> Result<bool, ResultCode> {
        if file.size()? == 0 {
            return Ok(false);
        }
        let mut head = [0; HEAD_BYTES];
        file.read(&mut head, 0)?;
        state.adopt(&head).map(|_| true)
    }

    /// Reads a page as it is stored. Another process may have created the file with another salt.
    fn load(
        &mut self,
        state: &mut KeyState,
        file: &mut dyn StoredFile,
        number: u64,
    ) -> Result<bool, ResultCode> {
        self.page.resize(state.page_size, 0);
        let whole = file.read(&mut self.page, (number - 1) * state.page_size as u64)?;
        if number > 1 || !whole || state.is_of(&self.page) {
            return Ok(whole);
        }
        if !state.adopt(&self.page)? {
            return Err(codes::SQLITE_NOTADB);
        }
        self.page.resize(state.page_size, 0);
        file.read(&mut self.page, 0)
    }

    /// Writes a page.
    ///
    /// # Errors
    /// `SQLITE_IOERR_WRITE` for anything that is not a page of the file's size; those of writing.
    pub(crate) fn write(
        &mut self,
        file: &mut dyn StoredFile,
        bytes: &[u8],
        at: u64,
    ) -> Result<(), ResultCode> {
        let key = Arc::clone(&self.key);
        let mut state = key.lock();
        begin_pages(&mut state, file, bytes.len())?;
        let size = state.page_size as u64;
        if !at.is_multiple_of(size) {
            return Err(codes::SQLITE_IOERR_WRITE);
        }
        let number = at / size + 1;
        self.fill(&mut state, file, number)?;
        state.seal_page(number, bytes, &mut self.page)?;
        file.write(&self.page, at)?;
        state.keep(number, bytes, &mut self.page);
        self.pages = self.pages.max(number);
        Ok(())
    }

    /// Writes empty pages between the end of the file and a page, if that is beyond: SQLite leaves out pages that it does
    /// not need, and would read zeros, which are not authentic.
    fn fill(
        &mut self,
        state: &mut KeyState,
        file: &mut dyn StoredFile,
        number: u64,
    ) -> Result<(), ResultCode> {
        if number <= self.pages + 1 {
            return Ok(());
        }
        let size = state.page_size as u64;
        self.pages = file.size()? / size;
        let empty = vec![0; state.page_size];
        for missing in self.pages + 1..number {
            // The first page cannot be empty: SQLite writes it before the transaction ends.
            if missing > 1 && !state.is_unused(missing) {
                state.seal_page(missing, &empty, &mut self.page)?;
                file.write(&self.page, (missing - 1) * size)?;
            }
        }
        Ok(())
    }
}

/// Sets the page size, and after a wrong key the key, of a file that has no pages yet.
fn begin_pages(
    state: &mut KeyState,
    file: &mut dyn StoredFile,
    size: usize,
) -> Result<(), ResultCode> {
    if state.is_right() && state.page_size == size {
        return Ok(());
    }
    if file.size()? > 0 {
        return Err(codes::SQLITE_IOERR_WRITE);
    }
    if !state.is_right() {
        state.begin()?;
    }
    state.page_size = size;
    Ok(())
}

/// Whether SQLite reads the first page's header to open the file.
const fn is_opening(into: &[u8], at: u64) -> bool {
    at == 0 && into.len() == HEADER_BYTES
}

/// Reads a page other than the first.
fn read_page(
    state: &KeyState,
    file: &mut dyn StoredFile,
    into: &mut [u8],
    number: u64,
) -> Result<bool, ResultCode> {
    if !file.read(into, (number - 1) * into.len() as u64)? {
        into.fill(0);
        return Ok(false);
    }
    if state.open_page(number, into) { Ok(true) } else { Err(codes::SQLITE_IOERR_DATA) }
}
