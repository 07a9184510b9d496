//! What happens to the log: after a commit, and where a file is taken from everybody.

use super::connection::{Connection, Failure};
use crate::log::Log;
use libsqlite3_sys as sys;
use std::ffi::{c_char, c_int, c_void};
use std::ptr;
use std::sync::Arc;

impl Connection {
    /// Asks `log` after each commit whether to move the log's pages to the file. It stands in the
    /// place of SQLite's own `PRAGMA wal_autocheckpoint`, which would ask nobody.
    pub(crate) fn move_log_by(&mut self, log: &Arc<Log>) {
        let state = Arc::as_ptr(log).cast_mut().cast::<c_void>();
        // SAFETY: the handle is open; the state, which is only read, is kept by this connection
        // until it is closed, or until another takes its place here.
        unsafe { sys::sqlite3_wal_hook(self.raw.as_ptr(), Some(committed), state) };
        self.log = Some(Arc::clone(log));
    }

    /// Moves all of the log to the main database's file, syncs that, and empties the log. Nothing where
    /// there is none. What is in the pages is not looked at.
    ///
    /// # Errors
    /// `SQLITE_BUSY` where others use it; those of the system's.
    pub(crate) fn empty_log(&mut self) -> Result<(), Failure> {
        let nothing = ptr::null_mut::<c_int>;
        let (main, mode) = (c"main".as_ptr(), sys::SQLITE_CHECKPOINT_TRUNCATE);
        // SAFETY: the handle is open, the name ends with NUL, the numbers are not wanted.
        let code = unsafe {
            sys::sqlite3_wal_checkpoint_v2(self.raw.as_ptr(), main, mode, nothing(), nothing())
        };
        self.check(code)
    }

    /// Has it not remove the log of the main database when it is closed: by then that may be another
    /// file's.
    pub(crate) fn leave_log(&mut self) {
        let mut yes: c_int = 1;
        let (main, option) = (c"main".as_ptr(), sys::SQLITE_FCNTL_PERSIST_WAL);
        // SAFETY: the handle is open, the name ends with NUL, and this call takes a pointer to an int.
        unsafe {
            sys::sqlite3_file_control(self.raw.as_ptr(), main, option, (&raw mut yes).cast())
        };
    }
}

/// # Safety
/// SQLite calls it with the state that it was given, its connection, and the name of a database.
unsafe extern "C" fn committed(
    state: *mut c_void,
    db: *mut sys::sqlite3,
    name: *const c_char,
    pages: c_int,
) -> c_int {
    // SAFETY: it is a `Log` that is there as long as the connection.
    let log = unsafe { &*state.cast::<Log>() };
    if log.grew_to(u32::try_from(pages).unwrap_or(0)) {
        // SAFETY: the documentation of the hook allows just this in it. What it could not do the
        // next commit does, so its code is not wanted.
        unsafe { sys::sqlite3_wal_checkpoint(db, name) };
    }
    sys::SQLITE_OK
}
