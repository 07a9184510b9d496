//! Locks: SQLite's five levels for a file, and its slots for shared memory.

use bobak_sqlite::vfs::{SharedRegion, codes};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

/// A level of lock on a file.
pub(crate) type LockLevel = i32;
pub(crate) const UNLOCKED: LockLevel = codes::SQLITE_LOCK_NONE;
const SHARED: LockLevel = codes::SQLITE_LOCK_SHARED;
const RESERVED: LockLevel = codes::SQLITE_LOCK_RESERVED;
const PENDING: LockLevel = codes::SQLITE_LOCK_PENDING;
const EXCLUSIVE: LockLevel = codes::SQLITE_LOCK_EXCLUSIVE;

/// The locks on one file, by the number of the open file.
#[derive(Debug, Default)]
pub(crate) struct FileLocks(BTreeMap<u64, LockLevel>);

impl FileLocks {
    /// Raises the level; `false` if other locks conflict.
    pub(crate) fn raise(&mut self, handle: u64, wanted: LockLevel) -> bool {
        if self.0.get(&handle).copied().unwrap_or(UNLOCKED) >= wanted {
            return true;
        }
        let others = self.0.iter().filter(|(other, _)| **other != handle);
        let highest = others.map(|(_, level)| *level).max().unwrap_or(UNLOCKED);
        let reached = match wanted {
            SHARED => (highest < PENDING).then_some(SHARED),
            RESERVED => (highest < RESERVED).then_some(RESERVED),
            _ if highest >= RESERVED => None,
            // Current readers can finish; new ones must wait.
            _ if highest == SHARED => Some(PENDING),
            _ => Some(EXCLUSIVE),
        };
        if let Some(level) = reached {
            self.0.insert(handle, level);
        }
        reached.is_some_and(|level| level >= wanted)
    }

    pub(crate) fn lower(&mut self, handle: u64, level: LockLevel) {
        if level == UNLOCKED {
            self.0.remove(&handle);
        } else if let Some(held) = self.0.get_mut(&handle) {
            *held = level.min(*held);
        }
    }

    /// Whether a lock is reserved or higher.
    pub(crate) fn is_reserved(&self) -> bool {
        self.0.values().any(|level| *level >= RESERVED)
    }
}

/// The memory that the connections to one file share, with its locks.
#[derive(Debug, Default)]
pub(crate) struct SharedMemory {
    regions: Mutex<Vec<SharedRegion>>,
    slots: Mutex<Vec<SharedSlot>>,
}

#[derive(Clone, Debug, Default)]
struct SharedSlot {
    exclusive: Option<u64>,
    shared: BTreeSet<u64>,
}

impl SharedMemory {
    /// A region; `None` if it does not exist and is not to be created.
    pub(crate) fn region(&self, index: usize, bytes: usize, create: bool) -> Option<SharedRegion> {
        let mut regions = self.regions.lock().unwrap_or_else(PoisonError::into_inner);
        while create && regions.len() <= index {
            regions.push(SharedRegion::new(bytes));
        }
        regions.get(index).cloned()
    }

    /// Locks slots; `false` if other locks conflict.
    pub(crate) fn lock(&self, handle: u64, from: usize, slots: usize, exclusive: bool) -> bool {
        let mut all = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        let wanted = grown(&mut all, from, slots);
        let free = |slot: &SharedSlot| {
            slot.exclusive.is_none_or(|other| other == handle)
                && (!exclusive || slot.shared.iter().all(|other| *other == handle))
        };
        if !wanted.iter().all(free) {
            return false;
        }
        for slot in wanted {
            if exclusive {
                slot.exclusive = Some(handle);
            } else {
                slot.shared.insert(handle);
            }
        }
        true
    }

    pub(crate) fn unlock(&self, handle: u64, from: usize, slots: usize) {
        let mut all = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        for slot in grown(&mut all, from, slots) {
            slot.forget(handle);
        }
    }

    pub(crate) fn forget(&self, handle: u64) {
        let mut all = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter_mut().for_each(|slot| slot.forget(handle));
    }
}

impl SharedSlot {
    fn forget(&mut self, handle: u64) {
        self.shared.remove(&handle);
        self.exclusive = self.exclusive.filter(|other| *other != handle);
    }
}

fn grown(all: &mut Vec<SharedSlot>, from: usize, slots: usize) -> &mut [SharedSlot] {
    if all.len() < from + slots {
        all.resize(from + slots, SharedSlot::default());
    }
    all.get_mut(from..from + slots).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_delay_a_commit_and_a_pending_commit_blocks_new_readers() {
        let mut locks = FileLocks::default();
        assert!(locks.raise(1, SHARED) && locks.raise(2, SHARED));
        assert!(locks.raise(1, RESERVED) && !locks.raise(2, RESERVED));
        assert!(locks.is_reserved());
        assert!(!locks.raise(1, EXCLUSIVE) && !locks.raise(3, SHARED));
        locks.lower(2, UNLOCKED);
        assert!(locks.raise(1, EXCLUSIVE) && !locks.raise(2, SHARED));
        locks.lower(1, SHARED);
        assert!(locks.raise(2, SHARED) && !locks.is_reserved());
    }

    #[test]
    fn shared_memory_does_not_move() {
        let memory = SharedMemory::default();
        assert!(memory.region(0, 64, false).is_none());
        let first = memory.region(0, 64, true).unwrap();
        memory.region(9, 64, true);
        assert!(memory.region(0, 64, false).unwrap().is_same(&first));
        assert!(memory.lock(1, 2, 1, false) && memory.lock(2, 2, 1, false));
        assert!(!memory.lock(1, 0, 4, true));
        memory.unlock(2, 2, 1);
        assert!(memory.lock(1, 0, 4, true) && !memory.lock(2, 3, 1, false));
        memory.forget(1);
        assert!(memory.lock(2, 3, 1, true));
    }
}
