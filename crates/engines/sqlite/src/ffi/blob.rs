//! SQLite's incremental access to one value: parts of it are read and written in place.

use super::connection::{Connection, Failure};
use libsqlite3_sys as sys;
use std::ffi::{CString, c_int};
use std::ptr::{self, NonNull};

/// Where a value is: its table, its column, and its row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlobPlace<'a> {
    pub table: &'a str,
    pub column: &'a str,
    pub rowid: i64,
}

/// An open value of a connection, which closes it before its next write and before its transaction ends.
#[derive(Debug)]
pub(super) struct OpenBlob {
    raw: NonNull<sys::sqlite3_blob>,
    table: Box<str>,
    column: Box<str>,
    rowid: i64,
    writes: bool,
}

impl OpenBlob {
    fn is_at(&self, place: &BlobPlace<'_>, writes: bool) -> bool {
        let same = (&*self.table, &*self.column, self.rowid);
        same == (place.table, place.column, place.rowid) && self.writes == writes
    }
}

impl Connection {
    /// Reads a part of a value, which stays open for the next one. The part must be inside of the value.
    ///
    /// # Errors
    /// What SQLite says: the value is neither bytes nor text, or the row does not exist.
    pub(crate) fn read_blob(
        &mut self,
        place: BlobPlace<'_>,
        offset: u64,
        part: &mut [u8],
    ) -> Result<(), Failure> {
        let (offset, length) = (number(offset)?, number(part.len() as u64)?);
        for is_last in [false, true] {
            let raw = self.blob(place, false)?;
            // SAFETY: the value is open; `part` has room for `length` bytes.
            let code =
                unsafe { sys::sqlite3_blob_read(raw, part.as_mut_ptr().cast(), length, offset) };
            // The row has changed since it was opened.
            if code & 0xff == sys::SQLITE_ABORT && !is_last {
                self.close_blob();
                continue;
            }
            return self.check(code);
        }
        Ok(())
    }

    /// Writes a part of a value, which stays open for the next one. The value keeps its length.
    ///
    /// # Errors
    /// What SQLite says, as [`read_blob`](Self::read_blob); the column is part of an index.
    pub(crate) fn write_blob(
        &mut self,
        place: BlobPlace<'_>,
        offset: u64,
        part: &[u8],
    ) -> Result<(), Failure> {
        let (offset, length) = (number(offset)?, number(part.len() as u64)?);
        let raw = self.blob(place, true)?;
        // SAFETY: the value is open for writing; `part` has `length` bytes.
        let code = unsafe { sys::sqlite3_blob_write(raw, part.as_ptr().cast(), length, offset) };
        self.check(code)
    }

    /// Closes the open value, if there is one.
    #[inline]
    pub(crate) fn close_blob(&mut self) {
        if let Some(open) = self.blob.take() {
            // SAFETY: it is open, and closed once. An error is one that a read or write has returned.
            unsafe { sys::sqlite3_blob_close(open.raw.as_ptr()) };
        }
    }

    /// The open value at a place.
    fn blob(
        &mut self,
        place: BlobPlace<'_>,
        writes: bool,
    ) -> Result<*mut sys::sqlite3_blob, Failure> {
        if let Some(open) = self.blob.as_ref().filter(|open| open.is_at(&place, writes)) {
            return Ok(open.raw.as_ptr());
        }
        self.close_blob();
        let name = |name: &str| {
            CString::new(name).map_err(|_| Failure::own(sys::SQLITE_ERROR, "a NUL in a name"))
        };
        let (table, column) = (name(place.table)?, name(place.column)?);
        let mut raw = ptr::null_mut();
        // SAFETY: the handle is open, the names end with NUL, and `raw` takes the value, which is null after an error.
        let code = unsafe {
            sys::sqlite3_blob_open(
                self.raw.as_ptr(),
                c"main".as_ptr(),
                table.as_ptr(),
                column.as_ptr(),
                place.rowid,
                c_int::from(writes),
                &mut raw,
            )
        };
        self.check(code)?;
        let missing = || Failure::own(sys::SQLITE_ERROR, "SQLite did not open the value");
        let raw = NonNull::new(raw).ok_or_else(missing)?;
        let (table, column) = (place.table.into(), place.column.into());
        self.blob = Some(OpenBlob { raw, table, column, rowid: place.rowid, writes });
        Ok(raw.as_ptr())
    }
}

/// A number as SQLite takes it: no value has more bytes.
fn number(bytes: u64) -> Result<c_int, Failure> {
    c_int::try_from(bytes).map_err(|_| Failure::own(sys::SQLITE_TOOBIG, "the value is too big"))
}
