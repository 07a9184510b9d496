//! Stubs for collations and functions of other programs, for connections that only check a file:
//! their results must not be relied on.

use super::collation::bytes;
use super::connection::{Connection, Failure};
use libsqlite3_sys as sys;
use std::ffi::{CString, c_char, c_int, c_void};
use std::ptr;

impl Connection {
    /// Makes unknown collations compare bytes.
    pub(crate) fn stub_collations(&mut self) -> Result<(), Failure> {
        let nothing = ptr::null_mut();
        // SAFETY: the handle is open; the callback takes no data.
        let code = unsafe {
            sys::sqlite3_collation_needed(self.raw.as_ptr(), nothing, Some(make_collation))
        };
        self.check(code)
    }

    /// Defines an unknown function that returns NULL, which is valid for every type.
    pub(crate) fn stub_function(&mut self, name: &str) -> Result<(), Failure> {
        let name = CString::new(name)
            .map_err(|_| Failure::own(sys::SQLITE_ERROR, "a NUL in the name of a function"))?;
        // Required for functions in indexes and generated columns.
        let flags = sys::SQLITE_UTF8 | sys::SQLITE_DETERMINISTIC | sys::SQLITE_INNOCUOUS;
        // SAFETY: the handle is open, the name ends with NUL, the function needs no state.
        let code = unsafe {
            sys::sqlite3_create_function_v2(
                self.raw.as_ptr(),
                name.as_ptr(),
                -1,
                flags,
                ptr::null_mut(),
                Some(null),
                None,
                None,
                None,
            )
        };
        self.check(code)
    }
}

unsafe extern "C" fn make_collation(
    _: *mut c_void,
    db: *mut sys::sqlite3,
    _: c_int,
    name: *const c_char,
) {
    // SAFETY: SQLite passes the connection that asks, and a name that ends with NUL; the collation
    // needs no state. Where this fails there is none, and SQLite says so.
    unsafe {
        let encoding = sys::SQLITE_UTF8;
        let data = ptr::null_mut();
        sys::sqlite3_create_collation_v2(db, name, encoding, data, Some(by_bytes), None);
    }
}

unsafe extern "C" fn by_bytes(
    _: *mut c_void,
    a_length: c_int,
    a: *const c_void,
    b_length: c_int,
    b: *const c_void,
) -> c_int {
    // SAFETY: SQLite passes two texts with their lengths in bytes, valid for this call.
    let (a, b) = unsafe { (bytes(a, a_length), bytes(b, b_length)) };
    a.cmp(b) as c_int
}

unsafe extern "C" fn null(_: *mut sys::sqlite3_context, _: c_int, _: *mut *mut sys::sqlite3_value) {
    // A function that sets no result returns NULL.
}
