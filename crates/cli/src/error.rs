//! What ends a command: one sentence for the person at the terminal, and the exit code.

use std::fmt;
use std::io;

/// The result of everything that a command does.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a command stopped.
#[derive(Debug)]
pub enum Error {
    /// The command was called wrongly; exit code 2.
    Usage(String),
    /// The command could not do what it was asked; exit code 1.
    Failed(String),
    /// Whoever read the output has gone (`bobak query … | head`): nothing is left to say; exit code 0.
    OutputClosed,
}

impl Error {
    /// A call that cannot be meant so.
    pub fn usage(sentence: impl Into<String>) -> Self {
        Self::Usage(sentence.into())
    }

    /// Work that could not be done.
    pub fn failed(sentence: impl Into<String>) -> Self {
        Self::Failed(sentence.into())
    }

    /// An error of the operating system, with what was being done: `open flights.csv`.
    #[must_use]
    pub fn io(doing: impl fmt::Display, error: &io::Error) -> Self {
        Self::Failed(format!("could not {doing}: {error}"))
    }

    /// An error of writing to the output. A reader that has gone away is not a failure.
    #[must_use]
    pub fn output(error: &io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            Self::OutputClosed
        } else {
            Self::Failed(format!("could not write the output: {error}"))
        }
    }

    /// 0, 1 or 2: see the variants.
    #[must_use]
    pub const fn exit_code(&self) -> u8 {
        match self {
            Self::OutputClosed => 0,
            Self::Failed(_) => 1,
            Self::Usage(_) => 2,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(sentence) | Self::Failed(sentence) => f.write_str(sentence),
            Self::OutputClosed => f.write_str("the reader of the output has gone"),
        }
    }
}

impl std::error::Error for Error {}

impl From<bobak::Error> for Error {
    fn from(error: bobak::Error) -> Self {
        Self::Failed(error.to_string())
    }
}
