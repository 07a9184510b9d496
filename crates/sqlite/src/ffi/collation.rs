//! The collations that SQLite has not, registered on every connection.

use super::connection::{Connection, Failure};
use bobak_core::Collation;
use libsqlite3_sys as sys;
use std::borrow::Cow;
use std::ffi::{c_int, c_void};
use std::{ptr, slice};

impl Connection {
    /// Makes [`Collation::UnicodeNoCase`] known as `BOBAK_UNICODE_NOCASE`.
    pub(crate) fn register_collations(&mut self) -> Result<(), Failure> {
        // SAFETY: the handle is open, the name ends with NUL, the function needs no state.
        let code = unsafe {
            sys::sqlite3_create_collation_v2(
                self.raw.as_ptr(),
                c"BOBAK_UNICODE_NOCASE".as_ptr(),
                sys::SQLITE_UTF8,
                ptr::null_mut(),
                Some(unicode_no_case),
                None,
            )
        };
        self.check(code)
    }
}

unsafe extern "C" fn unicode_no_case(
    _: *mut c_void,
    a_length: c_int,
    a: *const c_void,
    b_length: c_int,
    b: *const c_void,
) -> c_int {
    // SAFETY: SQLite passes two texts with their lengths in bytes, valid for this call.
    let (a, b) = unsafe { (text(a, a_length), text(b, b_length)) };
    Collation::UnicodeNoCase.compare(&a, &b) as c_int
}

/// The text; where it is not UTF-8 the wrong parts count as replacement characters, so that the
/// order stays total.
///
/// # Safety
/// The pointer is null, or to so many bytes that live for `'a`.
unsafe fn text<'a>(start: *const c_void, length: c_int) -> Cow<'a, str> {
    if start.is_null() {
        return Cow::Borrowed("");
    }
    let length = usize::try_from(length).unwrap_or(0);
    // SAFETY: the caller says so.
    String::from_utf8_lossy(unsafe { slice::from_raw_parts(start.cast(), length) })
}
