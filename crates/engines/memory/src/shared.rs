//! What the sessions of an engine share.

use crate::state::State;
use bobak_engine_common::WriteLock;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// The engine's name in messages.
pub(crate) const NAME: &str = "memory";

/// What the sessions share.
pub(crate) struct Shared {
    pub published: RwLock<Arc<State>>,
    pub writer: WriteLock,
}

impl Shared {
    #[inline]
    pub fn read(&self) -> RwLockReadGuard<'_, Arc<State>> {
        self.published.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// To change the published state in place. The writer lock must be held.
    #[inline]
    pub fn write(&self) -> RwLockWriteGuard<'_, Arc<State>> {
        self.published.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts another state in the published one's place. The writer lock must be held.
    pub fn publish(&self, state: Arc<State>) {
        let old = std::mem::replace(&mut *self.write(), state);
        // Outside the lock: it may be the last to hold a great many rows.
        drop(old);
    }
}
