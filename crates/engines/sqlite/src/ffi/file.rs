//! Access to a connection's file below the level of SQL.
//! | POSIX drops a process's locks on a file when the process closes any handle of it. SQLite
//! keeps its handles open as long as necessary, so a database must not be opened except by
//! SQLite.

use super::connection::{Connection, Failure};
use libsqlite3_sys as sys;
use std::ffi::c_int;
use std::ptr;

/// The maximum number of bytes of one read, within SQLite's limit.
const MAX_READ: usize = 1 << 24;

/// A file that nobody else reads or writes through SQLite until this is dropped.
#[derive(Debug)]
pub(crate) struct LockedFile(#[allow(dead_code, reason = "it is kept for its lock")] Connection);

impl LockedFile {
    /// Locks the file of a connection that has done nothing yet, whatever is in it. It takes the place
    /// of a writer at its commit; `None` where others are in the way.
    ///
    /// # Errors
    /// Those of the system's.
    pub(crate) fn lock(connection: Connection) -> Result<Option<Self>, Failure> {
        for level in [sys::SQLITE_LOCK_SHARED, sys::SQLITE_LOCK_EXCLUSIVE] {
            // SAFETY: the file is open, and its connection, which nobody else has, is not used but to
            // close it: so it never notices that its file has a lock already.
            let code = connection.with_file(|file| unsafe {
                let lock = (*(*file).pMethods).xLock;
                lock.map(|lock| lock(file, level))
            });
            match code.flatten() {
                Some(sys::SQLITE_OK) => {}
                // Closing the connection releases its locks.
                Some(code) if code & 0xff == sys::SQLITE_BUSY => return Ok(None),
                Some(code) => return Err(Failure::own(code, "the file can't be locked")),
                None => return Err(Failure::own(sys::SQLITE_CANTOPEN, "there is no file to lock")),
            }
        }
        Ok(Some(Self(connection)))
    }
}

impl Connection {
    /// Reads what the main database's file has at a place, as it is on the disk, whatever it is; gives the
    /// number of bytes, which is 0 at its end.
    ///
    /// # Errors
    /// Those of the system's.
    pub(crate) fn read_file(&self, place: u64, into: &mut [u8]) -> Result<usize, Failure> {
        let left = self.file_size()?.saturating_sub(place);
        let wanted = into.len().min(usize::try_from(left).unwrap_or(usize::MAX)).min(MAX_READ);
        let into = &mut into[..wanted];
        if into.is_empty() {
            return Ok(0);
        }
        let (bytes, place) = (c_int::try_from(wanted), i64::try_from(place));
        let (Ok(bytes), Ok(place)) = (bytes, place) else { return Ok(0) };
        // SAFETY: the file is open; there is room for so many bytes.
        let code = self.with_file(|file| unsafe {
            let read = (*(*file).pMethods).xRead;
            read.map(|read| read(file, into.as_mut_ptr().cast(), bytes, place))
        });
        match code.flatten() {
            Some(sys::SQLITE_OK) => Ok(wanted),
            // The file has been shortened since.
            Some(sys::SQLITE_IOERR_SHORT_READ) | None => Ok(0),
            Some(code) => Err(self.failed(code, "the file can't be read")),
        }
    }

    /// How many bytes the main database's file has.
    ///
    /// # Errors
    /// Those of the system's.
    pub(crate) fn file_size(&self) -> Result<u64, Failure> {
        let mut size = 0;
        // SAFETY: the file is open; the number is there.
        let code = self.with_file(|file| unsafe {
            let ask = (*(*file).pMethods).xFileSize;
            ask.map(|ask| ask(file, &raw mut size))
        });
        match code.flatten() {
            Some(sys::SQLITE_OK) => Ok(size.try_into().unwrap_or(0)),
            None => Ok(0),
            Some(code) => Err(self.failed(code, "the file's size can't be read")),
        }
    }

    /// A failure with what the system said.
    fn failed(&self, code: c_int, message: &str) -> Failure {
        let mut number: c_int = 0;
        let (main, place) = (c"main".as_ptr(), (&raw mut number).cast());
        let last = sys::SQLITE_FCNTL_LAST_ERRNO;
        // SAFETY: the handle is open, the name ends with NUL, and this call gives an int.
        unsafe { sys::sqlite3_file_control(self.raw.as_ptr(), main, last, place) };
        Failure {
            system: Some(number).filter(|number| *number != 0),
            ..Failure::own(code, message)
        }
    }

    /// Lends the main database's file, if it is open.
    fn with_file<R>(&self, work: impl FnOnce(*mut sys::sqlite3_file) -> R) -> Option<R> {
        let mut file: *mut sys::sqlite3_file = ptr::null_mut();
        let place = (&raw mut file).cast();
        let main = c"main".as_ptr();
        // SAFETY: the handle is open, the name ends with NUL, and this call gives a pointer.
        let code = unsafe {
            sys::sqlite3_file_control(
                self.raw.as_ptr(),
                main,
                sys::SQLITE_FCNTL_FILE_POINTER,
                place,
            )
        };
        // SAFETY: SQLite gave a file, which lives as long as the connection; one that is not open has
        // no methods.
        let is_open =
            code == sys::SQLITE_OK && !file.is_null() && unsafe { !(*file).pMethods.is_null() };
        is_open.then(|| work(file))
    }
}
