//! What the server says of a request that failed.

use std::fmt;
use std::io;

/// An error of the server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct MssqlError {
    pub number: i32,
    /// From 11 to 16 a program can correct it; from 20 on the connection ends.
    pub severity: u8,
    pub message: String,
}

/// Why a call failed.
#[derive(Debug)]
pub(crate) enum TdsError {
    /// The connection is lost, or the input is no response.
    Io(io::Error),
    /// The server rejects the request.
    Server(MssqlError),
    /// The request was cancelled by an attention.
    Cancelled,
    /// The server's certificate is not trusted, or encryption was not agreed on.
    Tls(String),
}

pub(crate) type TdsResult<T> = Result<T, TdsError>;

impl From<io::Error> for TdsError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl fmt::Display for TdsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::Server(error) => write!(f, "error {}: {}", error.number, error.message),
            Self::Cancelled => f.write_str("the request was cancelled"),
            Self::Tls(message) => f.write_str(message),
        }
    }
}

impl std::error::Error for TdsError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            _ => None,
        }
    }
}

/// Bytes that are no response of a server.
#[cold]
pub(super) fn invalid(message: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, message)
}
