//! The error for invalid JSON.

use bobak_core::{Error, ErrorKind};

/// `Syntax`, for text that is not JSON, or not of the expected structure.
#[cold]
pub(crate) fn invalid_json(error: &serde_json::Error) -> Error {
    Error::new(ErrorKind::Syntax, format!("invalid JSON: {error}"))
}
