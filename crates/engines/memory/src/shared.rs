//! What the sessions of an engine share.

use crate::state::DatabaseState;
use bobak_engine_common::WriteLock;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// The engine's name in messages.
pub(crate) const NAME: &str = "memory";

/// What the sessions share.
pub(crate) struct SharedState {
    pub published: RwLock<Arc<DatabaseState>>,
    pub writer: WriteLock,
}

impl SharedState {
    #[inline]
    pub fn read(&self) -> RwLockReadGuard<'_, Arc<DatabaseState>> {
        self.published.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// To change the published state in place. The writer lock must be held.
    #[inline]
    pub fn write(&self) -> RwLockWriteGuard<'_, Arc<DatabaseState>> {
        self.published.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts another state in the published one's place. The writer lock must be held.
    pub fn publish(&self, state: Arc<DatabaseState>) {
        let old = std::mem::replace(&mut *self.write(), state);
        // Outside the lock: dropping the last reference to many rows takes time.
        drop(old);
    }
}
