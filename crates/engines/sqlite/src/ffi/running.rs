//! The statement on whose behalf SQLite calls a virtual table.

use super::pending::PendingError;
use libsqlite3_sys as sys;
use std::ptr;

/// The statement on whose behalf a virtual table is called.
#[derive(Clone, Copy, Debug)]
pub struct RunningStatement<'a> {
    db: *mut sys::sqlite3,
    pending: &'a PendingError,
}

impl<'a> RunningStatement<'a> {
    /// # Safety
    /// The connection is open for `'a`, and is the one whose statement calls.
    pub(super) const unsafe fn new(db: *mut sys::sqlite3, pending: &'a PendingError) -> Self {
        Self { db, pending }
    }

    /// Runs the statement a second time from its beginning, discarding its rows, while the first
    /// run is paused. Its functions are called again.
    ///
    /// Returns `false` if that is impossible: the statement writes, or the connection runs several
    /// statements, so that the calling one is not known.
    pub fn run_again(self) -> bool {
        let Some(text) = self.only_statement() else {
            return false;
        };
        let mut again = ptr::null_mut();
        // SAFETY: the connection is open (see `new`); the NUL-terminated text is SQLite's
        // own and is freed once; the statement is finalized before this call ends. SQLite allows
        // callbacks to run other statements.
        let code = unsafe {
            let code = sys::sqlite3_prepare_v3(self.db, text, -1, 0, &mut again, ptr::null_mut());
            sys::sqlite3_free(text.cast());
            if code == sys::SQLITE_OK && !again.is_null() {
                while sys::sqlite3_step(again) == sys::SQLITE_ROW {}
            }
            sys::sqlite3_finalize(again);
            code
        };
        // The second run is only an attempt: ignore its errors.
        drop(self.pending.take());
        code == sys::SQLITE_OK
    }

    /// The text of the only running statement, its parameters filled in; the caller frees it.
    /// `None` if there are several, or if it writes.
    fn only_statement(self) -> Option<*mut std::ffi::c_char> {
        let mut only: *mut sys::sqlite3_stmt = ptr::null_mut();
        // SAFETY: the connection is open, so its statements, which are gone through, are valid.
        unsafe {
            let mut next = sys::sqlite3_next_stmt(self.db, ptr::null_mut());
            while !next.is_null() {
                if sys::sqlite3_stmt_busy(next) != 0 {
                    if !only.is_null() {
                        return None;
                    }
                    only = next;
                }
                next = sys::sqlite3_next_stmt(self.db, next);
            }
            if only.is_null() || sys::sqlite3_stmt_readonly(only) == 0 {
                return None;
            }
            let text = sys::sqlite3_expanded_sql(only);
            (!text.is_null()).then_some(text)
        }
    }
}
