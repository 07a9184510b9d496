//! A real SQLite, as small as will do.

#![allow(unsafe_code)]

use bobak_core::{Collation, Value, ValueRef};
use bobak_sql::Statement;
use libsqlite3_sys as ffi;
use std::ffi::{CStr, c_int, c_void};

/// A database in memory.
pub struct Sqlite(*mut ffi::sqlite3);

pub type Rows = Vec<Vec<Value<'static>>>;

impl Sqlite {
    pub fn new() -> Self {
        let mut db = std::ptr::null_mut();
        // SAFETY: both texts end in NUL; the callback reads no more than it is given.
        unsafe {
            assert_eq!(ffi::sqlite3_open(c":memory:".as_ptr(), &mut db), ffi::SQLITE_OK);
            let name = c"BOBAK_UNICODE_NOCASE".as_ptr();
            let null = std::ptr::null_mut();
            let done = ffi::sqlite3_create_collation_v2(
                db,
                name,
                ffi::SQLITE_UTF8,
                null,
                Some(unicode),
                None,
            );
            assert_eq!(done, ffi::SQLITE_OK);
        }
        Self(db)
    }

    /// Runs a statement that needs no parameters.
    pub fn execute(&self, text: &str) -> Result<Rows, String> {
        self.run(text, &[])
    }

    /// Runs a statement of the generator.
    pub fn statement(&self, statement: &Statement<'_>) -> Result<Rows, String> {
        self.run(&statement.text, &statement.parameters)
    }

    /// Runs a statement; its rows.
    pub fn run(&self, text: &str, parameters: &[Value<'_>]) -> Result<Rows, String> {
        // SAFETY: the statement is finalized before anything that it was made from goes away, and
        // its rows are copied before it steps on.
        unsafe {
            let statement = self.prepare(text)?;
            let count = ffi::sqlite3_bind_parameter_count(statement);
            assert_eq!(count as usize, parameters.len(), "parameters of {text}");
            for (at, value) in (1..).zip(parameters) {
                assert_eq!(bind(statement, at, value.as_ref()), ffi::SQLITE_OK);
            }
            let mut rows = Vec::new();
            while ffi::sqlite3_step(statement) == ffi::SQLITE_ROW {
                let columns = 0..ffi::sqlite3_column_count(statement);
                rows.push(columns.map(|column| read(statement, column)).collect());
            }
            match ffi::sqlite3_finalize(statement) {
                ffi::SQLITE_OK => Ok(rows),
                _ => Err(self.message()),
            }
        }
    }

    /// Whether SQLite takes the text, and as one statement; the number of its parameters.
    pub fn check(&self, text: &str) -> Result<usize, String> {
        // SAFETY: the statement is live until it is finalized here.
        unsafe {
            let statement = self.prepare(text)?;
            let count = ffi::sqlite3_bind_parameter_count(statement);
            ffi::sqlite3_finalize(statement);
            Ok(count as usize)
        }
    }

    unsafe fn prepare(&self, text: &str) -> Result<*mut ffi::sqlite3_stmt, String> {
        let mut statement = std::ptr::null_mut();
        let mut tail = std::ptr::null();
        // SAFETY: the length is the text's own; the tail points into it, or to its end.
        unsafe {
            let start = text.as_ptr().cast();
            let done = ffi::sqlite3_prepare_v2(
                self.0,
                start,
                text.len() as c_int,
                &mut statement,
                &mut tail,
            );
            if done != ffi::SQLITE_OK {
                return Err(format!("{}: {text}", self.message()));
            }
            assert_eq!(tail.offset_from(start), text.len() as isize, "more than one in {text}");
        }
        Ok(statement)
    }

    fn message(&self) -> String {
        // SAFETY: the message lives until the next call on this connection.
        unsafe { CStr::from_ptr(ffi::sqlite3_errmsg(self.0)) }.to_string_lossy().into_owned()
    }
}

impl Drop for Sqlite {
    fn drop(&mut self) {
        // SAFETY: no statement is live.
        unsafe { ffi::sqlite3_close(self.0) };
    }
}

unsafe fn bind(statement: *mut ffi::sqlite3_stmt, at: c_int, value: ValueRef<'_>) -> c_int {
    // SAFETY: SQLITE_TRANSIENT has SQLite copy what it is given.
    unsafe {
        match value {
            ValueRef::Null => ffi::sqlite3_bind_null(statement, at),
            ValueRef::Int(integer) => ffi::sqlite3_bind_int64(statement, at, integer),
            ValueRef::Float(float) => ffi::sqlite3_bind_double(statement, at, float),
            ValueRef::Text(text) => {
                let (start, length) = (text.as_ptr().cast(), text.len() as c_int);
                ffi::sqlite3_bind_text(statement, at, start, length, ffi::SQLITE_TRANSIENT())
            }
            // No bytes at a dangling address would do as well, but not at a null one.
            ValueRef::Bytes(bytes) => {
                let (start, length) = (bytes.as_ptr().cast(), bytes.len() as c_int);
                ffi::sqlite3_bind_blob(statement, at, start, length, ffi::SQLITE_TRANSIENT())
            }
        }
    }
}

unsafe fn read(statement: *mut ffi::sqlite3_stmt, column: c_int) -> Value<'static> {
    // SAFETY: the pointers are valid until the next step, and the bytes are copied at once; the pointer is read before the
    // length, which belongs to it.
    unsafe {
        match ffi::sqlite3_column_type(statement, column) {
            ffi::SQLITE_INTEGER => Value::Int(ffi::sqlite3_column_int64(statement, column)),
            ffi::SQLITE_FLOAT => Value::Float(ffi::sqlite3_column_double(statement, column)),
            ffi::SQLITE_TEXT => {
                let start = ffi::sqlite3_column_text(statement, column);
                let bytes = slice(start, ffi::sqlite3_column_bytes(statement, column));
                String::from_utf8(bytes).unwrap().into()
            }
            ffi::SQLITE_BLOB => {
                let start = ffi::sqlite3_column_blob(statement, column).cast();
                slice(start, ffi::sqlite3_column_bytes(statement, column)).into()
            }
            _ => Value::Null,
        }
    }
}

unsafe fn slice(start: *const u8, length: c_int) -> Vec<u8> {
    if start.is_null() {
        return Vec::new();
    }
    // SAFETY: SQLite gave both for the same value.
    unsafe { std::slice::from_raw_parts(start, length as usize) }.to_vec()
}

unsafe extern "C" fn unicode(
    _: *mut c_void,
    a_length: c_int,
    a: *const c_void,
    b_length: c_int,
    b: *const c_void,
) -> c_int {
    // SAFETY: SQLite lends both texts, as UTF-8, for this call.
    let (a, b) = unsafe { (slice(a.cast(), a_length), slice(b.cast(), b_length)) };
    let text = |bytes| String::from_utf8(bytes).unwrap_or_default();
    Collation::UnicodeNoCase.compare(&text(a), &text(b)) as c_int
}
