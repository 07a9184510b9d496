//! The calls of the driver manager, made safe: environment, connections, statements, and the buffers that are bound to
//! them. The one place of this crate with `unsafe`.
//!
//! A statement owns the buffers that are bound to it, and shares its connection, so that neither can be freed before it.
//! Freeing never fails: nobody needs to know what a lost connection answers then.

#![allow(unsafe_code, reason = "the driver manager is a C library")]

mod buffer;
mod diagnostics;
mod statement;

pub(crate) use buffer::{Buffer, BufferForm};
#[cfg(test)]
pub(crate) use diagnostics::Diagnostic;
pub(crate) use diagnostics::OdbcError;
pub(crate) use statement::{CatalogList, ColumnDescription, OdbcStatement};

use odbc_sys::{
    AttrOdbcVersion, CompletionType, ConnectionAttribute, DriverConnectOption,
    EnvironmentAttribute, HDbc, HEnv, Handle, HandleType, InfoType, SqlReturn,
};
use std::ptr::null_mut;
use std::sync::OnceLock;

type Result<T> = std::result::Result<T, OdbcError>;

/// The environment, which all connections of the process share. It is never freed.
struct Environment(HEnv);

// SAFETY: the driver manager locks the environment itself.
unsafe impl Send for Environment {}
// SAFETY: as above.
unsafe impl Sync for Environment {}

fn environment() -> Result<HEnv> {
    static SHARED: OnceLock<std::result::Result<Environment, OdbcError>> = OnceLock::new();
    let made = SHARED.get_or_init(|| {
        let mut handle = Handle::null();
        // SAFETY: an environment has no parent, and `handle` outlives the call.
        let done =
            unsafe { odbc_sys::SQLAllocHandle(HandleType::Env, Handle::null(), &mut handle) };
        if !succeeded(done) {
            return Err(OdbcError::new("the ODBC driver manager cannot be used"));
        }
        let environment = handle.as_henv();
        let version: odbc_sys::Pointer = AttrOdbcVersion::Odbc3.into();
        // SAFETY: the attribute is an integer, given in place of a pointer.
        let done = unsafe {
            odbc_sys::SQLSetEnvAttr(environment, EnvironmentAttribute::OdbcVersion, version, 0)
        };
        OdbcError::check(done, HandleType::Env, handle)?;
        Ok(Environment(environment))
    });
    made.as_ref().map(|made| made.0).map_err(Clone::clone)
}

/// Whether a call did what it should, with or without a warning.
fn succeeded(done: SqlReturn) -> bool {
    matches!(done, SqlReturn::SUCCESS | SqlReturn::SUCCESS_WITH_INFO)
}

/// UTF-16 with a NUL at the end, as the driver manager takes texts. Some drivers read beyond a length that they are given.
fn wide(text: &str) -> Vec<u16> {
    text.encode_utf16().filter(|unit| *unit != 0).chain([0]).collect()
}

/// The length of such a text: up to its NUL.
const WHOLE: i16 = -3;

/// A connection.
#[derive(Debug)]
pub(crate) struct Channel(HDbc);

// SAFETY: a connection may be used by any thread, by one at a time; `Connection` is used that way. Only cancellation
// comes from other threads, which ODBC allows.
unsafe impl Send for Channel {}
// SAFETY: as above.
unsafe impl Sync for Channel {}

impl Channel {
    /// Connects, with a timeout in seconds.
    pub(crate) fn connect(connection_string: &str, timeout: u32) -> Result<Self> {
        let environment = Handle(environment()?.0);
        let mut handle = Handle::null();
        // SAFETY: the environment lives as long as the process.
        let done = unsafe { odbc_sys::SQLAllocHandle(HandleType::Dbc, environment, &mut handle) };
        OdbcError::check(done, HandleType::Env, environment)?;
        let link = Self(handle.as_hdbc());
        // Some drivers do not know it, and then wait as long as they like.
        let _ = link.set(ConnectionAttribute::LOGIN_TIMEOUT, timeout as usize);
        let text = wide(connection_string);
        // SAFETY: the text ends with a NUL, and no text is returned.
        let done = unsafe {
            odbc_sys::SQLDriverConnectW(
                link.0,
                null_mut(),
                text.as_ptr(),
                WHOLE,
                null_mut(),
                0,
                null_mut(),
                DriverConnectOption::NoPrompt,
            )
        };
        link.check(done)?;
        Ok(link)
    }

    fn handle(&self) -> Handle {
        Handle(self.0.0)
    }

    fn check(&self, done: SqlReturn) -> Result<()> {
        OdbcError::check(done, HandleType::Dbc, self.handle())
    }

    /// Sets an attribute whose value is an integer.
    pub(crate) fn set(&self, attribute: ConnectionAttribute, value: usize) -> Result<()> {
        // SAFETY: an integer is given in place of a pointer.
        let done = unsafe {
            odbc_sys::SQLSetConnectAttrW(
                self.0,
                attribute,
                std::ptr::without_provenance_mut(value),
                odbc_sys::IS_UINTEGER,
            )
        };
        self.check(done)
    }

    /// Ends the transaction.
    pub(crate) fn end(&self, commit: bool) -> Result<()> {
        let how = if commit { CompletionType::Commit } else { CompletionType::Rollback };
        // SAFETY: the handle is a connection's.
        let done = unsafe { odbc_sys::SQLEndTran(HandleType::Dbc, self.handle(), how) };
        self.check(done)
    }

    /// What the driver says of itself or of the database; empty if it says nothing.
    pub(crate) fn text(&self, what: InfoType) -> String {
        let mut text = [0_u16; 256];
        let mut bytes = 0_i16;
        // SAFETY: the buffer is as long as is said, in bytes.
        let done = unsafe {
            odbc_sys::SQLGetInfoW(self.0, what, text.as_mut_ptr().cast(), 512, &mut bytes)
        };
        if !succeeded(done) {
            return String::new();
        }
        let end = text.iter().position(|unit| *unit == 0).unwrap_or(text.len());
        String::from_utf16_lossy(text.get(..end).unwrap_or_default())
    }

    /// A number of the same kind; 0 if the driver says nothing.
    pub(crate) fn number(&self, what: InfoType) -> u32 {
        let mut number = 0_u64;
        // SAFETY: numbers have four bytes at most.
        let done =
            unsafe { odbc_sys::SQLGetInfoW(self.0, what, (&raw mut number).cast(), 8, null_mut()) };
        // Little or big endian: the low or the high part; drivers of the latter are not known.
        if succeeded(done) { u32::try_from(number & 0xffff_ffff).unwrap_or(0) } else { 0 }
    }

    /// Whether the driver knows that the connection is lost.
    pub(crate) fn is_dead(&self) -> bool {
        self.has(ConnectionAttribute::CONNECTION_DEAD)
    }

    /// Whether each statement commits by itself, as far as the driver knows.
    pub(crate) fn is_autocommit(&self) -> bool {
        self.has(ConnectionAttribute::AUTOCOMMIT)
    }

    /// Whether an attribute is 1.
    fn has(&self, attribute: ConnectionAttribute) -> bool {
        let mut value = 0_u32;
        // SAFETY: the attribute is an integer of four bytes.
        let done = unsafe {
            odbc_sys::SQLGetConnectAttrW(self.0, attribute, (&raw mut value).cast(), 4, null_mut())
        };
        succeeded(done) && value == 1
    }
}

impl Drop for Channel {
    fn drop(&mut self) {
        // SAFETY: no statement is left, since each shares the connection. A transaction that is open is rolled back
        // first: some drivers reject to disconnect otherwise.
        unsafe {
            let _ = odbc_sys::SQLEndTran(HandleType::Dbc, self.handle(), CompletionType::Rollback);
            let _ = odbc_sys::SQLDisconnect(self.0);
            let _ = odbc_sys::SQLFreeHandle(HandleType::Dbc, self.handle());
        }
    }
}
