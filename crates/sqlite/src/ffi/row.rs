//! The row that a statement stands on.

use bobak_core::{Row, ValueRef};
use libsqlite3_sys as sys;
use std::ffi::{CStr, c_int};
use std::marker::PhantomData;
use std::slice;

/// A row lent by a stepped statement: its texts point into SQLite's page or register.
#[derive(Debug)]
pub(crate) struct RowRef<'a> {
    statement: *mut sys::sqlite3_stmt,
    columns: usize,
    connection: PhantomData<&'a mut super::Connection>,
}

impl RowRef<'_> {
    /// # Safety
    /// The statement stands on a row of so many columns, and is neither stepped nor reset for as
    /// long as the result lives.
    #[inline]
    pub(super) unsafe fn new(statement: *mut sys::sqlite3_stmt, columns: usize) -> Self {
        Self { statement, columns, connection: PhantomData }
    }
}

impl Row for RowRef<'_> {
    #[inline]
    fn len(&self) -> usize {
        self.columns
    }

    /// A text that is not UTF-8 is handed out as bytes: a field of another type then says
    /// `Mismatch`, instead of reading a text that is not there.
    #[inline]
    fn get(&self, column: usize) -> ValueRef<'_> {
        if column >= self.columns {
            return ValueRef::Null;
        }
        // SAFETY: the statement stands on a row that has the column (see `new`). The value is
        // asked for its own type only, so that SQLite converts nothing that was lent before.
        unsafe {
            let value = sys::sqlite3_column_value(self.statement, column as c_int);
            match sys::sqlite3_value_type(value) {
                sys::SQLITE_INTEGER => ValueRef::Int(sys::sqlite3_value_int64(value)),
                sys::SQLITE_FLOAT => ValueRef::Float(sys::sqlite3_value_double(value)),
                sys::SQLITE_TEXT => text(value),
                sys::SQLITE_BLOB => blob(value),
                _ => ValueRef::Null,
            }
        }
    }

    fn name(&self, column: usize) -> Option<&str> {
        if column >= self.columns {
            return None;
        }
        // SAFETY: the statement has the column (see `new`). The name is a C string that lives
        // until the statement is prepared anew or finalized, which the borrow of the row forbids,
        // or until the same name is asked for in UTF-16, which nobody does.
        unsafe {
            let name = sys::sqlite3_column_name(self.statement, column as c_int);
            if name.is_null() { None } else { CStr::from_ptr(name).to_str().ok() }
        }
    }
}

/// # Safety
/// The value is a text, and outlives the result.
#[inline]
unsafe fn text<'a>(value: *mut sys::sqlite3_value) -> ValueRef<'a> {
    // SAFETY: `sqlite3_value_text` before `sqlite3_value_bytes`, as their order is prescribed;
    // the bytes counted are there, before the closing NUL.
    let bytes = unsafe {
        let start = sys::sqlite3_value_text(value);
        if start.is_null() {
            // Out of memory while it was turned into UTF-8.
            return ValueRef::Bytes(&[]);
        }
        slice::from_raw_parts(start, sys::sqlite3_value_bytes(value) as usize)
    };
    match std::str::from_utf8(bytes) {
        Ok(text) => ValueRef::Text(text),
        Err(_) => ValueRef::Bytes(bytes),
    }
}

/// # Safety
/// The value is a blob, and outlives the result.
#[inline]
unsafe fn blob<'a>(value: *mut sys::sqlite3_value) -> ValueRef<'a> {
    // SAFETY: the pointer is null for no bytes, else to as many as are counted.
    unsafe {
        let start = sys::sqlite3_value_blob(value);
        if start.is_null() {
            return ValueRef::Bytes(&[]);
        }
        let length = sys::sqlite3_value_bytes(value) as usize;
        ValueRef::Bytes(slice::from_raw_parts(start.cast(), length))
    }
}
