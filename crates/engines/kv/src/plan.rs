//! Which entries a query looks at: ranges of the keys, or of an index.
//!
//! A plan has all rows that the condition keeps, and perhaps others: each is tested afterwards.

use crate::catalog::KvTable;
use crate::data::{AFTER, Data, prefix, row_key};
use crate::error::failed;
use bobak_core::codec::EncodedRow;
use bobak_core::{Collation, Comparison, Condition, Result, Value};
use bobak_engine_common::{EachRow, push_sort_key};
use std::collections::BTreeSet;
use std::ops::Bound;

/// Ranges of one index; index 0 is the table's key.
pub(super) struct KeyPlan {
    index: usize,
    /// In order, without overlaps.
    ranges: Vec<KeyRange>,
}

/// From a key on, and before another.
type KeyRange = (Vec<u8>, Vec<u8>);
/// The same, if the condition has these bounds.
type KeyBounds = (Option<Vec<u8>>, Option<Vec<u8>>);

/// What the condition says about an index; the larger the better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum PlanWorth {
    Nothing,
    /// A range of the first column.
    Range,
    /// A list of values of the first column.
    List,
    /// One value for each of so many columns.
    Equal(usize),
}

impl KeyPlan {
    /// The best plan for a condition.
    pub fn new(table: &KvTable, condition: Option<&Condition>) -> Self {
        let mut parts = Vec::new();
        conjuncts(condition, &mut parts);
        let mut best: Option<(PlanWorth, Self)> = None;
        for index in 0..=table.stored.schema.indexes().len() {
            let (worth, ranges) = ranges(table, index, &parts);
            // Of two plans with the same worth, the key's needs no second look-up.
            if best.as_ref().is_none_or(|(other, _)| worth > *other) {
                best = Some((worth, Self { index, ranges }));
            }
        }
        best.map_or(Self { index: 0, ranges: Vec::new() }, |(_, plan)| plan)
    }

    /// Passes the rows on, by key.
    ///
    /// # Errors
    /// Those of the storage and of `each`.
    pub fn scan(&self, data: &Data<'_>, table: &KvTable, each: &mut EachRow<'_>) -> Result<()> {
        let mut keys = BTreeSet::new();
        for (from, to) in &self.ranges {
            for entry in data.range(Bound::Included(from), to)? {
                let (key, row) = entry.map_err(|error| failed("read", error))?;
                if self.index > 0 {
                    keys.insert(row_key(table, key.value(), row.value()));
                } else if !each(EncodedRow::new(row.value()))? {
                    return Ok(());
                }
            }
        }
        for key in keys {
            if let Some(row) = data.get(&key)?
                && !each(EncodedRow::new(row.value()))?
            {
                break;
            }
        }
        Ok(())
    }
}

/// The conditions that must all be true.
fn conjuncts<'c>(condition: Option<&'c Condition>, parts: &mut Vec<&'c Condition>) {
    match condition {
        Some(Condition::And(inner)) => inner.iter().for_each(|part| conjuncts(Some(part), parts)),
        Some(other) => parts.push(other),
        None => {}
    }
}

/// The ranges of an index that have all rows for which the parts are true.
fn ranges(table: &KvTable, index: usize, parts: &[&Condition]) -> (PlanWorth, Vec<KeyRange>) {
    let columns = table.stored.index_columns(index);
    let mut beginning = prefix(table.id, index);
    let mut equal = 0;
    for &column in columns {
        let Some(value) = parts.iter().find_map(|part| equal_to(part, column)) else { break };
        beginning = with(table, &beginning, column, value);
        equal += 1;
    }
    let next = columns.get(equal).copied();
    let listed = next.and_then(|column| parts.iter().find_map(|part| one_of(part, column)));
    if let (0, Some(column), Some(values)) = (equal, next, listed) {
        let starts = values.iter().map(|value| with(table, &beginning, column, value));
        let starts: BTreeSet<Vec<u8>> = starts.collect();
        let ranges = starts.into_iter().map(|from| (from.clone(), after(from)));
        return (PlanWorth::List, ranges.collect());
    }
    let (mut from, mut to) = (beginning.clone(), after(beginning.clone()));
    let mut bounded = false;
    if let Some(column) = next {
        for (low, high) in parts.iter().filter_map(|part| bounds(table, &beginning, column, part)) {
            from = low.into_iter().fold(from, Vec::max);
            to = high.into_iter().fold(to, Vec::min);
            bounded = true;
        }
    }
    let worth = match (equal, bounded) {
        (0, false) => PlanWorth::Nothing,
        (0, true) => PlanWorth::Range,
        _ => PlanWorth::Equal(equal),
    };
    let ranges = if from < to { vec![(from, to)] } else { Vec::new() };
    (worth, ranges)
}

/// The keys that a condition leaves of those with a beginning: from one on, and before another.
fn bounds(table: &KvTable, beginning: &[u8], column: usize, part: &Condition) -> Option<KeyBounds> {
    match part {
        Condition::Compare { column: named, comparison, value } if *named == column => {
            let key = with(table, beginning, column, value);
            match comparison {
                Comparison::Less => Some((None, Some(key))),
                Comparison::LessOrEqual => Some((None, Some(after(key)))),
                Comparison::Greater => Some((Some(after(key)), None)),
                Comparison::GreaterOrEqual => Some((Some(key), None)),
                Comparison::Equal | Comparison::NotEqual => None,
            }
        }
        Condition::StartsWith { column: named, prefix } if *named == column => {
            let column_schema = table.stored.schema.columns().get(column)?;
            if column_schema.collation != Collation::Binary {
                return None;
            }
            let mut key = with(table, beginning, column, &Value::from(prefix.as_str()));
            // Without the end of the text.
            key.truncate(key.len() - 2);
            Some((Some(key.clone()), Some(after(key))))
        }
        _ => None,
    }
}

/// The key with one more value.
fn with(table: &KvTable, beginning: &[u8], column: usize, value: &Value<'_>) -> Vec<u8> {
    let mut key = beginning.to_vec();
    push_sort_key(&mut key, &table.stored.schema, column, value.as_ref());
    key
}

/// Greater than all keys that begin with this one, and than no others that are greater.
fn after(mut key: Vec<u8>) -> Vec<u8> {
    key.push(AFTER);
    key
}

fn equal_to(part: &Condition, column: usize) -> Option<&Value<'static>> {
    match part {
        Condition::Compare { column: named, comparison: Comparison::Equal, value } => {
            (*named == column).then_some(value)
        }
        _ => None,
    }
}

fn one_of(part: &Condition, column: usize) -> Option<&[Value<'static>]> {
    match part {
        Condition::In { column: named, values } => (*named == column).then_some(values.as_slice()),
        _ => None,
    }
}
