//! Storage of rows: slots in a tree of three levels, cheap to clone and cheap to change.
//!
//! A clone shares everything but the root. A change copies one node of 64 children on each level, so a transaction pays
//! for the rows that it changes, not for the whole table.

use bobak_core::codec::{self, FRAME};
use bobak_core::{Error, ErrorKind, Result, TableSchema, ValueRef};
use std::sync::Arc;

/// A row in the codec's bytes.
pub(super) type RowBytes = Arc<[u8]>;

/// Encodes a row of a table from its columns' values.
///
/// # Errors
/// `OutOfRange` if the row is larger than the codec allows.
pub(super) fn encode<'v>(
    buffer: &mut Vec<u8>,
    schema: &TableSchema,
    value: impl Fn(usize) -> ValueRef<'v>,
) -> Result<RowBytes> {
    buffer.clear();
    codec::encode_values(buffer, schema.columns().len(), value)
        .map_err(|error| error.in_table(schema.name()))?;
    Ok(Arc::from(buffer.get(FRAME..).unwrap_or_default()))
}

/// The number of children of a node; a power of two.
const FAN: usize = 64;
const BITS: u32 = FAN.ilog2();
/// The number of free slots in one shared part of the free list.
const FREE_PART: usize = 1024;

type Leaf = [Option<RowBytes>; FAN];
type Middle = [Option<Arc<Leaf>>; FAN];

/// The rows of a table, by slot. A slot keeps its row until the row is deleted; then it is reused.
#[derive(Clone, Default)]
pub(super) struct RowSlots {
    top: Vec<Arc<Middle>>,
    next: u32,
    len: usize,
    free: Vec<Arc<Vec<u32>>>,
}

impl RowSlots {
    /// The number of rows.
    pub fn len(&self) -> usize {
        self.len
    }

    /// The row in a slot.
    #[inline]
    pub fn get(&self, slot: u32) -> Option<&RowBytes> {
        let (top, middle, leaf) = positions(slot);
        self.top.get(top)?[middle].as_ref()?[leaf].as_ref()
    }

    /// Stores a row in a free slot.
    ///
    /// # Errors
    /// `Full` if the table has 2³² rows.
    #[inline]
    pub fn add(&mut self, row: RowBytes) -> Result<u32> {
        let slot = match self.take_free() {
            Some(slot) => slot,
            None => {
                let slot = self.next;
                let Some(next) = slot.checked_add(1) else {
                    return Err(Error::new(ErrorKind::Full, "the table has 2^32 rows"));
                };
                self.next = next;
                slot
            }
        };
        self.set(slot, Some(row));
        Ok(slot)
    }

    /// Stores a row in a slot, and returns the row that was there.
    #[inline]
    pub fn set(&mut self, slot: u32, row: Option<RowBytes>) -> Option<RowBytes> {
        let (top, middle, leaf) = positions(slot);
        while self.top.len() <= top {
            self.top.push(Arc::new(std::array::from_fn(|_| None)));
        }
        let node = self.top.get_mut(top).map(Arc::make_mut)?;
        let node = node[middle].get_or_insert_with(|| Arc::new(std::array::from_fn(|_| None)));
        self.len += usize::from(row.is_some());
        let old = std::mem::replace(&mut Arc::make_mut(node)[leaf], row);
        self.len -= usize::from(old.is_some());
        old
    }

    /// The slots whose rows differ from those of another state, in ascending order. Shared nodes are not compared.
    pub fn changed_slots(&self, other: &Self) -> Vec<u32> {
        let mut changed = Vec::new();
        for top in 0..self.top.len().max(other.top.len()) {
            let (own, its) = (self.top.get(top), other.top.get(top));
            if own.zip(its).is_some_and(|(own, its)| Arc::ptr_eq(own, its)) {
                continue;
            }
            for middle in 0..FAN {
                let leaf =
                    |node: Option<&'_ Arc<Middle>>| node.and_then(|node| node[middle].clone());
                let (own, its) = (leaf(own), leaf(its));
                let same = match (&own, &its) {
                    (None, None) => true,
                    (Some(own), Some(its)) => Arc::ptr_eq(own, its),
                    _ => false,
                };
                if !same {
                    let first = ((top * FAN + middle) * FAN) as u32;
                    push_changed(own.as_deref(), its.as_deref(), first, &mut changed);
                }
            }
        }
        changed
    }

    /// Makes an emptied slot available again.
    pub fn free(&mut self, slot: u32) {
        match self.free.last_mut() {
            Some(part) if part.len() < FREE_PART => Arc::make_mut(part).push(slot),
            _ => self.free.push(Arc::new(vec![slot])),
        }
    }

    #[inline]
    fn take_free(&mut self) -> Option<u32> {
        let part = Arc::make_mut(self.free.last_mut()?);
        let slot = part.pop();
        if part.is_empty() {
            self.free.pop();
        }
        slot
    }
}

fn push_changed(own: Option<&Leaf>, its: Option<&Leaf>, first: u32, changed: &mut Vec<u32>) {
    for (at, slot) in (0..FAN).zip(first..) {
        let row = |leaf: Option<&'_ Leaf>| leaf.and_then(|leaf| leaf[at].clone());
        let same = match (row(own), row(its)) {
            (None, None) => true,
            (Some(own), Some(its)) => Arc::ptr_eq(&own, &its),
            _ => false,
        };
        if !same {
            changed.push(slot);
        }
    }
}

#[inline]
fn positions(slot: u32) -> (usize, usize, usize) {
    let mask = FAN - 1;
    let slot = slot as usize;
    (slot >> (2 * BITS), (slot >> BITS) & mask, slot & mask)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(number: u32) -> RowBytes {
        Arc::from(&number.to_le_bytes()[..])
    }

    #[test]
    fn slots_are_reused_and_clones_keep_their_rows() {
        let mut rows = RowSlots::default();
        for number in 0..10_000 {
            assert_eq!(rows.add(row(number)).unwrap(), number);
        }
        let before = rows.clone();
        for slot in (0..10_000).step_by(3) {
            assert_eq!(rows.set(slot, None), Some(row(slot)));
            rows.free(slot);
        }
        assert_eq!(rows.len(), 10_000 - 3_334);
        assert_eq!(rows.add(row(7)).unwrap(), 9_999);
        for slot in 0..10_000 {
            assert_eq!(before.get(slot), Some(&row(slot)));
            assert_eq!(rows.get(slot).is_some(), slot % 3 != 0 || slot == 9_999);
        }
        for _ in 0..3_333 {
            assert!(rows.add(row(1)).unwrap() < 10_000);
        }
        assert_eq!(rows.add(row(1)).unwrap(), 10_000);
        assert!(rows.get(10_001).is_none() && rows.get(u32::MAX).is_none());
    }
}
