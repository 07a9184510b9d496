//! The current row of a statement.

use bobak_core::{ColumnBuffer, ColumnValues, Row, ValueRef};
use libsqlite3_sys as sys;
use std::ffi::{CStr, c_int};
use std::marker::PhantomData;
use std::{ptr, slice};

/// A row borrowed from a stepped statement: its texts point into SQLite's page or register.
#[derive(Debug)]
pub(crate) struct RowRef<'a> {
    statement: *mut sys::sqlite3_stmt,
    pub(super) columns: usize,
    /// The first column's value, if the others follow at a fixed distance.
    first: *mut sys::sqlite3_value,
    /// The distance between two values, in bytes.
    stride: usize,
    connection: PhantomData<&'a mut ()>,
}

impl RowRef<'_> {
    /// # Safety
    /// The statement stands on a row of so many columns, and is neither stepped nor reset for as
    /// long as the result lives.
    #[inline]
    pub(super) unsafe fn new(statement: *mut sys::sqlite3_stmt, columns: usize) -> Self {
        let (first, stride) = (ptr::null_mut(), 0);
        Self { statement, columns, first, stride, connection: PhantomData }
    }

    /// A row whose values are so many bytes apart; 0 if each value is read by a call.
    ///
    /// # Safety
    /// As [`new`](Self::new); and the stride was found by [`find_stride`](Self::find_stride) for this
    /// statement, which was not prepared again since.
    #[inline]
    pub(super) unsafe fn with_stride(
        statement: *mut sys::sqlite3_stmt,
        columns: usize,
        stride: usize,
    ) -> Self {
        let first = if stride == 0 {
            ptr::null_mut()
        } else {
            // SAFETY: the statement stands on a row.
            unsafe { sys::sqlite3_column_value(statement, 0) }
        };
        Self { statement, columns, first, stride, connection: PhantomData }
    }

    /// The distance between the values of a row, if it is the same for all; else 0.
    /// | A statement keeps its row in one array, and addressing it directly saves a call per
    /// value. SQLite does not guarantee that, so it is verified whenever the statement is
    /// prepared, and not relied on otherwise.
    pub(super) fn find_stride(&self) -> usize {
        let address = |column: usize| {
            // SAFETY: the statement stands on a row (see `new`).
            unsafe { sys::sqlite3_column_value(self.statement, column as c_int) as usize }
        };
        if self.columns < 3 {
            return 0;
        }
        let first = address(0);
        let stride = address(1).wrapping_sub(first);
        let even = (0..self.columns)
            .all(|column| address(column) == first.wrapping_add(column.wrapping_mul(stride)));
        if even && stride < 4096 { stride } else { 0 }
    }

    /// # Safety
    /// The row has the column.
    #[inline]
    pub(super) unsafe fn value(&self, column: usize) -> *mut sys::sqlite3_value {
        // SAFETY: the statement stands on a row that has the column; its values are in an array
        // where `first` is not null.
        unsafe {
            if self.first.is_null() {
                sys::sqlite3_column_value(self.statement, column as c_int)
            } else {
                self.first.byte_add(column * self.stride)
            }
        }
    }
}

impl Row for RowRef<'_> {
    #[inline]
    fn len(&self) -> usize {
        self.columns
    }

    /// Returns a text that is not UTF-8 as bytes: a field of another type then fails with
    /// `Mismatch`.
    #[inline]
    fn get(&self, column: usize) -> ValueRef<'_> {
        if column >= self.columns {
            return ValueRef::Null;
        }
        // SAFETY: the statement stands on a row that has the column (see `new`). The value is read as its own type only,
        // so that SQLite converts nothing that was borrowed before.
        unsafe { value_ref(self.value(column)) }
    }

    fn append_to(&self, buffers: &mut [ColumnBuffer], first: usize) -> usize {
        let columns = buffers.len();
        for (column, buffer) in buffers.iter_mut().enumerate().skip(first) {
            let fits = if column < self.columns {
                // SAFETY: the statement stands on a row that has the column (see `new`).
                unsafe { append(self.value(column), buffer) }
            } else {
                buffer.push_null()
            };
            if !fits {
                return column;
            }
        }
        columns
    }

    fn name(&self, column: usize) -> Option<&str> {
        if column >= self.columns {
            return None;
        }
        // SAFETY: the statement has the column (see `new`). The name is a C string that lives
        // until the statement is prepared again or finalized, which the borrow of the row forbids, or until the same
        // name is read in UTF-16, which no code does.
        unsafe {
            let name = sys::sqlite3_column_name(self.statement, column as c_int);
            if name.is_null() { None } else { CStr::from_ptr(name).to_str().ok() }
        }
    }
}

/// The value in its own type. A text that is not UTF-8 is returned as bytes.
///
/// # Safety
/// The value is valid, outlives the result, and is not asked for another type meanwhile.
#[inline]
pub(super) unsafe fn value_ref<'a>(value: *mut sys::sqlite3_value) -> ValueRef<'a> {
    // SAFETY: the caller guarantees it; each value is read as its own type.
    unsafe {
        match sys::sqlite3_value_type(value) {
            sys::SQLITE_INTEGER => ValueRef::Int(sys::sqlite3_value_int64(value)),
            sys::SQLITE_FLOAT => ValueRef::Float(sys::sqlite3_value_double(value)),
            sys::SQLITE_TEXT => text(value),
            sys::SQLITE_BLOB => ValueRef::Bytes(blob_bytes(value)),
            _ => ValueRef::Null,
        }
    }
}

/// Appends the value to the buffer of its column; returns whether the buffer takes it.
///
/// # Safety
/// The value is valid.
#[inline]
unsafe fn append(value: *mut sys::sqlite3_value, buffer: &mut ColumnBuffer) -> bool {
    // SAFETY: the caller guarantees it; each value is read as its own type.
    unsafe {
        match (sys::sqlite3_value_type(value), buffer.values_mut()) {
            (sys::SQLITE_INTEGER, ColumnValues::Ints(ints)) => {
                ints.push(sys::sqlite3_value_int64(value));
            }
            (sys::SQLITE_FLOAT, ColumnValues::Floats(floats)) => {
                floats.push(sys::sqlite3_value_double(value));
            }
            (sys::SQLITE_TEXT, ColumnValues::Texts(texts)) => {
                return text_bytes(value).is_some_and(|bytes| texts.push(bytes));
            }
            (sys::SQLITE_BLOB, ColumnValues::Bytes(values)) => {
                return values.push(blob_bytes(value));
            }
            (sys::SQLITE_NULL, _) => return buffer.push_null(),
            _ => return false,
        }
    }
    true
}

/// # Safety
/// The value is a text, and outlives the result.
#[inline]
unsafe fn text<'a>(value: *mut sys::sqlite3_value) -> ValueRef<'a> {
    // SAFETY: the caller guarantees it.
    match unsafe { text_bytes(value) } {
        Some(bytes) => std::str::from_utf8(bytes).map_or(ValueRef::Bytes(bytes), ValueRef::Text),
        None => ValueRef::Bytes(&[]),
    }
}

/// The bytes of a text; `None` if memory does not suffice for its conversion to UTF-8.
///
/// # Safety
/// The value is a text, and outlives the result.
#[inline]
unsafe fn text_bytes<'a>(value: *mut sys::sqlite3_value) -> Option<&'a [u8]> {
    // SAFETY: `sqlite3_value_text` before `sqlite3_value_bytes`, as their order is prescribed;
    // the bytes counted are there, before the closing NUL.
    unsafe {
        let start = sys::sqlite3_value_text(value);
        if start.is_null() {
            return None;
        }
        Some(slice::from_raw_parts(start, sys::sqlite3_value_bytes(value) as usize))
    }
}

/// # Safety
/// The value is a blob, and outlives the result.
#[inline]
unsafe fn blob_bytes<'a>(value: *mut sys::sqlite3_value) -> &'a [u8] {
    // SAFETY: the pointer is null for no bytes, else to as many as are counted.
    unsafe {
        let start = sys::sqlite3_value_blob(value);
        if start.is_null() {
            return &[];
        }
        slice::from_raw_parts(start.cast(), sys::sqlite3_value_bytes(value) as usize)
    }
}
