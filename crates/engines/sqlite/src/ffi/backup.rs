//! SQLite's online backup: the pages of one connection's database to another's.

use super::connection::{Connection, Failure};
use libsqlite3_sys as sys;
use std::ffi::c_int;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;

/// A running backup. It also copies what the source connection writes between two steps; if
/// another connection writes to the source's file, the next step starts over.
/// | Must be ended by [`finish`](BackupHandle::finish).
#[derive(Debug)]
pub(crate) struct BackupHandle {
    raw: NonNull<sys::sqlite3_backup>,
    source: NonNull<sys::sqlite3>,
    /// Not dropped with an unfinished backup: the source still writes to it.
    target: ManuallyDrop<Connection>,
}

// SAFETY: as for a connection: nothing in it is bound to a thread, and what it shares with its
// source is touched by `step` and `finish` only, which have the source for themselves.
unsafe impl Send for BackupHandle {}

/// The progress of a backup, in pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BackupState {
    /// Whether everything is copied.
    pub done: bool,
    /// The number of remaining pages.
    pub left: u64,
    /// The number of all pages.
    pub pages: u64,
}

impl BackupHandle {
    /// Begins a backup of the source's main database over the target's.
    ///
    /// # Errors
    /// What SQLite says, the target in use for one.
    pub(crate) fn begin(source: &mut Connection, target: Connection) -> Result<Self, Failure> {
        let (from, to) = (source.raw, target.raw);
        let name = c"main".as_ptr();
        // SAFETY: both handles are open, and for this call alone; the names end with NUL.
        let raw = unsafe { sys::sqlite3_backup_init(to.as_ptr(), name, from.as_ptr(), name) };
        match NonNull::new(raw) {
            Some(raw) => Ok(Self { raw, source: from, target: ManuallyDrop::new(target) }),
            // The error is the target's.
            None => Err(target.failure(sys::SQLITE_ERROR)),
        }
    }

    /// Copies so many pages more, and says how far it is.
    ///
    /// # Errors
    /// `SQLITE_BUSY` and `SQLITE_LOCKED` where another connection is in the way: it may go on
    /// later. All others end it.
    pub(crate) fn step(
        &mut self,
        source: &mut Connection,
        pages: u32,
    ) -> Result<BackupState, Failure> {
        self.check(source)?;
        let pages = c_int::try_from(pages).unwrap_or(c_int::MAX);
        // SAFETY: the backup is not finished; its source is open, and for this call alone, and so
        // is its target.
        let (code, left, all) = unsafe {
            let raw = self.raw.as_ptr();
            let code = sys::sqlite3_backup_step(raw, pages);
            (code, sys::sqlite3_backup_remaining(raw), sys::sqlite3_backup_pagecount(raw))
        };
        let count = |number: c_int| u64::try_from(number).unwrap_or(0);
        let state =
            BackupState { done: code == sys::SQLITE_DONE, left: count(left), pages: count(all) };
        match code {
            sys::SQLITE_OK | sys::SQLITE_DONE => Ok(state),
            // The code is not noted in either connection.
            code => Err(Failure::of_code(code)),
        }
    }

    /// Ends it, and gives the target back: with the whole copy, or, before all was copied, as it
    /// was.
    ///
    /// # Errors
    /// The error that ended it before.
    pub(crate) fn finish(self, source: &mut Connection) -> Result<Connection, Failure> {
        self.check(source)?;
        // SAFETY: as in `step`; `self` is consumed, so nobody uses the backup afterwards.
        let code = unsafe { sys::sqlite3_backup_finish(self.raw.as_ptr()) };
        let target = ManuallyDrop::into_inner(self.target);
        if code == sys::SQLITE_OK { Ok(target) } else { Err(target.failure(code)) }
    }

    fn check(&self, source: &Connection) -> Result<(), Failure> {
        if self.source == source.raw {
            return Ok(());
        }
        Err(Failure::own(sys::SQLITE_MISUSE, "the backup has another source"))
    }
}

impl Failure {
    /// The error for a code that no connection has stored.
    #[cold]
    fn of_code(code: c_int) -> Self {
        // SAFETY: it gives a constant text that ends with NUL for every number.
        let message = unsafe { super::connection::copy_text(sys::sqlite3_errstr(code)) };
        Self { code, message, offset: None, cause: None, system: None, ends_commit: false }
    }
}
