//! The pages of an encrypted file, for compressed backups: encrypted pages do not get smaller.

use crate::cipher::{FileKey, FileStart, RawKey};
use crate::open;
use crate::settings::{Cipher, Settings};
use bobak_core::{Error, ErrorKind, Result};
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::Arc;

/// Decrypts the pages of a file, one after the other.
pub(crate) struct DecryptedPages<R> {
    source: R,
    /// The first bytes of the file, until they are read with its first page.
    head: Vec<u8>,
    key: Arc<FileKey>,
    page: Vec<u8>,
    /// How much of `page` was returned.
    used: usize,
    /// The number of pages that were read.
    number: u64,
}

impl DecryptedPages<File> {
    pub(crate) fn open(path: &Path, settings: &Settings) -> Result<Self> {
        let settings = open::settings_for_file(settings, path)?;
        let reading = |error| Error::io(&format!("read {}", path.display()), error);
        let mut source = File::open(path).map_err(reading)?;
        let mut head = Vec::new();
        Read::by_ref(&mut source)
            .take(FileStart::BYTES as u64)
            .read_to_end(&mut head)
            .map_err(reading)?;
        let key = FileKey::new(raw_key(&settings)?, Some(&head)).map_err(no_key)?;
        if !key.is_right() {
            return Err(open::wrong_key(&settings));
        }
        Ok(Self { source, head, key, page: Vec::new(), used: 0, number: 0 })
    }
}

impl<R: Read> DecryptedPages<R> {
    /// Reads the next page; `page` is empty at the end of the file.
    fn next_page(&mut self) -> io::Result<()> {
        let state = self.key.lock();
        self.page = std::mem::take(&mut self.head);
        let missing = state.page_size - self.page.len();
        self.source.by_ref().take(missing as u64).read_to_end(&mut self.page)?;
        self.used = 0;
        if self.page.is_empty() {
            return Ok(());
        }
        self.number += 1;
        let is_whole = self.page.len() == state.page_size;
        if !is_whole || !state.open_stored_page(self.number, &mut self.page) {
            let message = format!("page {} of the database is damaged", self.number);
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        Ok(())
    }
}

impl<R: Read> Read for DecryptedPages<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.used == self.page.len() {
            self.next_page()?;
        }
        let read = (&self.page[self.used..]).read(into)?;
        self.used += read;
        Ok(read)
    }
}

/// Encrypts pages, one after the other.
pub(crate) struct EncryptedPages<W: Write> {
    target: W,
    key: Arc<FileKey>,
    page: Vec<u8>,
    sealed: Vec<u8>,
    /// The number of pages that were written.
    number: u64,
}

impl<W: Write> EncryptedPages<W> {
    pub(crate) fn new(target: W, settings: &Settings) -> Result<Self> {
        let key = settings.read_key()?.ok_or_else(|| {
            Error::new(ErrorKind::Config, "a file is encrypted with a key: give its key")
        })?;
        let (key, cipher) =
            (Some(key.for_file(None)?), settings.cipher.or(Some(Cipher::default())));
        let given = raw_key(&Settings { key, cipher, ..settings.clone() })?;
        let key = FileKey::new(given, None).map_err(no_key)?;
        Ok(Self { target, key, page: Vec::new(), sealed: Vec::new(), number: 0 })
    }

    /// How many bytes are missing until the page, or the part of the first one with the page size, is complete.
    fn missing(&self) -> usize {
        let size = self.key.lock().page_size;
        if size == 0 { FileStart::BYTES } else { size }.saturating_sub(self.page.len())
    }

    fn write_page(&mut self) -> io::Result<()> {
        let mut state = self.key.lock();
        if state.page_size == 0 {
            return if state.begin_file(&self.page) { Ok(()) } else { Err(no_database()) };
        }
        self.number += 1;
        let sealed = state.seal_stored_page(self.number, &self.page, &mut self.sealed);
        sealed.map_err(|_| no_database())?;
        self.page.clear();
        self.target.write_all(&self.sealed)
    }
}

impl<W: Write> Write for EncryptedPages<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = self.missing().min(bytes.len());
        self.page.extend_from_slice(&bytes[..taken]);
        if self.missing() == 0 {
            self.write_page()?;
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.page.is_empty() { self.target.flush() } else { Err(no_database()) }
    }
}

fn raw_key(settings: &Settings) -> Result<RawKey> {
    let raw = settings.key.as_ref().and_then(|key| key.raw());
    match (settings.cipher, raw) {
        (Some(Cipher::Aegis256), Some(raw)) => Ok(raw.clone()),
        _ => {
            let message = "pages are decrypted and encrypted with the cipher aegis256 only";
            Err(Error::new(ErrorKind::Unsupported, message))
        }
    }
}

fn no_key(_: i32) -> Error {
    Error::new(ErrorKind::Engine, "could not derive the key of a file")
}

fn no_database() -> io::Error {
    let message = "it does not contain the pages of an encrypted database";
    io::Error::new(io::ErrorKind::InvalidData, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bobak_encryption::EncryptionKey;

    const SIZE: usize = 65_536;

    /// The start of a database with pages of this size, with room for the encryption.
    fn first_page() -> Vec<u8> {
        let mut page = b"SQLite format 3\0\0\x01\x01\x01\x30".to_vec();
        page.resize(72, 5);
        page.resize(92, 0);
        page.resize(SIZE, 7);
        page
    }

    #[test]
    fn the_page_that_sqlite_does_not_use_stays_empty() {
        let raw = EncryptionKey::bytes([7; 32]).raw().unwrap().clone();
        let before = (1 << 30) / SIZE as u64 - 1;
        let key = FileKey::new(raw.clone(), None).unwrap();
        let (page, sealed) = (Vec::new(), Vec::new());
        let mut pages = EncryptedPages { target: Vec::new(), key, page, sealed, number: 0 };
        pages.write_all(&first_page()).unwrap();
        pages.number = before;
        let rest = [vec![1; SIZE], vec![0; SIZE], vec![2; SIZE]].concat();
        pages.write_all(&rest).unwrap();
        pages.flush().unwrap();
        assert_eq!(pages.target[2 * SIZE..3 * SIZE], vec![0; SIZE]);

        let source = &pages.target[..];
        let key = FileKey::new(raw, Some(source)).unwrap();
        let (head, page) = (Vec::new(), Vec::new());
        let mut read = DecryptedPages { source, head, key, page, used: 0, number: 0 };
        let mut first = vec![0; SIZE];
        read.read_exact(&mut first).unwrap();
        assert_eq!(first[..SIZE - 48], first_page()[..SIZE - 48]);
        read.number = before;
        let mut found = Vec::new();
        read.read_to_end(&mut found).unwrap();
        for (found, written) in found.chunks(SIZE).zip(rest.chunks(SIZE)) {
            assert_eq!(found[..SIZE - 48], written[..SIZE - 48]);
        }
        assert_eq!(found.len(), rest.len());
    }

    #[test]
    fn what_is_no_database_is_not_encrypted() {
        let raw = EncryptionKey::bytes([7; 32]).raw().unwrap().clone();
        let (page, sealed) = (Vec::new(), Vec::new());
        let key = FileKey::new(raw, None).unwrap();
        let mut pages = EncryptedPages { target: Vec::new(), key, page, sealed, number: 0 };
        let error = pages.write_all(&[7; 100]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    }
}
