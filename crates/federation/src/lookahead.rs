//! Batched lookups: finds out which keys a join will look up in a remote engine, so that it is
//! queried for a thousand of them at once instead of one by one.
//!
//! SQLite passes a virtual table one key at a time. So when a statement has looked up some keys, it
//! is run a second time, as a scout: in that run the table claims to have no row for any key, and
//! collects the keys. Their rows are then fetched in blocks, in the order in which they will be
//! needed. A wrong scout does no harm: a key that it did not see is looked up by itself.

use crate::lookup::LoadedRows;
use bobak_core::codec::{EncodedRow, FRAME, encode};
use bobak_core::{Condition, Value, ValueRef};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// The number of keys that one query asks for.
const LOOKUP_KEYS: usize = 1_000;
/// The approximate limit on the bytes of collected keys, and on those of loaded rows.
const MAX_BYTES: usize = 64 << 20;

/// A table together with the plan by which a statement reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LookupSite {
    /// The engine's position.
    pub engine: usize,
    /// The table's schema id.
    pub table: u64,
    pub plan: String,
}

/// The collected keys of a connection, by site. The cursors of a site share them.
#[derive(Debug, Default)]
pub(crate) struct BatchedLookups {
    /// The site whose keys are being collected.
    collecting: Option<(LookupSite, KeySet)>,
    sites: Vec<SiteKeys>,
}

#[derive(Debug)]
struct SiteKeys {
    site: LookupSite,
    /// The number of cursors that use it.
    users: usize,
    /// What each scout has collected.
    scouted: Vec<ScoutedKeys>,
}

/// The keys that one scout has collected, and the rows of some blocks of them.
#[derive(Debug)]
struct ScoutedKeys {
    keys: KeySet,
    blocks: HashMap<usize, Arc<LoadedRows>>,
}

/// Distinct keys in the order of their first lookup.
#[derive(Debug, Default)]
pub(crate) struct KeySet {
    all: Vec<Arc<[u8]>>,
    positions: HashMap<Arc<[u8]>, usize>,
    bytes: usize,
}

/// The block that contains a key.
pub(crate) enum KeyBlock {
    /// Its rows are loaded.
    Loaded(Arc<LoadedRows>),
    /// Its rows must be loaded: the address to store them at, and conditions that they satisfy.
    NotLoaded(BlockAddress, Vec<Condition>),
}

/// Identifies a block within its site.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockAddress {
    scout: usize,
    block: usize,
}

/// The outcome of offering a key to the scout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Collection {
    /// The key is collected, or none is needed.
    Collected,
    /// There are too many keys.
    Full,
    /// This site's keys are not being collected.
    NotCollecting,
}

impl KeySet {
    /// The number of keys.
    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    fn push(&mut self, key: Vec<u8>) -> bool {
        if self.positions.contains_key(&key[..]) {
            return true;
        }
        self.bytes += key.len() + 64;
        if self.bytes > MAX_BYTES {
            return false;
        }
        let key: Arc<[u8]> = key.into();
        self.positions.insert(Arc::clone(&key), self.all.len());
        self.all.push(key);
        true
    }

    /// Conditions that the rows of a block satisfy: each column is one of the block's values.
    fn conditions(&self, block: usize, columns: &[usize]) -> Vec<Condition> {
        let keys = self.all.chunks(LOOKUP_KEYS).nth(block).unwrap_or_default();
        let of_column = |(at, &column): (usize, &usize)| {
            let mut seen = HashSet::new();
            let mut values: Vec<Value<'static>> = Vec::with_capacity(keys.len());
            for key in keys {
                let value = EncodedRow::new(key).value(at);
                let mut bytes = Vec::new();
                // Encoding fails only for values of 4 GiB.
                let _ = encode(&mut bytes, &[Value::from(value)].as_slice());
                if seen.insert(bytes) {
                    values.push(value.to_owned());
                }
            }
            Condition::In { column, values }
        };
        columns.iter().enumerate().map(of_column).collect()
    }
}

/// The bytes of a key's values.
pub(crate) fn encode_key(values: &[(usize, ValueRef<'_>)]) -> Vec<u8> {
    let values: Vec<Value<'_>> = values.iter().map(|(_, value)| Value::from(*value)).collect();
    let mut bytes = Vec::new();
    // Encoding fails only for values of 4 GiB.
    let _ = encode(&mut bytes, &values.as_slice());
    bytes.split_off(FRAME.min(bytes.len()))
}

impl BatchedLookups {
    /// Starts to collect the keys of a site; `false` if another's are being collected.
    pub(crate) fn begin_collecting(&mut self, site: &LookupSite) -> bool {
        let free = self.collecting.is_none();
        if free {
            self.collecting = Some((site.clone(), KeySet::default()));
        }
        free
    }

    /// Ends collecting; returns the keys.
    pub(crate) fn end_collecting(&mut self) -> KeySet {
        self.collecting.take().map_or_else(KeySet::default, |(_, keys)| keys)
    }

    /// Collects a key if this site's are being collected. `key` returns `None` for values that no
    /// row can equal. A key that is known already belongs to another cursor of the site: the scout
    /// must read its rows.
    pub(crate) fn collect(
        &mut self,
        site: &LookupSite,
        key: impl FnOnce() -> Option<Vec<u8>>,
    ) -> Collection {
        let Some((_, keys)) = self.collecting.as_mut().filter(|(other, _)| other == site) else {
            return Collection::NotCollecting;
        };
        let Some(key) = key() else {
            return Collection::Collected;
        };
        let known = self.sites.iter().find(|known| known.site == *site);
        if known.is_some_and(|known| known.find(&key).is_some()) {
            return Collection::NotCollecting;
        }
        if keys.push(key) { Collection::Collected } else { Collection::Full }
    }

    /// Stores a site's collected keys. The caller is one of the cursors that use them.
    pub(crate) fn store_keys(&mut self, site: &LookupSite, keys: KeySet) {
        let scouted = ScoutedKeys { keys, blocks: HashMap::new() };
        match self.sites.iter_mut().find(|known| known.site == *site) {
            Some(known) => {
                known.users += 1;
                known.scouted.push(scouted);
            }
            None => {
                let scouted = vec![scouted];
                self.sites.push(SiteKeys { site: site.clone(), users: 1, scouted });
            }
        }
    }

    /// Adds a cursor that uses a site's keys; `false` if there are none.
    pub(crate) fn join(&mut self, site: &LookupSite) -> bool {
        let known = self.sites.iter_mut().find(|known| known.site == *site);
        known.map(|known| known.users += 1).is_some()
    }

    /// Removes a cursor that uses a site's keys.
    pub(crate) fn leave(&mut self, site: &LookupSite) {
        self.sites.retain_mut(|known| {
            known.users -= usize::from(known.site == *site);
            known.users > 0
        });
    }

    /// The block that contains a key; `None` for a key that no scout has seen.
    pub(crate) fn find(
        &self,
        site: &LookupSite,
        columns: &[usize],
        key: &[u8],
    ) -> Option<KeyBlock> {
        let known = self.sites.iter().find(|known| known.site == *site)?;
        let address = known.find(key)?;
        let scouted = known.scouted.get(address.scout)?;
        Some(match scouted.blocks.get(&address.block) {
            Some(loaded) => KeyBlock::Loaded(Arc::clone(loaded)),
            None => KeyBlock::NotLoaded(address, scouted.keys.conditions(address.block, columns)),
        })
    }

    /// Stores the rows of a block. If there are too many bytes, the other blocks are dropped.
    pub(crate) fn store_block(
        &mut self,
        site: &LookupSite,
        address: BlockAddress,
        loaded: &Arc<LoadedRows>,
    ) {
        let Some(known) = self.sites.iter_mut().find(|known| known.site == *site) else {
            return;
        };
        let blocks = known.scouted.iter().flat_map(|scouted| scouted.blocks.values());
        if blocks.map(|block| block.bytes()).sum::<usize>() + loaded.bytes() > MAX_BYTES {
            known.scouted.iter_mut().for_each(|scouted| scouted.blocks.clear());
        }
        if let Some(scouted) = known.scouted.get_mut(address.scout) {
            scouted.blocks.insert(address.block, Arc::clone(loaded));
        }
    }
}

impl SiteKeys {
    fn find(&self, key: &[u8]) -> Option<BlockAddress> {
        let found = |(scout, scouted): (usize, &ScoutedKeys)| {
            let position = scouted.keys.positions.get(key)?;
            Some(BlockAddress { scout, block: position / LOOKUP_KEYS })
        };
        self.scouted.iter().enumerate().find_map(found)
    }
}
