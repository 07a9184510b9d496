//! The errors of redb as Bobak's.

use bobak_core::{Error, ErrorKind};
use std::io;

/// The error for something that failed: `read t.kv`.
#[cold]
pub(super) fn failed(doing: &str, error: impl Into<redb::Error>) -> Error {
    let kind = match error.into() {
        redb::Error::Io(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            let message = format!("could not {doing}: the file is truncated: restore a backup");
            return Error::new(ErrorKind::Corrupt, message).with_source(error);
        }
        redb::Error::Io(error) if error.kind() == io::ErrorKind::InvalidData => {
            let message = format!("could not {doing}: {error}");
            return Error::new(ErrorKind::Corrupt, message).with_source(error);
        }
        redb::Error::Io(error) => return Error::io(doing, error),
        error @ (redb::Error::DatabaseAlreadyOpen | redb::Error::LockProtocolMismatch) => {
            (ErrorKind::Busy, error)
        }
        error @ redb::Error::Corrupted(_) => (ErrorKind::Corrupt, error),
        error @ redb::Error::UpgradeRequired(_) => (ErrorKind::Unsupported, error),
        error @ redb::Error::ValueTooLarge(_) => (ErrorKind::OutOfRange, error),
        error => (ErrorKind::Io, error),
    };
    let (kind, error) = kind;
    Error::new(kind, format!("could not {doing}: {}", one_line(&error))).with_source(error)
}

/// The error of a failed commit. If the disk failed, it is unknown whether it has the transaction.
#[cold]
pub(super) fn commit_failed(error: redb::CommitError) -> Error {
    let kind = match &error {
        redb::CommitError::TransactionPoisoned => ErrorKind::Io,
        _ => ErrorKind::Unknown,
    };
    let error = redb::Error::from(error);
    Error::new(kind, format!("could not commit: {}", one_line(&error))).with_source(error)
}

fn one_line(error: &redb::Error) -> String {
    error.to_string().replace('\n', " ")
}
