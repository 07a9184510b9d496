//! The write-ahead log: what happens after a commit, and when a database is closed.

use super::connection::{Connection, Failure};
use libsqlite3_sys as sys;
use std::ffi::{c_char, c_int, c_void};
use std::fmt::Debug;
use std::ptr;
use std::sync::Arc;

/// Decides after each commit whether to checkpoint the log.
pub(crate) trait WalHook: Debug + Send + Sync + 'static {
    /// Called after a commit with the number of pages in the log; `true` to checkpoint it now.
    fn after_commit(&self, pages: u32) -> bool;
}

impl Connection {
    /// Lets `hook` decide after each commit whether to checkpoint the log. It replaces SQLite's own
    /// `PRAGMA wal_autocheckpoint`.
    pub(crate) fn set_wal_hook<H: WalHook>(&mut self, hook: &Arc<H>) {
        let state = Arc::as_ptr(hook).cast_mut().cast::<c_void>();
        // SAFETY: the handle is open; the hook, which is only read, is kept by this connection
        // until it is closed, or until another hook replaces it here.
        unsafe { sys::sqlite3_wal_hook(self.raw.as_ptr(), Some(committed::<H>), state) };
        self.wal_hook = Some(Arc::clone(hook) as _);
    }

    /// Copies the whole log to the main database's file, syncs that, and truncates the log. Does
    /// nothing without a log. The pages are not interpreted.
    ///
    /// # Errors
    /// `SQLITE_BUSY` if others use the log; I/O errors.
    pub(crate) fn checkpoint_truncate(&mut self) -> Result<(), Failure> {
        let nothing = ptr::null_mut::<c_int>;
        let (main, mode) = (c"main".as_ptr(), sys::SQLITE_CHECKPOINT_TRUNCATE);
        // SAFETY: the handle is open, the name ends with NUL, the output pointers may be null.
        let code = unsafe {
            sys::sqlite3_wal_checkpoint_v2(self.raw.as_ptr(), main, mode, nothing(), nothing())
        };
        self.check(code)
    }
}

/// # Safety
/// SQLite calls it with the hook, its connection, and the name of a database.
unsafe extern "C" fn committed<H: WalHook>(
    hook: *mut c_void,
    db: *mut sys::sqlite3,
    name: *const c_char,
    pages: c_int,
) -> c_int {
    // SAFETY: it is an `H` that lives as long as the connection.
    let hook = unsafe { &*hook.cast::<H>() };
    if hook.after_commit(u32::try_from(pages).unwrap_or(0)) {
        // SAFETY: SQLite's documentation allows a checkpoint in the hook. If it fails, the next
        // commit tries again, so the code is ignored.
        unsafe { sys::sqlite3_wal_checkpoint(db, name) };
    }
    sys::SQLITE_OK
}
