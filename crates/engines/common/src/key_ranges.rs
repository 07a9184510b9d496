//! Which keys a query must look at: ranges of sort keys that a condition leaves.

use crate::sort_key::push_sort_key;
use crate::write::StoredTable;
use bobak_core::{Collation, Comparison, Condition, Value};
use std::collections::BTreeSet;

/// From a sort key on, and before another.
pub type KeyRange = (Vec<u8>, Vec<u8>);

/// Less than or greater than a sort key, if the condition has these bounds.
type KeyBounds = (Option<Vec<u8>>, Option<Vec<u8>>);

/// Greater than any byte that follows a whole sort key, or a part of one.
const AFTER: u8 = 0xff;

/// The ranges of one index that have all rows that a condition keeps, and perhaps others.
#[derive(Clone, Debug)]
pub struct KeyRanges {
    /// The index: 0 is the table's key, 1 its first index.
    pub index: usize,
    /// The ranges of its sort keys, in order and without overlaps.
    pub ranges: Vec<KeyRange>,
}

/// What the condition says about an index; the larger the better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum IndexWorth {
    Nothing,
    /// A range of the first column.
    Range,
    /// A list of values of the first column.
    List,
    /// One value for each of so many columns.
    Equal(usize),
}

impl KeyRanges {
    /// The index that leaves the fewest keys, and its ranges. Without a useful condition, all keys.
    ///
    /// [`run_select`](crate::run_select) tests the whole condition for each row, so an engine only
    /// has to pass on the rows of these ranges.
    #[must_use]
    pub fn best(table: &StoredTable, condition: Option<&Condition>) -> Self {
        let mut parts = Vec::new();
        conjuncts(condition, &mut parts);
        let mut best: Option<(IndexWorth, Self)> = None;
        for index in 0..=table.schema.indexes().len() {
            let (worth, ranges) = ranges(table, index, &parts);
            // Of two indexes with the same worth, the key needs no second look-up.
            if best.as_ref().is_none_or(|(other, _)| worth > *other) {
                best = Some((worth, Self { index, ranges }));
            }
        }
        best.map_or(Self { index: 0, ranges: Vec::new() }, |(_, found)| found)
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
fn ranges(table: &StoredTable, index: usize, parts: &[&Condition]) -> (IndexWorth, Vec<KeyRange>) {
    let columns = table.index_columns(index);
    let mut beginning = Vec::new();
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
        return (IndexWorth::List, ranges.collect());
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
        (0, false) => IndexWorth::Nothing,
        (0, true) => IndexWorth::Range,
        _ => IndexWorth::Equal(equal),
    };
    let ranges = if from < to { vec![(from, to)] } else { Vec::new() };
    (worth, ranges)
}

/// The keys that a condition leaves of those with a beginning: from one on, and before another.
fn bounds(
    table: &StoredTable,
    beginning: &[u8],
    column: usize,
    part: &Condition,
) -> Option<KeyBounds> {
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
            let column_schema = table.schema.columns().get(column)?;
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
fn with(table: &StoredTable, beginning: &[u8], column: usize, value: &Value<'_>) -> Vec<u8> {
    let mut key = beginning.to_vec();
    push_sort_key(&mut key, &table.schema, column, value.as_ref());
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
