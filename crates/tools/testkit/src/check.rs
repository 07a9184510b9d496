//! What a case answers: nothing, or the sentence and the line where it went wrong.

use bobak_core::{Error, ErrorKind};
use std::fmt::{self, Debug};
use std::panic::Location;

/// What a case, and each question in it, gives back.
pub type Check<T = ()> = std::result::Result<T, Failure>;

/// Why a case failed, and at which line of the suite.
#[derive(Clone)]
pub struct Failure {
    message: String,
    place: &'static Location<'static>,
}

/// Characters of a message that are shown: values of a megabyte are not.
const SHOWN: usize = 2_000;

impl Failure {
    /// A failure at the line of the caller.
    #[must_use]
    #[track_caller]
    pub fn new(message: impl Into<String>) -> Self {
        let mut message: String = message.into();
        if let Some((end, _)) = message.char_indices().nth(SHOWN) {
            message.truncate(end);
            message.push('…');
        }
        let place = Location::caller();
        Self { message, place }
    }

    /// The sentence, without the place.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (file, line) = (self.place.file(), self.place.line());
        write!(f, "{} ({file}:{line})", self.message)
    }
}

impl Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<Error> for Failure {
    #[track_caller]
    fn from(error: Error) -> Self {
        Self::new(format!("an unexpected error: {error:?}"))
    }
}

/// Checks that both are equal.
///
/// # Errors
/// If they differ.
#[track_caller]
pub fn same<T: PartialEq + Debug>(what: &str, found: T, expected: T) -> Check {
    if found == expected {
        return Ok(());
    }
    let message = format!("{what}: found {found:?} where {expected:?} is right");
    Err(Failure::new(message))
}

/// Checks that the sentence is true.
///
/// # Errors
/// If it is false.
#[track_caller]
pub fn holds(what: &str, truth: bool) -> Check {
    if truth { Ok(()) } else { Err(Failure::new(format!("not so: {what}"))) }
}

/// The call failed with this kind of error, which is handed on.
///
/// # Errors
/// Where it succeeded, or failed otherwise.
#[track_caller]
pub fn fails<T: Debug>(what: &str, result: bobak_core::Result<T>, kind: ErrorKind) -> Check<Error> {
    match result {
        Err(error) if error.kind() == kind => Ok(error),
        Err(error) => {
            Err(Failure::new(format!("{what}: failed with {error:?} where {kind:?} is right")))
        }
        Ok(value) => {
            Err(Failure::new(format!("{what}: gave {value:?} where the error {kind:?} is right")))
        }
    }
}

/// As [`fails`], and the error names this table.
///
/// # Errors
/// If it does not.
#[track_caller]
pub fn fails_in<T: Debug>(
    what: &str,
    result: bobak_core::Result<T>,
    kind: ErrorKind,
    table: &str,
) -> Check<Error> {
    let error = fails(what, result, kind)?;
    if error.table() == Some(table) {
        return Ok(error);
    }
    Err(Failure::new(format!("{what}: {error:?} does not name table {table}")))
}
