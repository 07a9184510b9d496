//! The error that ends a command: one sentence for the user, and the exit code.

use std::fmt;
use std::io;

/// The result of a step of a command.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a command stopped.
#[derive(Debug)]
pub enum Error {
    /// Wrong arguments; exit code 2.
    Usage(String),
    /// The command failed; exit code 1.
    Failed(String),
    /// The reader closed the output (`bobak query … | head`). Not a failure; exit code 0.
    OutputClosed,
}

impl Error {
    /// Creates an error for wrong arguments.
    pub fn usage(sentence: impl Into<String>) -> Self {
        Self::Usage(sentence.into())
    }

    /// Creates an error for a failure.
    pub fn failed(sentence: impl Into<String>) -> Self {
        Self::Failed(sentence.into())
    }

    /// Creates an error from an I/O error; `doing` names the action, such as `open flights.csv`.
    #[must_use]
    pub fn io(doing: impl fmt::Display, error: &io::Error) -> Self {
        Self::Failed(format!("could not {doing}: {error}"))
    }

    /// Creates an error for a format that this build lacks; `lack` says what it cannot do, such as `read t.parquet`.
    pub fn not_built_in(lack: impl fmt::Display, feature: &str) -> Self {
        Self::Failed(format!(
            "this bobak cannot {lack}: install it with `cargo install bobak-cli --features {feature}`"
        ))
    }

    /// Creates an error from a failed write to the output. A closed pipe is not a failure.
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
            Self::OutputClosed => f.write_str("the output was closed"),
        }
    }
}

impl std::error::Error for Error {}

impl From<bobak::Error> for Error {
    fn from(error: bobak::Error) -> Self {
        Self::Failed(error.to_string())
    }
}
