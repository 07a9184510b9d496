//! Passes the key of an encrypted file to SQLCipher.

use super::connection::{Connection, Failure};
use libsqlite3_sys as sys;
use std::ffi::{CStr, c_int};

impl Connection {
    /// Sets the key of a database, `main` or one attached without a key, before any other access.
    /// A wrong key fails at the first read.
    /// | # Errors
    /// Those of SQLCipher.
    pub(crate) fn set_key(&mut self, database: &CStr, key: &str) -> Result<(), Failure> {
        let length = c_int::try_from(key.len())
            .map_err(|_| Failure::own(sys::SQLITE_TOOBIG, "the key is too long"))?;
        let (database, key) = (database.as_ptr(), key.as_ptr().cast());
        // SAFETY: the handle is open; the name ends with NUL; the key has `length` bytes, which
        // SQLCipher copies to memory that it clears.
        let code = unsafe { sys::sqlite3_key_v2(self.raw.as_ptr(), database, key, length) };
        self.check(code)
    }
}
