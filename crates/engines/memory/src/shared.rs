//! What the sessions of an engine share.

use crate::saving::{MemoryTables, SaveHook};
use crate::state::DatabaseState;
use bobak_core::Result;
use bobak_engine_common::WriteLock;
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// The engine's name in messages.
pub(crate) const NAME: &str = "memory";

/// What the sessions share.
pub(crate) struct SharedState {
    pub published: RwLock<Arc<DatabaseState>>,
    pub writer: WriteLock,
    /// Called before a change is published.
    pub save: Option<SaveHook>,
}

impl SharedState {
    #[inline]
    pub fn read(&self) -> RwLockReadGuard<'_, Arc<DatabaseState>> {
        self.published.read().unwrap_or_else(PoisonError::into_inner)
    }

    #[inline]
    fn write(&self) -> RwLockWriteGuard<'_, Arc<DatabaseState>> {
        self.published.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the published state: in place, or in a copy if changes are saved. The writer lock must be held.
    ///
    /// # Errors
    /// Those of `run`, and of saving; nothing is changed then.
    #[inline]
    pub fn change<R>(&self, run: impl FnOnce(&mut Arc<DatabaseState>) -> Result<R>) -> Result<R> {
        if self.save.is_none() {
            return run(&mut self.write());
        }
        let mut state = Arc::clone(&self.read());
        let changed = run(&mut state)?;
        self.publish(state)?;
        Ok(changed)
    }

    /// Puts another state in the published one's place. The writer lock must be held.
    ///
    /// # Errors
    /// Those of saving; nothing is changed then.
    pub fn publish(&self, state: Arc<DatabaseState>) -> Result<()> {
        if let Some(save) = &self.save {
            let before = Arc::clone(&self.read());
            save(&MemoryTables::new(&before), &MemoryTables::new(&state))?;
        }
        let old = std::mem::replace(&mut *self.write(), state);
        // Outside the lock: dropping the last reference to many rows takes time.
        drop(old);
        Ok(())
    }
}
