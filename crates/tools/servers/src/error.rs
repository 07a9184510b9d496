//! Why a server could not be started or stopped: one sentence, with the server's own last lines if it wrote any.

use std::fmt;
use std::io;
use std::path::Path;

/// What every fallible call of this crate returns.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// One sentence for people. Tests print it; nobody matches on it.
pub struct Error {
    message: String,
    missing: bool,
}

impl Error {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), missing: false }
    }

    pub(crate) fn missing(message: impl Into<String>) -> Self {
        Self { message: message.into(), missing: true }
    }

    pub(crate) fn io(doing: &str, path: &Path, error: &io::Error) -> Self {
        Self::new(format!("could not {doing} {}: {error}", path.display()))
    }

    /// Whether the server's programs are not installed; the sentence says how to get them.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        self.missing
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}
