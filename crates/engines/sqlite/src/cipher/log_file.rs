//! The write-ahead log of an encrypted database. A frame is encrypted as a whole: the page, and the checksum in the frame's
//! header, which SQLite calculates from the unencrypted page. The rest of the header is authenticated.
//! | The log's own header has another version than SQLite's, so that SQLite without the key does not take it for a log
//! without valid frames, and delete it.

use super::ResultCode;
use super::file_key::{AssociatedData, FileKey};
use super::{StoredFile, copy_part};
use libsqlite3_sys as codes;
use std::sync::Arc;

/// The bytes of the log's header.
const LOG_HEADER: usize = 32;
/// The bytes of a frame's header.
const FRAME_HEADER: usize = 24;
/// The part of a frame's header that is not encrypted.
const CLEAR: usize = 16;
/// The version of SQLite's logs.
const SQLITE_VERSION: [u8; 4] = 3_007_000_u32.to_be_bytes();
/// The version of encrypted logs.
const VERSION: [u8; 4] = *b"bob1";

/// A write-ahead log.
pub(crate) struct LogFile {
    key: Arc<FileKey>,
    /// A frame, encrypted or not.
    frame: Vec<u8>,
    /// The place of a frame that is being written, and the number of bytes that SQLite has written of it.
    begun: Option<(u64, usize)>,
    /// The place of the frame that is in `frame`, unencrypted.
    loaded: Option<u64>,
}

/// What a frame in the file is.
#[derive(PartialEq, Eq)]
enum FrameState {
    Authentic,
    /// The file ends before its end.
    Short,
    Damaged,
}

impl LogFile {
    /// The log of a database with this key.
    pub(crate) const fn new(key: Arc<FileKey>) -> Self {
        Self { key, frame: Vec::new(), begun: None, loaded: None }
    }

    /// The bytes of a frame, from the log's own header.
    fn learn_size(&mut self, file: &mut dyn StoredFile) -> Result<bool, ResultCode> {
        let mut header = [0; LOG_HEADER];
        if self.frame.is_empty() && file.read(&mut header, 0)? {
            self.note_size(&header)?;
        }
        Ok(!self.frame.is_empty())
    }

    fn note_size(&mut self, header: &[u8; LOG_HEADER]) -> Result<(), ResultCode> {
        let size = u32::from_be_bytes([header[8], header[9], header[10], header[11]]) as usize;
        if !size.is_power_of_two() || !(1_024..=65_536).contains(&size) {
            return Err(codes::SQLITE_IOERR_READ);
        }
        self.frame.clear();
        self.frame.resize(FRAME_HEADER + size, 0);
        (self.begun, self.loaded) = (None, None);
        Ok(())
    }

    /// The beginning of the frame at a place, and the distance from there.
    fn locate(&self, at: u64) -> (u64, usize) {
        let (header, size) = (LOG_HEADER as u64, self.frame.len() as u64);
        let within = (at - header) % size;
        (at - within, usize::try_from(within).unwrap_or(usize::MAX))
    }

    /// Writes the log's header, a frame's header, a page, or a part of these.
    ///
    /// # Errors
    /// `SQLITE_IOERR_WRITE` for anything else; those of writing.
    pub(crate) fn write(
        &mut self,
        file: &mut dyn StoredFile,
        bytes: &[u8],
        at: u64,
    ) -> Result<(), ResultCode> {
        if at < LOG_HEADER as u64 {
            let header = bytes.try_into().map_err(|_| codes::SQLITE_IOERR_WRITE)?;
            self.note_size(header)?;
            return file.write(&with_version(header, VERSION), at);
        }
        if !self.learn_size(file)? {
            return Err(codes::SQLITE_IOERR_WRITE);
        }
        let (start, within) = self.locate(at);
        let end = within + bytes.len();
        let whole = self.extend(file, start, within, end)?;
        let place = self.frame.get_mut(within..end).ok_or(codes::SQLITE_IOERR_WRITE)?;
        place.copy_from_slice(bytes);
        if whole { self.store(file, start) } else { Ok(()) }
    }

    /// Prepares a write to a part of a frame. Returns whether the frame is whole then.
    fn extend(
        &mut self,
        file: &mut dyn StoredFile,
        start: u64,
        from: usize,
        to: usize,
    ) -> Result<bool, ResultCode> {
        let loaded = self.loaded.take() == Some(start);
        match self.begun.take() {
            // SQLite corrects the checksum of a frame that it has just read.
            None if from == 0 && to == FRAME_HEADER && loaded => {}
            // What was begun before failed.
            _ if from == 0 && to <= FRAME_HEADER => self.begun = Some((start, to)),
            // SQLite replaces the page of a frame that it wrote in the same transaction.
            None if from == FRAME_HEADER && to == self.frame.len() => {
                if self.load(file, start)? != FrameState::Authentic {
                    return Err(codes::SQLITE_IOERR_WRITE);
                }
            }
            Some((begun, filled)) if begun == start && filled == from => {
                self.begun = (to < self.frame.len()).then_some((start, to));
            }
            _ => return Err(codes::SQLITE_IOERR_WRITE),
        }
        Ok(self.begun.is_none())
    }

    /// Encrypts the frame and writes it.
    fn store(&mut self, file: &mut dyn StoredFile, start: u64) -> Result<(), ResultCode> {
        let (clear, sealed) = self.frame.split_at_mut(CLEAR);
        let mut associated = AssociatedData::frame(start);
        associated.add(clear);
        self.key.lock().seal(associated.as_bytes(), sealed)?;
        file.write(&self.frame, start)
    }

    /// Reads a frame and decrypts it.
    fn load(&mut self, file: &mut dyn StoredFile, start: u64) -> Result<FrameState, ResultCode> {
        if !file.read(&mut self.frame, start)? {
            return Ok(FrameState::Short);
        }
        let (clear, sealed) = self.frame.split_at_mut(CLEAR);
        let mut associated = AssociatedData::frame(start);
        associated.add(clear);
        let authentic = self.key.lock().open(associated.as_bytes(), sealed);
        Ok(if authentic { FrameState::Authentic } else { FrameState::Damaged })
    }

    /// Reads the log's header, a frame, or a part of these, into a buffer of zeros. Returns `false` at the end.
    ///
    /// # Errors
    /// `SQLITE_IOERR_DATA` for a damaged page; `SQLITE_CANTOPEN` for a log that is not encrypted; those of reading.
    pub(crate) fn read(
        &mut self,
        file: &mut dyn StoredFile,
        into: &mut [u8],
        at: u64,
    ) -> Result<bool, ResultCode> {
        if at < LOG_HEADER as u64 {
            return read_header(file, into, at);
        }
        if self.begun.take().is_some() {
            return Err(codes::SQLITE_IOERR_READ);
        }
        if !self.learn_size(file)? {
            return Ok(false);
        }
        let (start, within) = self.locate(at);
        self.loaded = None;
        let state = self.load(file, start)?;
        let whole = into.len() == self.frame.len();
        match state {
            FrameState::Authentic => {
                self.loaded = whole.then_some(start);
                copy_part(&self.frame, within, into).map(|()| true)
            }
            FrameState::Short => Ok(false),
            // Only the recovery of a log reads a whole frame without knowing that it is valid. It ends at zeros.
            FrameState::Damaged if whole => Ok(true),
            FrameState::Damaged => Err(codes::SQLITE_IOERR_DATA),
        }
    }
}

/// Reads the log's header as SQLite wrote it.
fn read_header(file: &mut dyn StoredFile, into: &mut [u8], at: u64) -> Result<bool, ResultCode> {
    let mut header = [0; LOG_HEADER];
    if !file.read(&mut header, 0)? {
        return Ok(false);
    }
    let start = usize::try_from(at).unwrap_or(usize::MAX);
    let version = [header[4], header[5], header[6], header[7]];
    if header == [0; LOG_HEADER] || header != with_version(&header, version) {
        // A backup extended an empty log, or the header was not written completely: SQLite reads zeros, which are no log.
        return Ok(true);
    }
    if version != VERSION {
        return Err(codes::SQLITE_CANTOPEN);
    }
    copy_part(&with_version(&header, SQLITE_VERSION), start, into).map(|()| true)
}

/// The header with another version, and SQLite's checksum for it.
fn with_version(header: &[u8; LOG_HEADER], version: [u8; 4]) -> [u8; LOG_HEADER] {
    let mut new = *header;
    new[4..8].copy_from_slice(&version);
    let is_big = new[3] & 1 == 1;
    let (mut first, mut second) = (0_u32, 0_u32);
    let (words, checksum) = new.split_at_mut(24);
    for pair in words.chunks_exact(8) {
        let word = |place: usize| {
            let bytes = [pair[place], pair[place + 1], pair[place + 2], pair[place + 3]];
            if is_big { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
        };
        first = first.wrapping_add(word(0)).wrapping_add(second);
        second = second.wrapping_add(word(4)).wrapping_add(first);
    }
    checksum[..4].copy_from_slice(&first.to_be_bytes());
    checksum[4..].copy_from_slice(&second.to_be_bytes());
    new
}
