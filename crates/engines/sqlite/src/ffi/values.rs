//! Values on their way between SQLite and the engine's own functions and virtual tables.

use super::row::value_ref;
use bobak_core::ValueRef;
use bobak_core::codec::RawValue;
use libsqlite3_sys as sys;
use std::ffi::c_int;
use std::marker::PhantomData;
use std::ptr;

/// The values of one call, lent by SQLite for as long as it lasts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arguments<'a> {
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

    /// How many.
    pub(crate) const fn len(self) -> usize {
        self.count
    }

    /// The value at this place; NULL beyond the last.
    pub(crate) fn get(self, place: usize) -> ValueRef<'a> {
        match self.raw(place) {
            // SAFETY: the value lives for `'a` (see `new`), and is asked for its own type only.
            Some(value) => unsafe { value_ref(value) },
            None => ValueRef::Null,
        }
    }

    /// All of them.
    pub(crate) fn to_vec(self) -> Vec<ValueRef<'a>> {
        (0..self.count).map(|place| self.get(place)).collect()
    }

    /// Whether an update leaves this value as it was.
    pub(crate) fn is_unchanged(self, place: usize) -> bool {
        // SAFETY: the value is one of an update's (it is false for others).
        self.raw(place).is_some_and(|value| unsafe { sys::sqlite3_value_nochange(value) } != 0)
    }

    /// Hands out the values of a list that the table asked for as a whole; `false` where the value
    /// is no such list.
    pub(crate) fn each_of_list(self, place: usize, mut each: impl FnMut(ValueRef<'_>)) -> bool {
        let Some(list) = self.raw(place) else {
            return false;
        };
        let mut value = ptr::null_mut();
        // SAFETY: both calls say by their code whether the value is a list and has a further one,
        // which lives until the list is asked for the next: `each` gets no longer hold of it.
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

    fn raw(self, place: usize) -> Option<*mut sys::sqlite3_value> {
        // SAFETY: there are `count` values (see `new`).
        (place < self.count).then(|| unsafe { *self.values.add(place) })
    }
}

/// Where the result of a function, or the value of a column, goes.
#[derive(Debug)]
pub(crate) struct Output<'a> {
    pub(super) context: *mut sys::sqlite3_context,
    call: PhantomData<&'a ()>,
}

impl Output<'_> {
    /// # Safety
    /// The context is that of the running call.
    pub(super) unsafe fn new(context: *mut sys::sqlite3_context) -> Self {
        Self { context, call: PhantomData }
    }

    /// Whether an update asks for a column that it does not change: it may be left out.
    pub(crate) fn is_unchanged(&self) -> bool {
        // SAFETY: the context is of a running call (see `new`).
        unsafe { sys::sqlite3_vtab_nochange(self.context) != 0 }
    }

    /// Gives the value. Texts and bytes are copied: SQLite may keep what it was given beyond the
    /// row, in a `max()` for one, and beyond the cursor, in a subquery's result.
    #[inline]
    pub(crate) fn set(&mut self, value: RawValue<'_>) {
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
