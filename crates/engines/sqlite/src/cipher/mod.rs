//! Encrypted files without another SQLite: each page of the database, its journal and its log is encrypted and
//! authenticated with AEGIS-256 on its way between SQLite and the system's VFS.
//! | The format is documented in `docs/encryption.md`. SQLite reserves the last [`TAIL_BYTES`] bytes of each page, which
//! hold the nonce and the tag. `ffi::cipher_vfs` puts these files behind SQLite's VFS interface.
//! | Everything here is called by one connection, from one thread at a time.

mod file_key;
mod file_start;
mod journal_file;
mod log_file;
mod main_file;
mod page_key;
mod recent_pages;

pub(crate) use file_key::FileKey;
pub(crate) use file_start::FileStart;
pub(crate) use journal_file::JournalFile;
pub(crate) use log_file::LogFile;
pub(crate) use main_file::MainFile;
pub(crate) use page_key::TAIL_BYTES;

use libsqlite3_sys as codes;

pub(crate) use bobak_encryption::{KEY_BYTES, RawKey, SALT_BYTES};

/// A result code of SQLite.
type ResultCode = i32;

/// A file as it is stored, below the encryption.
pub(crate) trait StoredFile {
    /// Reads bytes at an offset. Returns `false` past the end of the file, where it fills the buffer with zeros.
    ///
    /// # Errors
    /// Those of SQLite's `xRead`.
    fn read(&mut self, into: &mut [u8], at: u64) -> Result<bool, ResultCode>;

    /// Writes bytes at an offset.
    ///
    /// # Errors
    /// Those of SQLite's `xWrite`.
    fn write(&mut self, bytes: &[u8], at: u64) -> Result<(), ResultCode>;

    /// The length in bytes.
    ///
    /// # Errors
    /// Those of SQLite's `xFileSize`.
    fn size(&mut self) -> Result<u64, ResultCode>;
}

/// Copies a part of `from`, which has it.
fn copy_part(from: &[u8], start: usize, into: &mut [u8]) -> Result<(), ResultCode> {
    let part = from.get(start..start + into.len()).ok_or(codes::SQLITE_IOERR_READ)?;
    into.copy_from_slice(part);
    Ok(())
}
