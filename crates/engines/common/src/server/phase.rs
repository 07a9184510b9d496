//! What a connection that breaks means.

use bobak_core::{Error, ErrorKind};
use std::fmt::Display;

/// What a connection is doing: it decides what a lost connection means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerPhase {
    /// Nothing that could change anything.
    Read,
    /// A statement that writes and commits by itself.
    Write,
    /// Inside a transaction that is not yet committed: the server undoes it with the connection.
    Inside,
    /// A commit.
    Commit,
}

impl ServerPhase {
    /// What a connection that broke has left, and the kind of the error that says so.
    #[must_use]
    pub const fn outcome(self) -> (ErrorKind, &'static str) {
        match self {
            Self::Read => (ErrorKind::Unreachable, "nothing was written"),
            Self::Inside => (ErrorKind::Unreachable, "the transaction was rolled back"),
            Self::Write => (ErrorKind::Unknown, "the write was done completely or not at all"),
            Self::Commit => {
                (ErrorKind::Unknown, "the transaction was committed completely or not at all")
            }
        }
    }

    /// The error of a connection that broke.
    #[must_use]
    pub fn lost(self, error: impl Display) -> Error {
        let (kind, known) = self.outcome();
        Error::new(kind, format!("the connection to the server broke: {known} ({error})"))
    }
}
