//! The key of an encrypted file, given to SQLCipher.

use super::connection::{Connection, Failure};
use libsqlite3_sys as sys;
use std::ffi::c_int;

impl Connection {
    /// Gives the key of the main database, before anything else is done with the connection. A wrong
    /// one shows at the first read.
    ///
    /// # Errors
    /// What SQLCipher says.
    pub(crate) fn set_key(&mut self, key: &str) -> Result<(), Failure> {
        let length = c_int::try_from(key.len())
            .map_err(|_| Failure::own(sys::SQLITE_TOOBIG, "the key is too long"))?;
        // SAFETY: the handle is open; the key has `length` bytes, which SQLCipher copies.
        let code = unsafe { sys::sqlite3_key(self.raw.as_ptr(), key.as_ptr().cast(), length) };
        self.check(code)
    }
}
