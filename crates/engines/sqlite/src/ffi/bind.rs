//! Binds values to a statement's parameters.

use bobak_core::codec::RawValue;
use libsqlite3_sys as sys;
use std::ffi::c_int;
use std::marker::PhantomData;

/// Binds a statement's values one after the other. They live for `'v`.
#[derive(Debug)]
pub(crate) struct Binder<'v, const COPY: bool = false> {
    statement: *mut sys::sqlite3_stmt,
    bound: c_int,
    code: c_int,
    values: PhantomData<&'v [u8]>,
}

impl<'v, const COPY: bool> Binder<'v, COPY> {
    /// # Safety
    /// The statement is valid and reset. With `COPY` values are copied as they come; without, the
    /// statement is stepped only while `'v` lasts, and is bound again before it is stepped again.
    #[inline]
    pub(super) unsafe fn new(statement: *mut sys::sqlite3_stmt) -> Self {
        Self { statement, bound: 0, code: sys::SQLITE_OK, values: PhantomData }
    }

    /// Binds the next parameter. After a failure the rest is ignored.
    #[inline(always)]
    pub(crate) fn push(&mut self, value: RawValue<'v>) {
        if self.code == sys::SQLITE_OK {
            self.bound += 1;
            // SAFETY: what `new` was promised.
            self.code = unsafe { bind::<COPY>(self.statement, self.bound, value) };
        }
    }

    /// The number of bound values, or the result code of a failure.
    #[inline]
    pub(super) fn finish(self) -> Result<usize, c_int> {
        if self.code == sys::SQLITE_OK { Ok(self.bound as usize) } else { Err(self.code) }
    }
}

/// Binds one value; parameters count from 1.
///
/// # Safety
/// The statement is valid and not in the middle of its rows. With `COPY` the value is copied now;
/// without, texts and bytes must stay where they are until the statement has been stepped to its
/// end or reset, and must be bound again before it is stepped again.
#[inline(always)]
unsafe fn bind<const COPY: bool>(
    statement: *mut sys::sqlite3_stmt,
    parameter: c_int,
    value: RawValue<'_>,
) -> c_int {
    let destructor = if COPY { sys::SQLITE_TRANSIENT() } else { sys::SQLITE_STATIC() };
    // SAFETY: the statement is the caller's promise; the pointers are to as many bytes as are
    // named, and for an empty value to a NUL, since null would bind NULL.
    unsafe {
        match value {
            RawValue::Null => sys::sqlite3_bind_null(statement, parameter),
            RawValue::Int(integer) => sys::sqlite3_bind_int64(statement, parameter, integer),
            RawValue::Float(float) => sys::sqlite3_bind_double(statement, parameter, float),
            RawValue::Text(text) => {
                let start = if text.is_empty() { c"".as_ptr() } else { text.as_ptr().cast() };
                // The call for 32-bit lengths does less work; the other one rejects longer texts.
                match c_int::try_from(text.len()) {
                    Ok(length) => {
                        sys::sqlite3_bind_text(statement, parameter, start, length, destructor)
                    }
                    Err(_) => {
                        let length = text.len() as u64;
                        let utf8 = sys::SQLITE_UTF8 as u8;
                        sys::sqlite3_bind_text64(
                            statement, parameter, start, length, destructor, utf8,
                        )
                    }
                }
            }
            RawValue::Bytes(bytes) => {
                let start =
                    if bytes.is_empty() { c"".as_ptr().cast() } else { bytes.as_ptr().cast() };
                let length = bytes.len() as u64;
                sys::sqlite3_bind_blob64(statement, parameter, start, length, destructor)
            }
        }
    }
}
