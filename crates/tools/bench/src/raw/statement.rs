//! A prepared statement that finalizes itself, and outlives none of the texts bound to it.

use std::ffi::c_int;
use std::marker::PhantomData;
use std::ptr::NonNull;

use libsqlite3_sys as ffi;

use super::connection::Connection;
use crate::contender::Failure;

/// A statement of the connection `'c`, with texts bound that live for `'t`.
pub struct Statement<'c, 't> {
    handle: NonNull<ffi::sqlite3_stmt>,
    connection: &'c Connection,
    texts: PhantomData<&'t str>,
}

impl<'c, 't> Statement<'c, 't> {
    /// Takes over a handle that belongs to `connection`.
    pub(super) const fn new(
        handle: NonNull<ffi::sqlite3_stmt>,
        connection: &'c Connection,
    ) -> Self {
        Self { handle, connection, texts: PhantomData }
    }

    /// Binds an integer to the parameter `index`, from 1.
    #[inline]
    pub fn bind_i64(&mut self, index: c_int, value: i64) -> Result<(), Failure> {
        // SAFETY: the statement is open; a wrong index gives an error code.
        let code = unsafe { ffi::sqlite3_bind_int64(self.as_ptr(), index, value) };
        self.connection.check(code)
    }

    /// Binds a text to the parameter `index`, from 1, without a copy.
    #[inline]
    pub fn bind_text(&mut self, index: c_int, value: &'t str) -> Result<(), Failure> {
        let length =
            c_int::try_from(value.len()).map_err(|_| Failure::new("the text is too long"))?;
        let bytes = value.as_ptr().cast();
        // SAFETY: `value` holds `length` bytes, and `'t` outlives the statement, so SQLite never
        // reads them after their end.
        let code = unsafe {
            ffi::sqlite3_bind_text(self.as_ptr(), index, bytes, length, ffi::SQLITE_STATIC())
        };
        self.connection.check(code)
    }

    /// Goes to the next row; false when there is none.
    #[inline]
    pub fn step(&mut self) -> Result<bool, Failure> {
        // SAFETY: the statement is open.
        match unsafe { ffi::sqlite3_step(self.as_ptr()) } {
            ffi::SQLITE_ROW => Ok(true),
            ffi::SQLITE_DONE => Ok(false),
            _ => Err(self.connection.failure()),
        }
    }

    /// Makes the statement ready for its next run; what is bound stays bound.
    #[inline]
    pub fn reset(&mut self) -> Result<(), Failure> {
        // SAFETY: the statement is open.
        let code = unsafe { ffi::sqlite3_reset(self.as_ptr()) };
        self.connection.check(code)
    }

    /// Runs a statement that has no rows to its end.
    #[inline]
    pub fn execute(&mut self) -> Result<(), Failure> {
        self.step()?;
        self.reset()
    }

    /// The integer in the column `index`, from 0.
    #[inline]
    pub fn i64(&self, index: c_int) -> i64 {
        // SAFETY: the statement is open; without a row or column the result is 0.
        unsafe { ffi::sqlite3_column_int64(self.as_ptr(), index) }
    }

    /// The text in the column `index`, from 0; in SQLite's memory, until the next step.
    #[inline]
    pub fn text(&self, index: c_int) -> Result<&str, Failure> {
        // SAFETY: the statement is open; the length is read after the text, as SQLite requires.
        let (bytes, length) = unsafe {
            let bytes = ffi::sqlite3_column_text(self.as_ptr(), index);
            (bytes, ffi::sqlite3_column_bytes(self.as_ptr(), index))
        };
        let (false, Ok(length)) = (bytes.is_null(), usize::try_from(length)) else {
            return Err(Failure::new("the text is null"));
        };
        // SAFETY: SQLite keeps `length` bytes here until the statement moves, for which it would
        // have to be borrowed mutably.
        let bytes = unsafe { std::slice::from_raw_parts(bytes, length) };
        std::str::from_utf8(bytes).map_err(|_| Failure::new("the text is not UTF-8"))
    }

    const fn as_ptr(&self) -> *mut ffi::sqlite3_stmt {
        self.handle.as_ptr()
    }
}

impl Drop for Statement<'_, '_> {
    fn drop(&mut self) {
        // SAFETY: the handle is finalized here only, while its connection is still open.
        unsafe { ffi::sqlite3_finalize(self.as_ptr()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_bound_comes_back() {
        let connection = Connection::open(None, None).expect("memory is always there");
        let text = String::from("Namé\0x");
        let mut statement = connection.prepare("SELECT ?1, ?2, NULL").expect("it is right");
        statement.bind_i64(1, i64::MIN).expect("there is a first parameter");
        statement.bind_text(2, &text).expect("there is a second parameter");
        assert!(statement.step().expect("there is one row"));
        assert_eq!((statement.i64(0), statement.text(1)), (i64::MIN, Ok(text.as_str())));
        assert!(statement.text(2).is_err());
        assert!(!statement.step().expect("there is no second row"));
        statement.reset().expect("nothing went wrong");
        assert!(statement.bind_i64(3, 0).is_err());
    }
}
