//! The statement on whose behalf a virtual table is called.

use super::pending::Pending;
use libsqlite3_sys as sys;
use std::ptr;

/// The statement that is running, as far as a virtual table may know it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Running<'a> {
    db: *mut sys::sqlite3,
    pending: &'a Pending,
}

impl<'a> Running<'a> {
    /// # Safety
    /// The connection is open for `'a`, and is the one whose statement calls.
    pub(super) const unsafe fn new(db: *mut sys::sqlite3, pending: &'a Pending) -> Self {
        Self { db, pending }
    }

    /// Runs the statement once more, from its beginning, while it stands where it is, and passes
    /// over the rows; its functions are called again. `false` where it writes, or where several
    /// statements are running on the connection, so that nobody knows which one calls.
    pub(crate) fn run_again(self) -> bool {
        let Some(text) = self.only_statement() else {
            return false;
        };
        let mut again = ptr::null_mut();
        // SAFETY: the connection is open (see `new`); the text, which ends with NUL, is SQLite's
        // own and is freed once; the statement is finalized before this call ends. SQLite lets
        // callbacks run other statements.
        let code = unsafe {
            let code = sys::sqlite3_prepare_v3(self.db, text, -1, 0, &mut again, ptr::null_mut());
            sys::sqlite3_free(text.cast());
            if code == sys::SQLITE_OK && !again.is_null() {
                while sys::sqlite3_step(again) == sys::SQLITE_ROW {}
            }
            sys::sqlite3_finalize(again);
            code
        };
        // However it ended: its errors are nobody's.
        drop(self.pending.take());
        code == sys::SQLITE_OK
    }

    /// The text of the only statement that is running, its parameters filled in, to be freed;
    /// `None` where there are others, or it writes.
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
