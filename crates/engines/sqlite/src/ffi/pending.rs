//! The error that a connection's virtual table or function reported last: SQLite passes on its
//! text only.

use bobak_core::Error;
use std::sync::{Arc, Mutex, PoisonError};

/// A slot for one error, shared by a connection and its virtual tables and functions.
#[derive(Clone, Debug, Default)]
pub(crate) struct PendingError(Arc<Mutex<Option<Error>>>);

impl PendingError {
    /// Stores an error, unless there is one: the first error is the cause.
    pub(crate) fn set(&self, error: Error) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }

    /// Takes the error.
    pub(crate) fn take(&self) -> Option<Error> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
