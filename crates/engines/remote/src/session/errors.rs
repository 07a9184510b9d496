//! Errors of sessions.

use bobak_core::{Error, ErrorKind};

#[cold]
pub(super) fn misuse(message: &str) -> Error {
    Error::new(ErrorKind::Misuse, message)
}

#[cold]
pub(super) fn lost() -> Error {
    let message = "the connection broke, and the transaction was rolled back: run it again from \
                   its start";
    Error::new(ErrorKind::Unreachable, message)
}
