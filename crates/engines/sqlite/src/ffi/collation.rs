//! Collations of every connection: the one that SQLite lacks, and the one that stops at the first NUL of a text.

use super::connection::{Connection, Failure};
use bobak_core::Collation;
use libsqlite3_sys as sys;
use std::borrow::Cow;
use std::ffi::{CStr, c_int, c_void};
use std::{ptr, slice};

impl Connection {
    /// Registers [`Collation::UnicodeNoCase`] as `BOBAK_UNICODE_NOCASE`, and replaces `NOCASE`
    /// with [`Collation::NoCase`], which does not stop at a NUL and is otherwise the same.
    pub(crate) fn register_collations(&mut self) -> Result<(), Failure> {
        self.register_collation(c"BOBAK_UNICODE_NOCASE", unicode_no_case)?;
        self.register_collation(c"NOCASE", no_case)
    }

    fn register_collation(&mut self, name: &CStr, compare: Compare) -> Result<(), Failure> {
        // SAFETY: the handle is open, the name ends with NUL, the function needs no state.
        let code = unsafe {
            sys::sqlite3_create_collation_v2(
                self.raw.as_ptr(),
                name.as_ptr(),
                sys::SQLITE_UTF8,
                ptr::null_mut(),
                Some(compare),
                None,
            )
        };
        self.check(code)
    }
}

type Compare =
    unsafe extern "C" fn(*mut c_void, c_int, *const c_void, c_int, *const c_void) -> c_int;

unsafe extern "C" fn no_case(
    _: *mut c_void,
    a_length: c_int,
    a: *const c_void,
    b_length: c_int,
    b: *const c_void,
) -> c_int {
    // SAFETY: SQLite passes two texts with their lengths in bytes, valid for this call.
    let (a, b) = unsafe { (bytes(a, a_length), bytes(b, b_length)) };
    // Compare bytes: in UTF-8, ASCII letters are single bytes.
    let lower = u8::to_ascii_lowercase;
    a.iter().map(lower).cmp(b.iter().map(lower)) as c_int
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

/// The text. Bytes that are not UTF-8 count as replacement characters, so that the order stays total.
///
/// # Safety
/// The pointer is null, or to so many bytes that live for `'a`.
unsafe fn text<'a>(start: *const c_void, length: c_int) -> Cow<'a, str> {
    // SAFETY: the caller says so.
    String::from_utf8_lossy(unsafe { bytes(start, length) })
}

/// # Safety
/// The pointer is null, or to so many bytes that live for `'a`.
pub(super) unsafe fn bytes<'a>(start: *const c_void, length: c_int) -> &'a [u8] {
    if start.is_null() {
        return &[];
    }
    let length = usize::try_from(length).unwrap_or(0);
    // SAFETY: the caller says so.
    unsafe { slice::from_raw_parts(start.cast(), length) }
}
