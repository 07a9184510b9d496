//! What the driver says after a call that failed.

use super::succeeded;
use odbc_sys::{Handle, HandleType, SqlReturn};
use std::fmt;

/// One record of a failed call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Diagnostic {
    /// The SQLSTATE.
    pub state: String,
    /// The database's own number.
    pub native: i32,
    pub message: String,
}

/// A failed call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OdbcError {
    pub diagnostic: Diagnostic,
}

impl OdbcError {
    /// An error without a record.
    pub(crate) fn new(message: &str) -> Self {
        let (state, message) = ("HY000".to_owned(), message.to_owned());
        Self { diagnostic: Diagnostic { state, native: 0, message } }
    }

    /// The error of a call on a handle, if it failed. No rows are no failure.
    pub(crate) fn check(done: SqlReturn, kind: HandleType, handle: Handle) -> Result<(), Self> {
        if succeeded(done) || done == SqlReturn::NO_DATA {
            return Ok(());
        }
        Err(Self::of(kind, handle))
    }

    /// What the driver says of the last call on a handle.
    pub(crate) fn of(kind: HandleType, handle: Handle) -> Self {
        let mut records = (1..=8).map_while(|number| record(kind, handle, number));
        let Some(mut diagnostic) = records.next() else {
            return Self::new("the ODBC driver failed without giving a reason");
        };
        for more in records {
            // Of an array, each failed row has its record: the first counts. `01000` is a warning.
            if diagnostic.state.starts_with("01") && !more.state.starts_with("01") {
                diagnostic = more;
            }
        }
        Self { diagnostic }
    }
}

fn record(kind: HandleType, handle: Handle, number: i16) -> Option<Diagnostic> {
    let (mut state, mut native, mut length) = ([0_u16; 6], 0_i32, 0_i16);
    let mut message = vec![0_u16; 2_048];
    // SAFETY: the buffers are as long as is said.
    let done = unsafe {
        odbc_sys::SQLGetDiagRecW(
            kind,
            handle,
            number,
            state.as_mut_ptr(),
            &mut native,
            message.as_mut_ptr(),
            2_047,
            &mut length,
        )
    };
    if !succeeded(done) {
        return None;
    }
    let text = |units: &[u16]| {
        let end = units.iter().position(|unit| *unit == 0).unwrap_or(units.len());
        String::from_utf16_lossy(units.get(..end).unwrap_or_default())
    };
    Some(Diagnostic { state: text(&state), native, message: text(&message) })
}

impl fmt::Display for OdbcError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Diagnostic { state, native, message } = &self.diagnostic;
        write!(f, "{message} (SQLSTATE {state}, {native})")
    }
}

impl std::error::Error for OdbcError {}
