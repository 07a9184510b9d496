//! The rollback journal of an encrypted database. Its pages are encrypted as in the database, and SQLite's checksums are
//! those of the encrypted pages: so SQLite without the key can undo a transaction too, and they tell nothing of the content.

use super::ResultCode;
use super::StoredFile;
use super::file_key::FileKey;
use libsqlite3_sys as codes;
use std::sync::Arc;

/// The smallest sector, at a multiple of which each header begins.
const SECTOR: u64 = 512;
/// The bytes of a header; zeros follow to the end of its sector.
const HEADER_BYTES: usize = 28;
/// Where the header has the number that all checksums begin with.
const SEED_AT: u64 = 12;
/// The distance of the bytes that are part of a checksum.
const STRIDE: usize = 200;

/// A rollback journal.
pub(crate) struct JournalFile {
    key: Arc<FileKey>,
    sealed: Vec<u8>,
    /// The number that the checksums begin with.
    seed: u32,
    /// The place and the page number of the record that is being written.
    record: Option<(u64, u32)>,
    /// The place of the checksum of the last page, and the sums of that page: encrypted and not.
    sums: Option<(u64, [u32; 2])>,
}

impl JournalFile {
    /// The journal of a database with this key.
    pub(crate) const fn new(key: Arc<FileKey>) -> Self {
        Self { key, sealed: Vec::new(), seed: 0, record: None, sums: None }
    }

    /// Writes a part of the journal: a header, or the page number, the page or the checksum of a record.
    ///
    /// # Errors
    /// `SQLITE_IOERR_WRITE` for anything else that could have content; those of writing.
    pub(crate) fn write(
        &mut self,
        file: &mut dyn StoredFile,
        bytes: &[u8],
        at: u64,
    ) -> Result<(), ResultCode> {
        if self.record.is_some_and(|(record, _)| at == record + 4) && bytes.len() as u64 >= SECTOR {
            return self.write_page(file, bytes, at);
        }
        if let Ok(number) = <[u8; 4]>::try_from(bytes) {
            return self.write_number(file, number, at);
        }
        if bytes.len() as u64 >= SECTOR && at.is_multiple_of(SECTOR) {
            self.note_header(bytes)?;
        } else if bytes.len() as u64 >= 2 * SECTOR {
            // Longer than the name of a super-journal.
            return Err(codes::SQLITE_IOERR_WRITE);
        }
        file.write(bytes, at)
    }

    /// Writes the page of a record.
    fn write_page(
        &mut self,
        file: &mut dyn StoredFile,
        page: &[u8],
        at: u64,
    ) -> Result<(), ResultCode> {
        let (_, number) = self.record.take().ok_or(codes::SQLITE_IOERR_WRITE)?;
        self.key.lock().seal_old_page(number.into(), page, &mut self.sealed)?;
        self.sums = Some((at + page.len() as u64, [sum(&self.sealed), sum(page)]));
        file.write(&self.sealed, at)
    }

    /// Writes a checksum, that of the encrypted page instead of the other, or a page number.
    fn write_number(
        &mut self,
        file: &mut dyn StoredFile,
        number: [u8; 4],
        at: u64,
    ) -> Result<(), ResultCode> {
        match self.sums {
            Some((place, [sealed, _])) if place == at => {
                file.write(&self.seed.wrapping_add(sealed).to_be_bytes(), at)
            }
            _ => {
                self.record = Some((at, u32::from_be_bytes(number)));
                file.write(&number, at)
            }
        }
    }

    /// Notes the number that the next checksums begin with.
    fn note_header(&mut self, header: &[u8]) -> Result<(), ResultCode> {
        if header.iter().skip(HEADER_BYTES).any(|byte| *byte != 0) {
            return Err(codes::SQLITE_IOERR_WRITE);
        }
        let seed = header.get(SEED_AT as usize..).and_then(|rest| rest.first_chunk());
        self.seed = seed.map_or(0, |seed| u32::from_be_bytes(*seed));
        Ok(())
    }

    /// Reads what [`write`](Self::write) wrote. Returns `false` at the end, and at a record that is not authentic: SQLite
    /// then stops there, as at a wrong checksum.
    ///
    /// # Errors
    /// `SQLITE_NOTADB` if the database was not encrypted with the key; those of reading.
    pub(crate) fn read(
        &mut self,
        file: &mut dyn StoredFile,
        into: &mut [u8],
        at: u64,
    ) -> Result<bool, ResultCode> {
        if into.len() as u64 >= 2 * SECTOR {
            return self.read_page(file, into, at);
        }
        let whole = file.read(into, at)?;
        self.read_number(into, at);
        Ok(whole)
    }

    /// Reads the page of a record.
    fn read_page(
        &mut self,
        file: &mut dyn StoredFile,
        into: &mut [u8],
        at: u64,
    ) -> Result<bool, ResultCode> {
        let state = self.key.lock();
        if !state.is_right() {
            return Err(codes::SQLITE_NOTADB);
        }
        let mut number = [0; 4];
        let record = at.checked_sub(4).ok_or(codes::SQLITE_IOERR_READ)?;
        if !file.read(&mut number, record)? || !file.read(into, at)? {
            return Ok(false);
        }
        let sealed = sum(into);
        if !state.open_page(u32::from_be_bytes(number).into(), into) {
            into.fill(0);
            return Ok(false);
        }
        self.sums = Some((at + into.len() as u64, [sealed, sum(into)]));
        Ok(true)
    }

    /// Notes the number that the checksums begin with, and gives SQLite the checksum of the unencrypted page, if that of
    /// the encrypted one is right.
    fn read_number(&mut self, into: &mut [u8], at: u64) {
        let Ok(number) = <[u8; 4]>::try_from(&*into) else { return };
        let number = u32::from_be_bytes(number);
        match self.sums {
            Some((place, [sealed, plain])) if place == at => {
                let difference = number.wrapping_sub(self.seed.wrapping_add(sealed));
                let seen = self.seed.wrapping_add(plain).wrapping_add(difference);
                into.copy_from_slice(&seen.to_be_bytes());
            }
            _ if at % SECTOR == SEED_AT => self.seed = number,
            _ => {}
        }
    }
}

/// SQLite's checksum of a page, without the number that it begins with.
fn sum(page: &[u8]) -> u32 {
    let mut sum = 0_u32;
    let mut place = page.len().saturating_sub(STRIDE);
    while place > 0 {
        sum = sum.wrapping_add(page.get(place).copied().unwrap_or(0).into());
        place = place.saturating_sub(STRIDE);
    }
    sum
}
