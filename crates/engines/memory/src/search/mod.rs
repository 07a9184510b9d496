//! Full-text search: an inverted index that a search brings up to date.
//!
//! Writes do nothing for it. The index has the rows that it was made of, whose storage is shared with the table's; a search
//! compares both, node by node, and adds what differs as a new segment. So it needs time for the rows written since the last
//! search, and a rollback needs none. A row's segment is the last one that it was added to; segments of similar size are
//! made into one.

mod leaf;
mod matches;
mod segment;

use crate::rows::RowSlots;
use crate::table::TableState;
use bobak_core::codec::EncodedRow;
use bobak_core::search::SearchSchema;
use bobak_core::{Interrupt, Result};
use segment::{Segment, SegmentBuilder};
use std::sync::{Arc, Mutex, PoisonError};

pub(super) use matches::{matching_rows, matching_slots};

/// The segment of a row that has none.
const NO_SEGMENT: u32 = u32::MAX;
/// How many times as large as the one after it a segment is, at least.
const GROWTH: usize = 4;

/// The index that the last search of a table made; shared by all states of the table.
#[derive(Default)]
pub(super) struct SearchCache(Mutex<Option<Arc<SearchIndex>>>);

/// An index of the rows of one state.
#[derive(Clone, Default)]
struct SearchIndex {
    rows: RowSlots,
    segments: Vec<Arc<Segment>>,
    /// For each slot, the number of the segment that has its row, and how many words the row has.
    owners: Arc<Vec<(u32, u32)>>,
    /// The number of all words.
    words: u64,
    next_segment: u32,
}

impl SearchCache {
    /// The index of the table's rows.
    ///
    /// # Errors
    /// `Interrupted`.
    fn index(&self, table: &TableState, search: &SearchSchema) -> Result<Arc<SearchIndex>> {
        let cached = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let cached = cached.unwrap_or_default();
        let changed = cached.rows.changed_slots(table.slots());
        if changed.is_empty() {
            return Ok(cached);
        }
        let mut index = SearchIndex::clone(&cached);
        drop(cached);
        index.rows = table.slots().clone();
        index.update(search, &changed)?;
        let index = Arc::new(index);
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&index));
        Ok(index)
    }
}

impl SearchIndex {
    fn update(&mut self, search: &SearchSchema, changed: &[u32]) -> Result<()> {
        let owners = Arc::make_mut(&mut self.owners);
        for &slot in changed {
            let slot = slot as usize;
            if owners.len() <= slot {
                owners.resize(slot + 1, (NO_SEGMENT, 0));
            }
            if let Some(owner) = owners.get_mut(slot) {
                self.words -= u64::from(owner.1);
                *owner = (NO_SEGMENT, 0);
            }
        }
        self.add_segment(search, changed)?;
        while let [.., before, last] = &self.segments[..]
            && before.rows() < last.rows().saturating_mul(GROWTH)
        {
            let numbers = [before.number, last.number];
            self.segments.truncate(self.segments.len() - 2);
            let is_own = |(_, owner): &(u32, &(u32, u32))| numbers.contains(&owner.0);
            let slots = (0..).zip(self.owners.iter()).filter(is_own).map(|(slot, _)| slot);
            let slots: Vec<u32> = slots.collect();
            self.words -= slots.iter().map(|slot| u64::from(self.length(*slot))).sum::<u64>();
            self.add_segment(search, &slots)?;
        }
        Ok(())
    }

    /// Adds the rows in these slots, in ascending order.
    fn add_segment(&mut self, search: &SearchSchema, slots: &[u32]) -> Result<()> {
        let number = self.next_segment;
        self.next_segment += 1;
        let mut builder = SegmentBuilder::new(number, search.language);
        let owners = Arc::make_mut(&mut self.owners);
        for (at, &slot) in slots.iter().enumerate() {
            if at % 256 == 0 {
                Interrupt::check()?;
            }
            let Some(bytes) = self.rows.get(slot) else { continue };
            let row = EncodedRow::new(bytes);
            let words = builder.add(slot, search.columns.iter().map(|column| row.value(*column)));
            self.words += u64::from(words);
            if let Some(owner) = owners.get_mut(slot as usize) {
                *owner = (number, words);
            }
        }
        self.segments.push(Arc::new(builder.finish()));
        Ok(())
    }

    /// Whether a segment has a slot's present row.
    fn owns(&self, segment: &Segment, slot: u32) -> bool {
        self.owners.get(slot as usize).is_some_and(|owner| owner.0 == segment.number)
    }

    /// How many words a slot's row has.
    fn length(&self, slot: u32) -> u32 {
        self.owners.get(slot as usize).map_or(0, |owner| owner.1)
    }
}
