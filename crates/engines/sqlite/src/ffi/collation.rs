//! Collations and functions of every connection: those that SQLite lacks, and those that stop at
//! the first NUL of a text.

use super::connection::{Connection, Failure};
use bobak_core::{Collation, like};
use libsqlite3_sys as sys;
use std::borrow::Cow;
use std::ffi::{CStr, c_int, c_void};
use std::{ptr, slice};

impl Connection {
    /// Registers [`Collation::UnicodeNoCase`] as `BOBAK_UNICODE_NOCASE`, and replaces `NOCASE`
    /// and `LIKE` with [`Collation::NoCase`] and [`like`], which do not stop at a NUL and are
    /// otherwise the same.
    pub(crate) fn register_collations(&mut self) -> Result<(), Failure> {
        self.register_collation(c"BOBAK_UNICODE_NOCASE", unicode_no_case)?;
        self.register_collation(c"NOCASE", no_case)?;
        let flags = sys::SQLITE_UTF8 | sys::SQLITE_DETERMINISTIC | sys::SQLITE_INNOCUOUS;
        // SAFETY: the handle is open, the name ends with NUL, the function needs no state.
        let code = unsafe {
            sys::sqlite3_create_function_v2(
                self.raw.as_ptr(),
                c"like".as_ptr(),
                2,
                flags,
                ptr::null_mut(),
                Some(like_function),
                None,
                None,
                None,
            )
        };
        self.check(code)
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

/// `text LIKE pattern`, which SQLite calls as `like(pattern, text)`; NULL if one is NULL.
unsafe extern "C" fn like_function(
    context: *mut sys::sqlite3_context,
    _: c_int,
    arguments: *mut *mut sys::sqlite3_value,
) {
    // SAFETY: SQLite passes two values, as many as the function was registered for; what they are
    // asked for lives until they are asked for another type.
    unsafe {
        let (pattern, text) = (*arguments, *arguments.add(1));
        let is_null = |value| sys::sqlite3_value_type(value) == sys::SQLITE_NULL;
        if !is_null(pattern) && !is_null(text) {
            let matches = like(&value_text(pattern), &value_text(text));
            sys::sqlite3_result_int(context, c_int::from(matches));
        }
    }
}

/// # Safety
/// The value is not asked for another type while the result lives.
unsafe fn value_text<'a>(value: *mut sys::sqlite3_value) -> Cow<'a, str> {
    // SAFETY: `sqlite3_value_text` before `sqlite3_value_bytes`, as their order is prescribed.
    unsafe {
        let start = sys::sqlite3_value_text(value);
        text(start.cast(), sys::sqlite3_value_bytes(value))
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
