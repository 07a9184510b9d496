//! How calls fail: by the server's word, or because the connection broke.

use bobak_core::{Error, ErrorKind};
use std::io;

/// Why a call failed.
#[derive(Debug)]
pub(crate) enum Failed {
    /// The server, or this end before anything was sent, said no. The connection is as it was.
    Said(Error),
    /// The connection is of no use any more.
    Broken(Broken),
}

/// Why a connection is of no use.
#[derive(Debug)]
pub(crate) enum Broken {
    /// The operating system says so.
    Io(io::Error),
    /// The other end said something that the protocol does not know.
    Garbled(Error),
    /// The server closes the connection, and says why; or what answers is no such server.
    Closed(Error),
}

/// What is lost with a connection that breaks under a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Nothing: the call may be made again.
    Nothing,
    /// The transaction, whole.
    Transaction,
    /// Nobody knows: the call may have been committed.
    Unknown,
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Self::Said(error)
    }
}

impl From<Broken> for Failed {
    fn from(broken: Broken) -> Self {
        Self::Broken(broken)
    }
}

impl From<io::Error> for Broken {
    fn from(error: io::Error) -> Self {
        // A stream that knows more than the operating system says so in Bobak's words.
        error.downcast().map_or_else(Self::Io, Self::Closed)
    }
}

impl Broken {
    /// The error for the user.
    #[cold]
    pub fn into_error(self, effect: Effect) -> Error {
        let kind = match (effect, self.is_timeout()) {
            (Effect::Unknown, _) => ErrorKind::Unknown,
            (_, true) => ErrorKind::Timeout,
            _ => ErrorKind::Unreachable,
        };
        let lost = match effect {
            Effect::Nothing => "",
            Effect::Transaction => "; the transaction is undone: run it again from its beginning",
            Effect::Unknown => "; what was to be written is there wholly or not at all",
        };
        match self {
            Self::Io(error) if is_timeout(&error) => {
                Error::new(kind, format!("the server did not answer in time{lost}"))
                    .with_source(error)
            }
            Self::Io(error) => {
                Error::new(kind, format!("the connection to the server broke{lost}"))
                    .with_source(error)
            }
            Self::Garbled(error) => {
                let message = format!("the server sent what the protocol does not know{lost}");
                Error::new(kind, message).with_source(error)
            }
            // Refused before anything was done: its own kind says more.
            Self::Closed(error) if effect == Effect::Nothing => error,
            Self::Closed(error) => {
                let message =
                    format!("the server closed the connection: {}{lost}", error.message());
                Error::new(kind, message).with_source(error)
            }
        }
    }

    fn is_timeout(&self) -> bool {
        matches!(self, Self::Io(error) if is_timeout(error))
    }
}

/// Sockets say either when their time-out has passed.
fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}
