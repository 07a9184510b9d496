//! Reads the rows of a plan, one by one, from an immutable state.

use crate::plan::{Path, Plan, Walk, run_start};
use crate::sorted::Position;
use crate::table::{TableIndex, TableState, compare_slots};
use bobak_core::codec::EncodedRow;
use bobak_core::{Condition, Interrupt, Order, ValueRef};
use bobak_engine_common::PreparedCondition;
use std::sync::Arc;

/// A scan of the rows that match a condition, in an order. It keeps its state alive.
pub(super) struct Scan {
    table: Arc<TableState>,
    /// `None` if the rows were selected before.
    condition: Option<PreparedCondition>,
    steps: Steps,
    /// The number of rows read. The scan checks for an interrupt at intervals.
    passed: u32,
}

/// The number of rows between checks for an interrupt.
const INTERRUPT_CHECK_ROWS: u32 = 1_024;

/// The state of the scan.
enum Steps {
    /// In a list of slots.
    Listed { slots: Vec<u32>, next: usize },
    /// In an index, forward from one position to another.
    Forward { index: usize, at: Position, to: Position },
    /// In an index, back to a place.
    Backward { index: usize, from: Position, at: Position },
    /// In an index, back to a place by runs: the present run goes from `at` to `end`, what is
    /// before `start` is still to come.
    Runs {
        index: usize,
        columns: usize,
        from: Position,
        start: Position,
        at: Position,
        end: Position,
    },
}

impl Scan {
    /// The rows that match the condition, in the order (or in any, if it is empty). `most` is the maximum number of rows that
    /// the caller reads.
    pub fn new(
        table: Arc<TableState>,
        condition: Option<&Condition>,
        order: &[Order],
        most: Option<u64>,
    ) -> Self {
        let plan = Plan::new(&table, condition, order);
        let steps = Steps::new(plan.path, plan.walk.unwrap_or(Walk::Forward));
        let condition = condition.map(|c| PreparedCondition::new(c, &table.schema));
        let mut scan = Self { table, condition, steps, passed: 0 };
        if plan.walk.is_none() {
            let slots = scan.sorted(order, most);
            scan.condition = None;
            scan.steps = Steps::Listed { slots, next: 0 };
        }
        scan
    }

    /// The rows in these slots that match the condition, in the order (or in the slots' order, if it is empty).
    pub fn of_slots(
        table: Arc<TableState>,
        slots: Vec<u32>,
        condition: Option<&Condition>,
        order: &[Order],
    ) -> Self {
        let steps = Steps::Listed { slots, next: 0 };
        let condition = condition.map(|c| PreparedCondition::new(c, &table.schema));
        let mut scan = Self { table, condition, steps, passed: 0 };
        let slots = scan.sorted(order, None);
        scan.condition = None;
        scan.steps = Steps::Listed { slots, next: 0 };
        scan
    }

    /// The slot of the next row. An [`Interrupt`] also ends the rows, so callers check for it at the end.
    #[inline]
    pub fn next_slot(&mut self) -> Option<u32> {
        loop {
            let slot = self.steps.next(&self.table)?;
            self.passed = self.passed.wrapping_add(1);
            if self.passed.is_multiple_of(INTERRUPT_CHECK_ROWS) && Interrupt::is_now() {
                self.steps = Steps::Listed { slots: Vec::new(), next: 0 };
                return None;
            }
            let Some(condition) = &self.condition else {
                return Some(slot);
            };
            if condition.matches(&self.table.schema, self.table.row(slot)?) {
                return Some(slot);
            }
        }
    }

    /// The next row.
    #[inline]
    pub fn next_row(&mut self) -> Option<EncodedRow<'_>> {
        let slot = self.next_slot()?;
        self.table.row(slot)
    }

    /// All remaining rows, sorted; the first `most` of them.
    fn sorted(&mut self, steps: &[Order], most: Option<u64>) -> Vec<u32> {
        let Some(first) = steps.first() else {
            return std::iter::from_fn(|| self.next_slot()).collect();
        };
        // The prefix of the first column, stored with the slot, avoids most reads of rows.
        let mut keyed = Vec::new();
        while let Some(slot) = self.next_slot() {
            let value = self.table.row(slot).map_or(ValueRef::Null, |row| row.value(first.column));
            let prefix = crate::order::prefix(&self.table.schema, first.column, value);
            keyed.push((if first.descending { !prefix } else { prefix }, slot));
        }
        let table = &self.table;
        let compare = |a: &(u64, u32), b: &(u64, u32)| {
            a.0.cmp(&b.0).then_with(|| compare_slots(table, steps, a.1, b.1))
        };
        if let Some(most) = most.and_then(|most| usize::try_from(most).ok())
            && most < keyed.len()
        {
            keyed.select_nth_unstable_by(most, compare);
            keyed.truncate(most);
        }
        keyed.sort_unstable_by(compare);
        keyed.into_iter().map(|(_, slot)| slot).collect()
    }
}

impl Steps {
    fn new(path: Path, walk: Walk) -> Self {
        match (path, walk) {
            (Path::Slots(slots), _) => Self::Listed { slots, next: 0 },
            // Contradictory bounds may be in the wrong order.
            (Path::Range { from, to, .. }, _) if to <= from => {
                Self::Listed { slots: Vec::new(), next: 0 }
            }
            (Path::Range { index, from, to }, Walk::Forward) => {
                Self::Forward { index, at: from, to }
            }
            (Path::Range { index, from, to }, Walk::Backward) => {
                Self::Backward { index, from, at: to }
            }
            (Path::Range { index, from, to }, Walk::Runs(columns)) => {
                Self::Runs { index, columns, from, start: to, at: to, end: to }
            }
        }
    }

    #[inline]
    fn next(&mut self, table: &TableState) -> Option<u32> {
        let index_at = |number: usize| -> Option<&TableIndex> { table.indexes().get(number) };
        match self {
            Self::Listed { slots, next } => {
                *next += 1;
                slots.get(*next - 1).copied()
            }
            Self::Forward { index, at, to } => {
                if at < to {
                    index_at(*index)?.order.next(at)
                } else {
                    None
                }
            }
            Self::Backward { index, from, at } => {
                if from < at {
                    index_at(*index)?.order.previous(at)
                } else {
                    None
                }
            }
            Self::Runs { index, columns, from, start, at, end } => {
                let index = index_at(*index)?;
                if *at >= *end {
                    if *start <= *from {
                        return None;
                    }
                    *end = *start;
                    let last = index.order.previous(&mut start.clone())?;
                    *start = run_start(table, index, *columns, last).max(*from);
                    *at = *start;
                }
                index.order.next(at)
            }
        }
    }
}
