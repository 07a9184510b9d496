//! How calls fail: the server rejects them, or the connection breaks.

use bobak_core::{Error, ErrorKind};
use std::io;

/// Why a call failed.
#[derive(Debug)]
pub(crate) enum CallError {
    /// The server, or this client before it sent anything, rejected the call. The connection is usable.
    Rejected(Error),
    /// The connection is no longer usable.
    Broken(Broken),
}

/// Why a connection is not usable.
#[derive(Debug)]
pub(crate) enum Broken {
    /// An error of the operating system.
    Io(io::Error),
    /// The peer sent something that the protocol does not define.
    Garbled(Error),
    /// The server closed the connection and sent a reason, or the peer is no Bobak server.
    Closed(Error),
}

/// What is lost when a connection breaks during a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Nothing: the call can be repeated.
    Nothing,
    /// The whole transaction.
    Transaction,
    /// The call may have been committed.
    Unknown,
}

impl From<Error> for CallError {
    fn from(error: Error) -> Self {
        Self::Rejected(error)
    }
}

impl From<Broken> for CallError {
    fn from(broken: Broken) -> Self {
        Self::Broken(broken)
    }
}

impl From<io::Error> for Broken {
    fn from(error: io::Error) -> Self {
        // TLS reports its own errors, which say more than those of the operating system.
        error.downcast().map_or_else(Self::Io, Self::Closed)
    }
}

impl Broken {
    /// The error for the caller.
    #[cold]
    pub fn into_error(self, effect: Effect) -> Error {
        let kind = match (effect, self.is_timeout()) {
            (Effect::Unknown, _) => ErrorKind::Unknown,
            (_, true) => ErrorKind::Timeout,
            _ => ErrorKind::Unreachable,
        };
        let lost = match effect {
            Effect::Nothing => "",
            Effect::Transaction => "; the transaction was rolled back: run it again from its start",
            Effect::Unknown => "; the write was done completely or not at all",
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
                let message = format!("the server sent an invalid message{lost}");
                Error::new(kind, message).with_source(error)
            }
            // Rejected before anything was done: its own kind says more.
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

/// Whether a timeout has passed. Systems report it by either kind.
fn is_timeout(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}
