//! A hash index: from a key's or a unique index's values to the row's slot.
//!
//! It stores slots and parts of their hashes, no values: the caller compares candidates with their rows. It has 256
//! shards, which clones share until one of them is changed. The hash has a random key, so that nobody can choose keys that
//! collide.

use hashbrown::HashTable;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

const SHARDS: usize = 256;

/// From hashes to slots.
#[derive(Clone)]
pub(super) struct HashIndex {
    shards: Vec<Option<Arc<HashTable<Entry>>>>,
    state: RandomState,
}

#[derive(Clone, Copy)]
struct Entry {
    /// The lower half of the hash; the shard's position has its upper bits.
    hash: u32,
    slot: u32,
}

impl HashIndex {
    /// An empty index.
    pub fn new() -> Self {
        Self { shards: Vec::new(), state: RandomState::new() }
    }

    /// The hasher for the values.
    pub fn hasher(&self) -> <RandomState as BuildHasher>::Hasher {
        self.state.build_hasher()
    }

    /// The slot with this hash for which `is_it` is true.
    #[inline]
    pub fn find(&self, hash: u64, mut is_it: impl FnMut(u32) -> bool) -> Option<u32> {
        let shard = self.shards.get(shard(hash))?.as_ref()?;
        let half = hash as u32;
        shard
            .find(spread(half), |entry| entry.hash == half && is_it(entry.slot))
            .map(|entry| entry.slot)
    }

    /// Adds a slot.
    #[inline]
    pub fn insert(&mut self, hash: u64, slot: u32) {
        if self.shards.is_empty() {
            self.shards.resize(SHARDS, None);
        }
        if let Some(shard) = self.shards.get_mut(shard(hash)) {
            let entry = Entry { hash: hash as u32, slot };
            Arc::make_mut(shard.get_or_insert_default()).insert_unique(
                spread(entry.hash),
                entry,
                |entry| spread(entry.hash),
            );
        }
    }

    /// Removes a slot.
    pub fn remove(&mut self, hash: u64, slot: u32) {
        if let Some(Some(shard)) = self.shards.get_mut(shard(hash)) {
            let found =
                Arc::make_mut(shard).find_entry(spread(hash as u32), |entry| entry.slot == slot);
            if let Ok(entry) = found {
                entry.remove();
            }
        }
    }
}

const fn shard(hash: u64) -> usize {
    (hash >> 56) as usize
}

/// A hash of 64 bits from the stored half: the table uses bits from both ends.
const fn spread(half: u32) -> u64 {
    (half as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_found_until_they_are_removed() {
        let mut index = HashIndex::new();
        let hash = |i: u32| index.state.hash_one(i / 2);
        let hashes: Vec<u64> = (0..20_000).map(hash).collect();
        for (slot, &hash) in hashes.iter().enumerate() {
            index.insert(hash, slot as u32);
        }
        let before = index.clone();
        for (slot, &hash) in hashes.iter().enumerate().filter(|(slot, _)| slot % 3 == 0) {
            index.remove(hash, slot as u32);
        }
        for (slot, &hash) in hashes.iter().enumerate() {
            let slot = slot as u32;
            assert_eq!(before.find(hash, |s| s == slot), Some(slot));
            assert_eq!(index.find(hash, |s| s == slot).is_some(), !slot.is_multiple_of(3));
        }
        assert!(HashIndex::new().find(1, |_| true).is_none());
    }
}
