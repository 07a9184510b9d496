//! An SQLite connection that closes itself.

use std::ffi::{CStr, CString, c_char, c_int};
use std::path::Path;
use std::ptr::{self, NonNull};

use libsqlite3_sys as ffi;

use super::statement::Statement;
use crate::contender::Failure;

/// An open connection, used by one thread.
pub struct Connection {
    handle: NonNull<ffi::sqlite3>,
}

/// The SQLite library that is linked in: its version and its compile-time options.
pub fn library() -> (String, Vec<String>) {
    // SAFETY: the version is a constant string of the library, ended by a NUL.
    let version = unsafe { text(ffi::sqlite3_libversion()) };
    let options = (0..).map_while(|n| {
        // SAFETY: any index may be asked for; past the last the answer is NULL.
        let option = unsafe { ffi::sqlite3_compileoption_get(n) };
        // SAFETY: not NULL, so it is a constant string of the library, ended by a NUL.
        (!option.is_null()).then(|| unsafe { text(option) })
    });
    (version, options.collect())
}

impl Connection {
    /// Opens or creates the file at `path`, or without a path a database in memory. The connection has no mutex: it may move
    /// between threads, but not be shared. Files are accessed through the VFS with this name, if there is one.
    pub fn open(path: Option<&Path>, vfs: Option<&str>) -> Result<Self, Failure> {
        let name = path.map_or(":memory:".into(), Path::to_string_lossy);
        let name = c_string(&name)?;
        let named = vfs.map(c_string).transpose()?;
        let vfs = named.as_ref().map_or(ptr::null(), |vfs| vfs.as_ptr());
        let flags = ffi::SQLITE_OPEN_READWRITE | ffi::SQLITE_OPEN_CREATE | ffi::SQLITE_OPEN_NOMUTEX;
        let mut handle = ptr::null_mut();
        // SAFETY: `name`, and `vfs` unless it is null, are NUL-terminated and outlive the call;
        // `handle` may be written to.
        let code = unsafe { ffi::sqlite3_open_v2(name.as_ptr(), &raw mut handle, flags, vfs) };
        let handle = NonNull::new(handle).ok_or_else(|| Failure::new("out of memory"))?;
        let connection = Self { handle };
        connection.check(code)?;
        Ok(connection)
    }

    /// Runs one or several statements without results.
    pub fn execute(&self, sql: &str) -> Result<(), Failure> {
        let sql = c_string(sql)?;
        // SAFETY: the connection is open; `sql` is ended by a NUL; no callback is given.
        let code = unsafe {
            ffi::sqlite3_exec(self.as_ptr(), sql.as_ptr(), None, ptr::null_mut(), ptr::null_mut())
        };
        self.check(code)
    }

    /// Prepares a statement that will be used many times.
    pub fn prepare<'t>(&self, sql: &str) -> Result<Statement<'_, 't>, Failure> {
        let length = c_int::try_from(sql.len()).map_err(|_| Failure::new("the SQL is too long"))?;
        let mut handle = ptr::null_mut();
        // SAFETY: the connection is open; `sql` holds `length` bytes; `handle` may be written to.
        let code = unsafe {
            ffi::sqlite3_prepare_v3(
                self.as_ptr(),
                sql.as_ptr().cast(),
                length,
                ffi::SQLITE_PREPARE_PERSISTENT,
                &raw mut handle,
                ptr::null_mut(),
            )
        };
        self.check(code)?;
        let handle = NonNull::new(handle).ok_or_else(|| Failure::new("the SQL is empty"))?;
        Ok(Statement::new(handle, self))
    }

    /// The key of the row that was inserted last.
    #[inline]
    pub fn last_key(&self) -> i64 {
        // SAFETY: the connection is open.
        unsafe { ffi::sqlite3_last_insert_rowid(self.as_ptr()) }
    }

    /// How many rows the last statement has changed.
    #[inline]
    pub fn changes(&self) -> i64 {
        // SAFETY: the connection is open.
        unsafe { ffi::sqlite3_changes64(self.as_ptr()) }
    }

    /// Turns a result code into a failure with the connection's own words.
    #[inline]
    pub fn check(&self, code: c_int) -> Result<(), Failure> {
        if code == ffi::SQLITE_OK { Ok(()) } else { Err(self.failure()) }
    }

    /// What went wrong in the last call.
    #[cold]
    pub fn failure(&self) -> Failure {
        // SAFETY: the connection is open; its message is ended by a NUL and copied at once.
        Failure::new(unsafe { text(ffi::sqlite3_errmsg(self.as_ptr())) })
    }

    fn as_ptr(&self) -> *mut ffi::sqlite3 {
        self.handle.as_ptr()
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        // SAFETY: the handle is closed here only; statements borrow the connection, so none is
        // left.
        unsafe { ffi::sqlite3_close(self.as_ptr()) };
    }
}

fn c_string(text: &str) -> Result<CString, Failure> {
    CString::new(text).map_err(|_| Failure::new("a NUL is in a path or in SQL"))
}

/// Copies a C string.
///
/// # Safety
/// `string` points to bytes that are ended by a NUL and do not change during the call.
unsafe fn text(string: *const c_char) -> String {
    // SAFETY: as the caller promises.
    unsafe { CStr::from_ptr(string) }.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_sql_fails_with_sqlites_own_words() {
        let connection = Connection::open(None, None).expect("memory is always there");
        let failure = connection.execute("SELEC 1").expect_err("it is no SQL");
        assert_eq!(failure.to_string(), "near \"SELEC\": syntax error");
        assert!(connection.prepare("").is_err());
        assert!(connection.execute("SELECT '\0'").is_err());
    }

    #[test]
    fn the_library_tells_its_version_and_options() {
        let (version, options) = library();
        assert!(version.starts_with("3."), "{version}");
        assert!(options.iter().any(|option| option.starts_with("THREADSAFE=")), "{options:?}");
    }
}
