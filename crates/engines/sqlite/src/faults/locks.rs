//! Who has locked what: SQLite's five levels for a file, and its slots for shared memory.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::c_void;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};

/// A level of lock on a file, as SQLite numbers them.
pub(crate) type Level = i32;
pub(crate) const NONE: Level = 0;
const SHARED: Level = 1;
const RESERVED: Level = 2;
const PENDING: Level = 3;
const EXCLUSIVE: Level = 4;

/// The locks on one file, by handle.
#[derive(Debug, Default)]
pub(super) struct FileLocks(BTreeMap<u64, Level>);

impl FileLocks {
    /// Raises the handle's level; `false` where others are in the way.
    pub(super) fn raise(&mut self, handle: u64, wanted: Level) -> bool {
        if self.0.get(&handle).copied().unwrap_or(NONE) >= wanted {
            return true;
        }
        let others = self.0.iter().filter(|(other, _)| **other != handle);
        let highest = others.map(|(_, level)| *level).max().unwrap_or(NONE);
        let reached = match wanted {
            SHARED => (highest < PENDING).then_some(SHARED),
            RESERVED => (highest < RESERVED).then_some(RESERVED),
            _ if highest >= RESERVED => None,
            // Readers that are there may finish; new ones wait.
            _ if highest == SHARED => Some(PENDING),
            _ => Some(EXCLUSIVE),
        };
        if let Some(level) = reached {
            self.0.insert(handle, level);
        }
        reached.is_some_and(|level| level >= wanted)
    }

    pub(super) fn lower(&mut self, handle: u64, level: Level) {
        if level == NONE {
            self.0.remove(&handle);
        } else if let Some(held) = self.0.get_mut(&handle) {
            *held = level.min(*held);
        }
    }

    /// Whether anybody is about to write.
    pub(super) fn is_reserved(&self) -> bool {
        self.0.values().any(|level| *level >= RESERVED)
    }
}

/// Memory that the connections to one file share, with its locks.
#[derive(Debug, Default)]
pub(crate) struct SharedMemory {
    /// Shared ownership, so that nothing moves or claims the bytes while SQLite writes to them.
    regions: Mutex<Vec<Arc<[AtomicU64]>>>,
    slots: Mutex<Vec<Slot>>,
}

#[derive(Clone, Debug, Default)]
struct Slot {
    exclusive: Option<u64>,
    shared: BTreeSet<u64>,
}

impl SharedMemory {
    /// The start of a region of so many bytes, which lives as long as `self`; `None` where it is
    /// not there and not to be made.
    pub(super) fn region(&self, place: usize, bytes: usize, make: bool) -> Option<*mut c_void> {
        let mut regions = self.regions.lock().unwrap_or_else(PoisonError::into_inner);
        while make && regions.len() <= place {
            regions.push((0..bytes.div_ceil(8)).map(|_| AtomicU64::new(0)).collect());
        }
        regions.get(place).map(|region| region.as_ptr().cast_mut().cast())
    }

    /// `false` where another handle is in the way.
    pub(super) fn lock(&self, handle: u64, from: usize, slots: usize, exclusive: bool) -> bool {
        let mut all = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        let wanted = grown(&mut all, from, slots);
        let free = |slot: &Slot| {
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

    pub(super) fn unlock(&self, handle: u64, from: usize, slots: usize) {
        let mut all = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        for slot in grown(&mut all, from, slots) {
            slot.forget(handle);
        }
    }

    pub(super) fn forget(&self, handle: u64) {
        let mut all = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter_mut().for_each(|slot| slot.forget(handle));
    }
}

impl Slot {
    fn forget(&mut self, handle: u64) {
        self.shared.remove(&handle);
        self.exclusive = self.exclusive.filter(|other| *other != handle);
    }
}

fn grown(all: &mut Vec<Slot>, from: usize, slots: usize) -> &mut [Slot] {
    if all.len() < from + slots {
        all.resize(from + slots, Slot::default());
    }
    all.get_mut(from..from + slots).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_keep_a_writer_from_its_commit_and_it_new_readers_from_coming() {
        let mut locks = FileLocks::default();
        assert!(locks.raise(1, SHARED) && locks.raise(2, SHARED));
        assert!(locks.raise(1, RESERVED) && !locks.raise(2, RESERVED));
        assert!(locks.is_reserved());
        assert!(!locks.raise(1, EXCLUSIVE) && !locks.raise(3, SHARED));
        locks.lower(2, NONE);
        assert!(locks.raise(1, EXCLUSIVE) && !locks.raise(2, SHARED));
        locks.lower(1, SHARED);
        assert!(locks.raise(2, SHARED) && !locks.is_reserved());
    }

    #[test]
    fn shared_memory_stays_where_it_is() {
        let memory = SharedMemory::default();
        assert_eq!(memory.region(0, 64, false), None);
        let first = memory.region(0, 64, true);
        memory.region(9, 64, true);
        assert_eq!(memory.region(0, 64, false), first);
        assert!(memory.lock(1, 2, 1, false) && memory.lock(2, 2, 1, false));
        assert!(!memory.lock(1, 0, 4, true));
        memory.unlock(2, 2, 1);
        assert!(memory.lock(1, 0, 4, true) && !memory.lock(2, 3, 1, false));
        memory.forget(1);
        assert!(memory.lock(2, 3, 1, true));
    }
}
