//! Which row of a level belongs to which row of the level above.

use bobak_core::FoldedValue;
use bobak_core::{Collation, Condition, Row, TableSchema, Value, ValueRef};
use std::collections::HashMap;

/// The number of a row without a value, and of a value that no row has.
pub(crate) const NO_ROW: u32 = u32::MAX;

/// The distinct values of a link column, numbered in the order of their first row.
#[derive(Default)]
pub(crate) struct LinkValues {
    numbers: HashMap<FoldedValue, u32>,
    values: Vec<Value<'static>>,
    collation: Collation,
}

impl LinkValues {
    /// No values yet, of a column of this table.
    pub fn new(table: &TableSchema, column: usize) -> Self {
        let collation = table.columns().get(column).map(|column| column.collation);
        Self { collation: collation.unwrap_or_default(), ..Self::default() }
    }

    /// The number of a value, which is added if it is new; `NO_ROW` for NULL.
    pub fn add(&mut self, value: ValueRef<'_>) -> u32 {
        let Some(key) = FoldedValue::new(value, self.collation) else { return NO_ROW };
        let next = self.values.len() as u32;
        *self.numbers.entry(key).or_insert_with(|| {
            self.values.push(value.to_owned());
            next
        })
    }

    /// The number of a value; `NO_ROW` if it was not added.
    pub fn number(&self, value: ValueRef<'_>) -> u32 {
        let key = FoldedValue::new(value, self.collation);
        key.and_then(|key| self.numbers.get(&key)).copied().unwrap_or(NO_ROW)
    }

    pub fn len(&self) -> usize {
        self.values.len()
    }

    pub fn values(&self) -> &[Value<'static>] {
        &self.values
    }

    pub fn into_values(self) -> Vec<Value<'static>> {
        self.values
    }

    /// The condition that a column has one of the values.
    pub fn condition(&mut self, column: usize) -> Condition {
        Condition::In { column, values: std::mem::take(&mut self.values) }
    }
}

/// For each group of rows above, the numbers of its rows in the level, in their order.
#[derive(Debug, Default)]
pub(crate) struct RowLinks {
    /// The group of each row above; `NO_ROW` if it has no value.
    groups: Vec<u32>,
    /// Where the rows of each group begin in `rows`; one more at the end.
    starts: Vec<u32>,
    rows: Vec<u32>,
}

impl RowLinks {
    /// From pairs of a group and a row, whose rows ascend.
    pub fn new(groups: Vec<u32>, count: usize, pairs: &[(u32, u32)]) -> Self {
        let mut starts = vec![0u32; count + 1];
        for &(group, _) in pairs {
            if let Some(next) = starts.get_mut(group as usize + 1) {
                *next += 1;
            }
        }
        let mut sum = 0;
        for start in &mut starts {
            sum += *start;
            *start = sum;
        }
        let mut next = starts.clone();
        let mut rows = vec![0; pairs.len()];
        for &(group, row) in pairs {
            if let Some(place) = next.get_mut(group as usize) {
                if let Some(slot) = rows.get_mut(*place as usize) {
                    *slot = row;
                }
                *place += 1;
            }
        }
        Self { groups, starts, rows }
    }

    /// The rows that belong to the row above with this number.
    pub fn of(&self, above: usize) -> &[u32] {
        let group = self.groups.get(above).copied().unwrap_or(NO_ROW) as usize;
        let start = |group: usize| self.starts.get(group).map(|start| *start as usize);
        match (start(group), start(group.wrapping_add(1))) {
            (Some(from), Some(to)) => self.rows.get(from..to).unwrap_or_default(),
            _ => &[],
        }
    }
}

/// The value at a position of a row.
pub(crate) fn value_at<'r>(row: &'r dyn Row, position: usize) -> ValueRef<'r> {
    if position < row.len() { row.get(position) } else { ValueRef::Null }
}
