//! Values passed between SQLite and functions or virtual tables in Rust.

use super::row::value_ref;
use bobak_core::ValueRef;
use bobak_core::codec::RawValue;
use libsqlite3_sys as sys;
use std::ffi::c_int;
use std::marker::PhantomData;
use std::ptr;

/// The arguments of one call, valid until it ends.
#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    values: *mut *mut sys::sqlite3_value,
    count: usize,
    call: PhantomData<&'a ()>,
}

impl<'a> Arguments<'a> {
    /// # Safety
    /// The pointer is to so many values, which live for `'a`.
    pub(super) unsafe fn new(values: *mut *mut sys::sqlite3_value, count: c_int) -> Self {
        Self { values, count: usize::try_from(count).unwrap_or(0), call: PhantomData }
    }

    /// The number of arguments.
    #[must_use]
    pub const fn len(self) -> usize {
        self.count
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.count == 0
    }

    /// The argument at this position; NULL past the end.
    #[must_use]
    pub fn get(self, position: usize) -> ValueRef<'a> {
        match self.raw(position) {
            // SAFETY: the value lives for `'a` (see `new`), and is read as its own type only.
            Some(value) => unsafe { value_ref(value) },
            None => ValueRef::Null,
        }
    }

    /// All arguments.
    #[must_use]
    pub fn to_vec(self) -> Vec<ValueRef<'a>> {
        (0..self.count).map(|position| self.get(position)).collect()
    }

    /// Whether an `UPDATE` does not assign this column.
    #[must_use]
    pub fn is_unchanged(self, position: usize) -> bool {
        // SAFETY: the value is valid; SQLite returns false for values that are not an update's.
        self.raw(position).is_some_and(|value| unsafe { sys::sqlite3_value_nochange(value) } != 0)
    }

    /// Calls `each` with the values of an `IN` list that was requested by
    /// [`IndexInfo::use_whole_list`](super::IndexInfo::use_whole_list); returns `false` if the
    /// argument is not such a list.
    pub fn each_of_list(self, position: usize, mut each: impl FnMut(ValueRef<'_>)) -> bool {
        let Some(list) = self.raw(position) else {
            return false;
        };
        let mut value = ptr::null_mut();
        // SAFETY: both calls report by their code whether the argument is a list and has another
        // value, which is valid until the next call; `each` cannot keep it longer.
        unsafe {
            let mut code = sys::sqlite3_vtab_in_first(list, &mut value);
            if code == sys::SQLITE_ERROR || code == sys::SQLITE_MISUSE {
                return false;
            }
            while code == sys::SQLITE_OK && !value.is_null() {
                each(value_ref(value));
                code = sys::sqlite3_vtab_in_next(list, &mut value);
            }
        }
        true
    }

    fn raw(self, position: usize) -> Option<*mut sys::sqlite3_value> {
        // SAFETY: there are `count` values (see `new`).
        (position < self.count).then(|| unsafe { *self.values.add(position) })
    }
}

/// Receives the result of a function, or the value of a column.
#[derive(Debug)]
pub struct Output<'a> {
    pub(super) context: *mut sys::sqlite3_context,
    call: PhantomData<&'a ()>,
}

impl Output<'_> {
    /// # Safety
    /// The context is that of the running call.
    pub(super) unsafe fn new(context: *mut sys::sqlite3_context) -> Self {
        Self { context, call: PhantomData }
    }

    /// Whether an `UPDATE` reads this column only to write it back unchanged; no value is needed.
    #[must_use]
    pub fn is_unchanged(&self) -> bool {
        // SAFETY: the context is of a running call (see `new`).
        unsafe { sys::sqlite3_vtab_nochange(self.context) != 0 }
    }

    /// Sets the value. Texts and bytes are copied: SQLite may keep them beyond the row (in a
    /// `max()`) and beyond the cursor (in the result of a subquery).
    #[inline]
    pub fn set(&mut self, value: RawValue<'_>) {
        let copy = sys::SQLITE_TRANSIENT();
        // SAFETY: the context is of a running call; the pointers are to as many bytes as are
        // named, which are copied; for no bytes to a NUL, since null would give NULL.
        unsafe {
            match value {
                RawValue::Null => sys::sqlite3_result_null(self.context),
                RawValue::Int(integer) => sys::sqlite3_result_int64(self.context, integer),
                RawValue::Float(float) => sys::sqlite3_result_double(self.context, float),
                RawValue::Text(text) => {
                    let start = if text.is_empty() { c"".as_ptr() } else { text.as_ptr().cast() };
                    match c_int::try_from(text.len()) {
                        Ok(length) => sys::sqlite3_result_text(self.context, start, length, copy),
                        Err(_) => sys::sqlite3_result_error_toobig(self.context),
                    }
                }
                RawValue::Bytes(bytes) => {
                    let start =
                        if bytes.is_empty() { c"".as_ptr().cast() } else { bytes.as_ptr().cast() };
                    sys::sqlite3_result_blob64(self.context, start, bytes.len() as u64, copy);
                }
            }
        }
    }
}
