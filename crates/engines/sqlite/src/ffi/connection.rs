//! A connection: the `sqlite3*`, and the statements prepared on it.

use super::actions::StatementWatch;
use super::blob::OpenBlob;
use super::pending::PendingError;
use super::statement::Slot;
use bobak_core::{Error, Interrupt};
use libsqlite3_sys as sys;
use std::any::Any;
use std::cell::Cell;
use std::ffi::{CStr, CString, c_int, c_void};
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::time::Duration;

/// An open connection. Closing it finalizes its statements.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(super) raw: NonNull<sys::sqlite3>,
    pub(super) slots: Vec<Slot>,
    pub(super) free: Vec<u32>,
    /// Collects what statements do, if that is requested.
    pub(super) watch: Option<Box<StatementWatch>>,
    /// The error of a function or virtual table in Rust, if there are any.
    pending: Option<PendingError>,
    /// The state of the progress callback.
    pub(super) progress: Option<Arc<dyn Any + Send + Sync>>,
    /// Whether a write to a file has failed since this was last checked.
    write_failed: Cell<bool>,
    /// Whether a commit ends with a write to the journal, which is kept.
    keeps_journal: bool,
    /// Decides after each commit whether to checkpoint the log.
    pub(super) wal_hook: Option<Arc<dyn Any + Send + Sync>>,
    /// The value that is read or written in parts.
    pub(super) blob: Option<OpenBlob>,
}

// SAFETY: SQLite's objects are not bound to a thread; with NOMUTEX they must not be used by two at
// the same time, which `&mut self` on every call, and not being `Sync`, ensure.
unsafe impl Send for Connection {}

/// How a file is opened.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpenFlags {
    /// Read-only.
    pub read_only: bool,
    /// Creates a missing file.
    pub create: bool,
}

/// An error of SQLite.
#[derive(Debug)]
pub(crate) struct Failure {
    /// The extended result code.
    pub code: c_int,
    /// Its message.
    pub message: String,
    /// The position in the SQL text, in bytes, for an error in it.
    pub offset: Option<usize>,
    /// The error of a function or virtual table in Rust, if that is the cause.
    pub cause: Option<Error>,
    /// The operating system's error number, if a file could not be opened, read or written.
    pub system: Option<c_int>,
    /// Whether the failing step may have been the last one of a commit, which then may be
    /// durable.
    pub ends_commit: bool,
}

impl Connection {
    /// Opens a database; `:memory:` is a new one in memory. Files are accessed by the VFS with
    /// this name, or by the default one.
    pub(crate) fn open(path: &CStr, flags: OpenFlags, vfs: Option<&CStr>) -> Result<Self, Failure> {
        // SAFETY: a pure query of how the library was built.
        if unsafe { sys::sqlite3_threadsafe() } == 0 {
            return Err(Failure::own(
                sys::SQLITE_MISUSE,
                "this SQLite was built for programs of one thread only",
            ));
        }
        let access = match (flags.read_only, flags.create) {
            (true, _) => sys::SQLITE_OPEN_READONLY,
            (false, true) => sys::SQLITE_OPEN_READWRITE | sys::SQLITE_OPEN_CREATE,
            (false, false) => sys::SQLITE_OPEN_READWRITE,
        };
        // Names that start with `file:` are URIs, which the engine uses for databases in memory.
        // Paths never start so.
        let access =
            access | sys::SQLITE_OPEN_NOMUTEX | sys::SQLITE_OPEN_EXRESCODE | sys::SQLITE_OPEN_URI;
        let mut raw = ptr::null_mut();
        let vfs = vfs.map_or(ptr::null(), CStr::as_ptr);
        // SAFETY: the path ends with NUL, and so does the VFS's name unless it is null; `raw` takes the handle, which SQLite
        // sets even after most errors.
        let code = unsafe { sys::sqlite3_open_v2(path.as_ptr(), &mut raw, access, vfs) };
        let Some(raw) = NonNull::new(raw) else {
            return Err(Failure::own(sys::SQLITE_NOMEM, "out of memory"));
        };
        let connection = Self {
            raw,
            slots: Vec::new(),
            free: Vec::new(),
            watch: None,
            pending: None,
            progress: None,
            write_failed: Cell::new(false),
            keeps_journal: false,
            wal_hook: None,
            blob: None,
        };
        if code == sys::SQLITE_OK { Ok(connection) } else { Err(connection.failure(code)) }
    }

    /// Sets whether a commit ends with a write to the journal: of zeros over its header.
    pub(crate) const fn set_keeps_journal(&mut self, keeps: bool) {
        self.keeps_journal = keeps;
    }

    /// How long to wait for another connection's lock before failing with `SQLITE_BUSY`.
    pub(crate) fn set_busy_timeout(&mut self, timeout: Duration) {
        let milliseconds = c_int::try_from(timeout.as_millis()).unwrap_or(c_int::MAX);
        // SAFETY: the handle is open.
        unsafe { sys::sqlite3_busy_timeout(self.raw.as_ptr(), milliseconds) };
    }

    /// Interrupts a statement with `SQLITE_INTERRUPT` if its call was interrupted. Unlike `sqlite3_interrupt`, this cannot
    /// hit the next statement.
    pub(crate) fn enable_interrupts(&mut self) {
        /// The number of virtual machine instructions between two checks: far less than a
        /// millisecond.
        const STEPS: c_int = 2_000;
        extern "C" fn look(_: *mut c_void) -> c_int {
            c_int::from(Interrupt::is_now())
        }
        let nothing = ptr::null_mut();
        // SAFETY: the handle is open; the callback takes no data, and does not touch the connection.
        unsafe { sys::sqlite3_progress_handler(self.raw.as_ptr(), STEPS, Some(look), nothing) };
    }

    /// Interrupts a statement with `SQLITE_INTERRUPT` when `is_over` returns `true`. Replaces the
    /// check of `enable_interrupts`.
    pub(crate) fn interrupt_when(&mut self, is_over: fn() -> bool) {
        /// A few milliseconds: `is_over` may call the operating system.
        const STEPS: c_int = 200_000;
        extern "C" fn look(is_over: *mut c_void) -> c_int {
            // SAFETY: it is the function that was given below.
            let is_over = unsafe { std::mem::transmute::<*mut c_void, fn() -> bool>(is_over) };
            c_int::from(is_over())
        }
        let is_over = is_over as *mut c_void;
        // SAFETY: the handle is open; the callback does not touch the connection.
        unsafe { sys::sqlite3_progress_handler(self.raw.as_ptr(), STEPS, Some(look), is_over) };
    }

    /// Sets whether foreign keys are enforced.
    pub(crate) fn set_foreign_keys(&mut self, on: bool) {
        let nothing = ptr::null_mut::<c_int>();
        let option = sys::SQLITE_DBCONFIG_ENABLE_FKEY;
        // SAFETY: this option takes an int and an optional pointer to one.
        unsafe { sys::sqlite3_db_config(self.raw.as_ptr(), option, c_int::from(on), nothing) };
    }

    /// Disables string literals in double quotes, so that a misspelled name is an error. Schemas may have
    /// them if `in_schema`.
    pub(crate) fn reject_quoted_strings(&mut self, in_schema: bool) {
        let (dml, ddl) = (sys::SQLITE_DBCONFIG_DQS_DML, sys::SQLITE_DBCONFIG_DQS_DDL);
        for (option, on) in [(dml, false), (ddl, in_schema)] {
            let nothing = ptr::null_mut::<c_int>();
            // SAFETY: these options take an int and an optional pointer to one.
            unsafe { sys::sqlite3_db_config(self.raw.as_ptr(), option, c_int::from(on), nothing) };
        }
    }

    /// Runs SQL text without parameters, discarding its rows.
    pub(crate) fn exec(&mut self, sql: &str) -> Result<(), Failure> {
        let text = CString::new(sql)
            .map_err(|_| Failure::own(sys::SQLITE_ERROR, "syntax error: a NUL in the SQL text"))?;
        // SAFETY: the handle is open, the text ends with NUL, no callback is given.
        let code = unsafe {
            sys::sqlite3_exec(
                self.raw.as_ptr(),
                text.as_ptr(),
                None,
                ptr::null_mut(),
                ptr::null_mut(),
            )
        };
        self.check(code)
    }

    /// The number of rows that the last statement changed.
    pub(crate) fn changes(&self) -> u64 {
        // SAFETY: the handle is open.
        unsafe { sys::sqlite3_changes64(self.raw.as_ptr()) }.unsigned_abs()
    }

    /// The number of rows that all statements changed, including triggers and dropped tables.
    pub(crate) fn total_changes(&self) -> i64 {
        // SAFETY: the handle is open.
        unsafe { sys::sqlite3_total_changes64(self.raw.as_ptr()) }
    }

    /// The rowid of the last insert into a table with rowids.
    pub(crate) fn last_insert_rowid(&self) -> i64 {
        // SAFETY: the handle is open.
        unsafe { sys::sqlite3_last_insert_rowid(self.raw.as_ptr()) }
    }

    /// Sets the result of [`last_insert_rowid`](Self::last_insert_rowid) until the next insert.
    pub(crate) fn set_last_insert_rowid(&mut self, rowid: i64) {
        // SAFETY: the handle is open.
        unsafe { sys::sqlite3_set_last_insert_rowid(self.raw.as_ptr(), rowid) };
    }

    /// Where functions and virtual tables in Rust store their errors.
    pub(crate) fn pending(&mut self) -> &PendingError {
        self.pending.get_or_insert_default()
    }

    /// Takes a stored error.
    #[inline]
    pub(crate) fn take_pending(&self) -> Option<Error> {
        self.pending.as_ref().and_then(PendingError::take)
    }

    /// Whether a write to a file has failed since the last call.
    #[inline]
    pub(crate) fn take_write_failed(&self) -> bool {
        self.write_failed.take()
    }

    /// Whether no transaction is open.
    pub(crate) fn is_autocommit(&self) -> bool {
        // SAFETY: the handle is open.
        unsafe { sys::sqlite3_get_autocommit(self.raw.as_ptr()) != 0 }
    }

    /// Whether the main database is read-only.
    pub(crate) fn is_read_only(&self) -> bool {
        // SAFETY: the handle is open; the name ends with NUL.
        unsafe { sys::sqlite3_db_readonly(self.raw.as_ptr(), c"main".as_ptr()) == 1 }
    }

    /// The maximum number of parameters of a statement.
    pub(crate) fn max_parameters(&self) -> usize {
        // SAFETY: the handle is open; -1 only asks.
        let limit =
            unsafe { sys::sqlite3_limit(self.raw.as_ptr(), sys::SQLITE_LIMIT_VARIABLE_NUMBER, -1) };
        usize::try_from(limit).unwrap_or(0)
    }

    /// The collation of a column of the main database, in SQLite's spelling.
    pub(crate) fn column_collation(&mut self, table: &str, column: &str) -> String {
        let (Ok(table), Ok(column)) = (CString::new(table), CString::new(column)) else {
            return String::new();
        };
        let mut collation = ptr::null();
        // SAFETY: the handle is open, the names end with NUL, what is not wanted is null; the
        // answer is copied before the schema can change.
        unsafe {
            let code = sys::sqlite3_table_column_metadata(
                self.raw.as_ptr(),
                c"main".as_ptr(),
                table.as_ptr(),
                column.as_ptr(),
                ptr::null_mut(),
                &mut collation,
                ptr::null_mut(),
                ptr::null_mut(),
                ptr::null_mut(),
            );
            if code == sys::SQLITE_OK { copy_text(collation) } else { String::new() }
        }
    }

    /// Sets the maximum size of a value in bytes, from 30 to SQLite's compile-time limit.
    pub(crate) fn set_max_length(&mut self, bytes: u32) {
        let bytes = c_int::try_from(bytes).unwrap_or(c_int::MAX);
        // SAFETY: the handle is open; SQLite takes any number that is not negative, and cuts it.
        unsafe { sys::sqlite3_limit(self.raw.as_ptr(), sys::SQLITE_LIMIT_LENGTH, bytes) };
    }

    /// The maximum size of a value, in bytes.
    pub(crate) fn max_length(&self) -> usize {
        // SAFETY: the handle is open; -1 only asks.
        let limit = unsafe { sys::sqlite3_limit(self.raw.as_ptr(), sys::SQLITE_LIMIT_LENGTH, -1) };
        usize::try_from(limit).unwrap_or(0)
    }

    pub(super) fn check(&self, code: c_int) -> Result<(), Failure> {
        if code == sys::SQLITE_OK { Ok(()) } else { Err(self.failure(code)) }
    }

    /// The error for a code that the connection has just returned.
    #[cold]
    pub(super) fn failure(&self, code: c_int) -> Failure {
        let raw = self.raw.as_ptr();
        // SAFETY: the handle is open; the text is copied before any other call on it.
        let message = unsafe { copy_text(sys::sqlite3_errmsg(raw)) };
        // SAFETY: the handle is open.
        let (extended, offset) =
            unsafe { (sys::sqlite3_extended_errcode(raw), sys::sqlite3_error_offset(raw)) };
        // The connection's code is more precise, if it is about the same error.
        let code = if extended & 0xff == code & 0xff { extended } else { code };
        if code == sys::SQLITE_IOERR_WRITE {
            self.write_failed.set(true);
        }
        let cause = match code & 0xff {
            sys::SQLITE_ERROR | sys::SQLITE_CONSTRAINT | sys::SQLITE_ABORT => self.take_pending(),
            _ => None,
        };
        let system = match code & 0xff {
            // SAFETY: the handle is open.
            sys::SQLITE_CANTOPEN | sys::SQLITE_IOERR => {
                Some(unsafe { sys::sqlite3_system_errno(raw) })
            }
            _ => None,
        };
        let system = system.filter(|&number| number != 0);
        let offset = usize::try_from(offset).ok();
        let ends_commit = match code {
            sys::SQLITE_IOERR_FSYNC | sys::SQLITE_IOERR_DIR_FSYNC | sys::SQLITE_IOERR_TRUNCATE => {
                true
            }
            sys::SQLITE_IOERR_WRITE => self.keeps_journal,
            _ => false,
        };
        Failure { code, message, offset, cause, system, ends_commit }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.close_blob();
        for slot in &self.slots {
            // SAFETY: each statement is finalized once: free slots hold null, a harmless no-op.
            unsafe { sys::sqlite3_finalize(slot.raw) };
        }
        // SAFETY: no statement is left and nobody else has the handle; an open transaction is
        // rolled back by closing.
        unsafe { sys::sqlite3_close(self.raw.as_ptr()) };
    }
}

impl Failure {
    /// An error found without calling SQLite.
    #[cold]
    pub(crate) fn own(code: c_int, message: &str) -> Self {
        Self {
            code,
            message: message.to_owned(),
            offset: None,
            cause: None,
            system: None,
            ends_commit: false,
        }
    }
}

/// The version of the built-in SQLite, such as `3.54.1`.
#[must_use]
pub fn version() -> &'static str {
    // SAFETY: a constant text that ends with NUL.
    unsafe { CStr::from_ptr(sys::sqlite3_libversion()) }.to_str().unwrap_or_default()
}

/// Copies a C text.
///
/// # Safety
/// The pointer is null, or to a text that ends with NUL.
pub(super) unsafe fn copy_text(text: *const std::ffi::c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: the caller says so.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}
