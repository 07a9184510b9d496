//! The error that a virtual table or function of a connection gave last: SQLite passes on its text
//! only.

use bobak_core::Error;
use std::sync::{Arc, Mutex, PoisonError};

/// A place for one error, shared by a connection and what is registered on it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pending(Arc<Mutex<Option<Error>>>);

impl Pending {
    /// Keeps an error. Of two the first is the cause.
    pub(crate) fn set(&self, error: Error) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }

    /// Takes the error out.
    pub(crate) fn take(&self) -> Option<Error> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
