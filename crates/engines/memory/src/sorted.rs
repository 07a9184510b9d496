//! An ordered list of slots, used by ordered scans, ranges and sorted results.
//!
//! Each entry has its slot and the first eight bytes of its first column, in a form that sorts as the column does (see
//! [`prefix`](crate::order::prefix)). Most comparisons need only this array and read no row. The list is split into parts of
//! up to [`MAX_PART_LENGTH`] entries, which clones share until one of them is changed.

use std::cmp::Ordering;
use std::sync::Arc;

/// The maximum number of entries of a part.
const MAX_PART_LENGTH: usize = 1024;
/// Two neighbouring parts with so many entries in total are merged.
const MERGE: usize = MAX_PART_LENGTH / 4;

/// Slots in order.
#[derive(Clone, Default)]
pub(super) struct SortedSlots {
    /// The prefix of each part's first entry.
    heads: Vec<u64>,
    parts: Vec<Arc<Segment>>,
    len: usize,
}

#[derive(Clone, Default)]
struct Segment {
    prefixes: Vec<u64>,
    slots: Vec<u32>,
}

/// A position in the list: before an entry, or at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Position {
    part: usize,
    at: usize,
}

impl SortedSlots {
    /// How many entries there are.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.len
    }

    /// The first position.
    pub const fn start(&self) -> Position {
        Position { part: 0, at: 0 }
    }

    /// The position after the last entry.
    pub fn end(&self) -> Position {
        Position { part: self.parts.len(), at: 0 }
    }

    /// The last entry: its prefix and its slot.
    #[inline]
    pub fn last(&self) -> Option<(u64, u32)> {
        let part = self.parts.last()?;
        Some((*part.prefixes.last()?, *part.slots.last()?))
    }

    /// The slot at a position, which then moves forward; `None` at the end.
    #[inline]
    pub fn next(&self, position: &mut Position) -> Option<u32> {
        let part = self.parts.get(position.part)?;
        let slot = part.slots.get(position.at).copied();
        position.at += 1;
        if position.at >= part.slots.len() {
            *position = Position { part: position.part + 1, at: 0 };
        }
        slot
    }

    /// The slot before a position, which then moves back; `None` at the start.
    #[inline]
    pub fn previous(&self, position: &mut Position) -> Option<u32> {
        if position.at == 0 {
            position.part = position.part.checked_sub(1)?;
            position.at = self.parts.get(position.part)?.slots.len();
        }
        position.at = position.at.checked_sub(1)?;
        self.parts.get(position.part)?.slots.get(position.at).copied()
    }

    /// The first position whose entry is not before the probe. `before` decides for entries with the probe's prefix.
    #[inline]
    pub fn bound(&self, prefix: u64, before: impl FnMut(u32) -> bool) -> Position {
        let position = self.find_position(prefix, before);
        match self.parts.get(position.part) {
            Some(part) if position.at >= part.slots.len() => {
                Position { part: position.part + 1, at: 0 }
            }
            _ => position,
        }
    }

    /// As [`bound`](Self::bound), but possibly the end of a part instead of the start of the next one.
    #[inline]
    fn find_position(&self, prefix: u64, mut before: impl FnMut(u32) -> bool) -> Position {
        let heads_before =
            search(&self.heads, prefix, |part| self.first_slot(part).is_some_and(&mut before));
        let Some(number) = heads_before.checked_sub(1) else {
            return self.start();
        };
        let Some(part) = self.parts.get(number) else {
            return self.end();
        };
        let at = search(&part.prefixes, prefix, |at| {
            part.slots.get(at).copied().is_some_and(&mut before)
        });
        Position { part: number, at }
    }

    /// The slot of the entry that equals the probe; `compare` compares an entry that has the probe's prefix with it.
    #[inline]
    pub fn find(&self, prefix: u64, mut compare: impl FnMut(u32) -> Ordering) -> Option<u32> {
        let mut position = self.bound(prefix, |slot| compare(slot).is_lt());
        let part = self.parts.get(position.part)?;
        if *part.prefixes.get(position.at)? != prefix {
            return None;
        }
        self.next(&mut position).filter(|slot| compare(*slot).is_eq())
    }

    /// Adds an entry before the first one that is not before it.
    #[inline]
    pub fn insert(&mut self, prefix: u64, slot: u32, mut before: impl FnMut(u32) -> bool) {
        self.len += 1;
        let follows = match self.last() {
            Some((last, last_slot)) => last < prefix || (last == prefix && before(last_slot)),
            None => true,
        };
        if follows {
            return self.append(prefix, slot);
        }
        let position = self.find_position(prefix, before);
        let Some(part) = self.parts.get_mut(position.part).map(Arc::make_mut) else {
            return self.append(prefix, slot);
        };
        part.prefixes.insert(position.at, prefix);
        part.slots.insert(position.at, slot);
        if part.slots.len() > MAX_PART_LENGTH {
            let rest = Segment {
                prefixes: part.prefixes.split_off(MAX_PART_LENGTH / 2),
                slots: part.slots.split_off(MAX_PART_LENGTH / 2),
            };
            let head = rest.prefixes.first().copied().unwrap_or(prefix);
            self.parts.insert(position.part + 1, Arc::new(rest));
            self.heads.insert(position.part + 1, head);
        }
        if position.at == 0
            && let Some(head) = self.heads.get_mut(position.part)
        {
            *head = prefix;
        }
    }

    /// Removes the entry with this prefix and slot; `before` is as in [`bound`](Self::bound).
    pub fn remove(&mut self, prefix: u64, slot: u32, before: impl FnMut(u32) -> bool) -> bool {
        let position = self.bound(prefix, before);
        let Some(part) = self.parts.get_mut(position.part) else {
            return false;
        };
        if part.slots.get(position.at) != Some(&slot) {
            return false;
        }
        let part = Arc::make_mut(part);
        part.prefixes.remove(position.at);
        part.slots.remove(position.at);
        let head = part.prefixes.first().copied();
        self.len -= 1;
        match (head, self.heads.get_mut(position.part)) {
            (Some(head), Some(old)) => {
                *old = head;
                self.merge(position.part);
            }
            _ => {
                self.parts.remove(position.part);
                self.heads.remove(position.part);
            }
        }
        true
    }

    #[inline]
    fn append(&mut self, prefix: u64, slot: u32) {
        match self.parts.last_mut() {
            Some(part) if part.slots.len() < MAX_PART_LENGTH => {
                let part = Arc::make_mut(part);
                part.prefixes.push(prefix);
                part.slots.push(slot);
            }
            _ => {
                self.heads.push(prefix);
                self.parts.push(Arc::new(Segment { prefixes: vec![prefix], slots: vec![slot] }));
            }
        }
    }

    /// Merges a part with the next one if both have become small.
    fn merge(&mut self, at: usize) {
        let small = match (self.parts.get(at), self.parts.get(at + 1)) {
            (Some(a), Some(b)) => a.slots.len() + b.slots.len() <= MERGE,
            _ => false,
        };
        if small {
            let rest = self.parts.remove(at + 1);
            self.heads.remove(at + 1);
            if let Some(part) = self.parts.get_mut(at).map(Arc::make_mut) {
                part.prefixes.extend_from_slice(&rest.prefixes);
                part.slots.extend_from_slice(&rest.slots);
            }
        }
    }

    #[inline]
    fn first_slot(&self, part: usize) -> Option<u32> {
        self.parts.get(part)?.slots.first().copied()
    }
}

/// The number of entries before the probe.
#[inline]
fn search(prefixes: &[u64], prefix: u64, mut before: impl FnMut(usize) -> bool) -> usize {
    let low = lower(prefixes, prefix);
    let mut high = low;
    // Nearly always at most one entry has this prefix.
    match prefixes.get(low..) {
        Some([first, ..]) if *first != prefix => return low,
        Some([_, second, ..]) if *second == prefix => {
            high = prefixes.partition_point(|p| *p <= prefix);
        }
        Some([_, ..]) => high = low + 1,
        _ => {}
    }
    let (mut low, mut high) = (low, high);
    while low < high {
        let middle = low.midpoint(high);
        if before(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

/// The number of smaller prefixes. Fast for keys in ascending sequence.
#[inline]
fn lower(prefixes: &[u64], prefix: u64) -> usize {
    let guess = match prefixes.first() {
        Some(first) if *first < prefix => prefix - first,
        _ => return 0,
    };
    if guess < prefixes.len() as u64 {
        let guess = guess as usize;
        if let Some([previous, found]) = prefixes.get(guess - 1..=guess)
            && *found == prefix
            && *previous < prefix
        {
            return guess;
        }
    }
    prefixes.partition_point(|p| *p < prefix)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values by slot. The prefix is the value without its last digit, so that there are ties.
    fn check(values: &[u64], removed: &[usize]) {
        let mut sorted = SortedSlots::default();
        let mut model: Vec<(u64, u32)> = Vec::new();
        let value = |slot: u32| values[slot as usize];
        for (slot, &v) in values.iter().enumerate() {
            let slot = slot as u32;
            sorted.insert(v / 10, slot, |other| (value(other), other) < (v, slot));
            model.push((v, slot));
        }
        model.sort_unstable();
        for &slot in removed {
            let (v, slot) = (values[slot], slot as u32);
            let there = model.contains(&(v, slot));
            let gone = sorted.remove(v / 10, slot, |other| (value(other), other) < (v, slot));
            assert_eq!(gone, there);
            model.retain(|entry| *entry != (v, slot));
        }
        let mut position = sorted.start();
        let walked: Vec<_> = std::iter::from_fn(|| sorted.next(&mut position)).collect();
        assert_eq!(walked, model.iter().map(|e| e.1).collect::<Vec<_>>());
        assert_eq!(sorted.len(), model.len());
        let mut position = sorted.end();
        let mut back: Vec<_> = std::iter::from_fn(|| sorted.previous(&mut position)).collect();
        back.reverse();
        assert_eq!(walked, back);
        for probe in (0..values.len() as u64 * 2).step_by(37) {
            let mut position = sorted.bound(probe / 10, |slot| value(slot) < probe);
            let expected = model.iter().find(|e| e.0 >= probe).map(|e| e.1);
            assert_eq!(sorted.next(&mut position), expected, "from {probe}");
            let found = sorted.find(probe / 10, |slot| value(slot).cmp(&probe));
            let expected = model.iter().find(|e| e.0 == probe).map(|e| e.1);
            assert_eq!(found, expected, "find {probe}");
        }
    }

    #[test]
    fn ascending_descending_scattered_and_equal_values_sort() {
        let n = 5_000u64;
        let all: Vec<usize> = (0..n as usize).collect();
        let scattered: Vec<u64> = (0..n).map(|i| i * 2_654_435_761 % (2 * n)).collect();
        for values in
            [(0..n).collect::<Vec<_>>(), (0..n).rev().collect(), scattered, vec![7; n as usize]]
        {
            check(&values, &[]);
            check(&values, &all[..4_900]);
            check(&values, &all);
            check(&values, &[4_999, 4_999, 0, 2_500]);
        }
    }

    #[test]
    fn clones_do_not_see_later_changes() {
        let mut sorted = SortedSlots::default();
        (0..3_000u32).for_each(|slot| sorted.insert(u64::from(slot), slot, |_| true));
        let before = sorted.clone();
        (0..3_000u32).for_each(|slot| {
            assert!(sorted.remove(u64::from(slot), slot, |_| false));
        });
        assert_eq!((sorted.len(), before.len()), (0, 3_000));
        assert_eq!(before.last(), Some((2_999, 2_999)));
        assert!(sorted.last().is_none());
    }
}
