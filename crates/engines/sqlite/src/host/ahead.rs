//! Looking ahead: which keys a join will ask a far engine for, so that it is asked for a thousand
//! of them at once instead of one by one.
//!
//! A virtual table is told one key at a time. So when a statement has asked for some, it is run a
//! second time, as a scout: there the table says that it has no row for any key, and notes the
//! keys. Then they are fetched in blocks, in the order in which they will be asked for. Nothing
//! depends on the scout's being right: a key that it did not see is asked for by itself.

use super::lookup::Loaded;
use bobak_core::codec::{EncodedRow, FRAME, encode};
use bobak_core::{Condition, Value, ValueRef};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// How many keys are asked for at once.
const BLOCK: usize = 1_000;
/// About how many bytes of keys, and of rows, are kept.
const MOST_BYTES: usize = 64 << 20;

/// A table and the way it is read, of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub guest: usize,
    pub table: u64,
    pub plan: String,
}

/// What a connection's cursors know of the keys to come. Cursors of one place share it.
#[derive(Debug, Default)]
pub(crate) struct Aheads {
    /// The place whose keys are being noted.
    scouting: Option<(Place, Keys)>,
    known: Vec<Known>,
}

#[derive(Debug)]
struct Known {
    place: Place,
    /// How many cursors use it.
    users: usize,
    /// What each scout has found.
    parts: Vec<Part>,
}

/// The keys that a scout has found, and the rows of some blocks of them.
#[derive(Debug)]
struct Part {
    keys: Keys,
    blocks: HashMap<usize, Arc<Loaded>>,
}

/// Keys in the order in which they were asked for first, each once.
#[derive(Debug, Default)]
pub(crate) struct Keys {
    all: Vec<Arc<[u8]>>,
    places: HashMap<Arc<[u8]>, usize>,
    bytes: usize,
}

/// The block of a key.
pub(crate) enum Block {
    /// Its rows.
    Here(Arc<Loaded>),
    /// Where it is kept, and conditions that its rows keep.
    Away(Spot, Vec<Condition>),
}

/// Where a block is kept: the scout, and the block among its own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spot {
    part: usize,
    block: usize,
}

/// What became of a key that the scout was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Noted {
    /// It is noted, or can't be.
    Yes,
    /// There are too many.
    Full,
    /// Nobody asks for this place's keys.
    NotWanted,
}

impl Keys {
    /// How many.
    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }

    fn push(&mut self, key: Vec<u8>) -> bool {
        if self.places.contains_key(&key[..]) {
            return true;
        }
        self.bytes += key.len() + 64;
        if self.bytes > MOST_BYTES {
            return false;
        }
        let key: Arc<[u8]> = key.into();
        self.places.insert(Arc::clone(&key), self.all.len());
        self.all.push(key);
        true
    }

    /// What the rows of a block keep: for each column one of the block's values.
    fn conditions(&self, block: usize, columns: &[usize]) -> Vec<Condition> {
        let keys = self.all.chunks(BLOCK).nth(block).unwrap_or_default();
        let of_column = |(at, &column): (usize, &usize)| {
            let mut seen = HashSet::new();
            let mut values: Vec<Value<'static>> = Vec::with_capacity(keys.len());
            for key in keys {
                let value = EncodedRow::new(key).value(at);
                let mut bytes = Vec::new();
                // A value is never 4 GiB long.
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

/// A key's values as bytes.
pub(crate) fn key_of(values: &[(usize, ValueRef<'_>)]) -> Vec<u8> {
    let values: Vec<Value<'_>> = values.iter().map(|(_, value)| Value::from(*value)).collect();
    let mut bytes = Vec::new();
    // A key is never 4 GiB long.
    let _ = encode(&mut bytes, &values.as_slice());
    bytes.split_off(FRAME.min(bytes.len()))
}

impl Aheads {
    /// Notes the keys of a place from now on; `false` where another's are being noted.
    pub(crate) fn begin(&mut self, place: &Place) -> bool {
        let free = self.scouting.is_none();
        if free {
            self.scouting = Some((place.clone(), Keys::default()));
        }
        free
    }

    /// The keys that were noted.
    pub(crate) fn end(&mut self) -> Keys {
        self.scouting.take().map_or_else(Keys::default, |(_, keys)| keys)
    }

    /// Notes a key, where this place's are wanted; `None` is one that can't be looked for. One that
    /// is known has been found for another cursor of the place, which the scout has to pass.
    pub(crate) fn note(&mut self, place: &Place, key: impl FnOnce() -> Option<Vec<u8>>) -> Noted {
        let Some((_, keys)) = self.scouting.as_mut().filter(|(wanted, _)| wanted == place) else {
            return Noted::NotWanted;
        };
        let Some(key) = key() else {
            return Noted::Yes;
        };
        let known = self.known.iter().find(|known| known.place == *place);
        if known.is_some_and(|known| known.find(&key).is_some()) {
            return Noted::NotWanted;
        }
        if keys.push(key) { Noted::Yes } else { Noted::Full }
    }

    /// Keeps the keys for the cursors of a place, of which the caller is one.
    pub(crate) fn put(&mut self, place: &Place, keys: Keys) {
        let part = Part { keys, blocks: HashMap::new() };
        match self.known.iter_mut().find(|known| known.place == *place) {
            Some(known) => {
                known.users += 1;
                known.parts.push(part);
            }
            None => {
                self.known.push(Known { place: place.clone(), users: 1, parts: vec![part] });
            }
        }
    }

    /// A further cursor uses what is known of a place; `false` where nothing is.
    pub(crate) fn join(&mut self, place: &Place) -> bool {
        let known = self.known.iter_mut().find(|known| known.place == *place);
        known.map(|known| known.users += 1).is_some()
    }

    /// A cursor uses it no more.
    pub(crate) fn leave(&mut self, place: &Place) {
        self.known.retain_mut(|known| {
            known.users -= usize::from(known.place == *place);
            known.users > 0
        });
    }

    /// The block that a key is in; `None` for a key that nobody has seen.
    pub(crate) fn find(&self, place: &Place, columns: &[usize], key: &[u8]) -> Option<Block> {
        let known = self.known.iter().find(|known| known.place == *place)?;
        let spot = known.find(key)?;
        let part = known.parts.get(spot.part)?;
        Some(match part.blocks.get(&spot.block) {
            Some(loaded) => Block::Here(Arc::clone(loaded)),
            None => Block::Away(spot, part.keys.conditions(spot.block, columns)),
        })
    }

    /// Keeps a block's rows; where there are too many, no others.
    pub(crate) fn keep(&mut self, place: &Place, spot: Spot, loaded: &Arc<Loaded>) {
        let Some(known) = self.known.iter_mut().find(|known| known.place == *place) else {
            return;
        };
        let blocks = known.parts.iter().flat_map(|part| part.blocks.values());
        if blocks.map(|block| block.bytes()).sum::<usize>() + loaded.bytes() > MOST_BYTES {
            known.parts.iter_mut().for_each(|part| part.blocks.clear());
        }
        if let Some(part) = known.parts.get_mut(spot.part) {
            part.blocks.insert(spot.block, Arc::clone(loaded));
        }
    }
}

impl Known {
    fn find(&self, key: &[u8]) -> Option<Spot> {
        let found = |(part, found): (usize, &Part)| {
            let number = found.keys.places.get(key)?;
            Some(Spot { part, block: number / BLOCK })
        };
        self.parts.iter().enumerate().find_map(found)
    }
}
