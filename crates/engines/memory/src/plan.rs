//! Which rows a query reads: by hash, by a range of an index, or all of them.
//!
//! A path returns a superset of the matching rows; the scan evaluates the condition for each of them.

use crate::order::{compare_rows, prefix};
use crate::sorted::Position;
use crate::table::{TableIndex, TableState};
use bobak_core::compare_in_column;
use bobak_core::{Collation, Comparison, Condition, Order, TableSchema, Value, ValueRef};
use std::cmp::Ordering;

/// How to find the rows.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Path {
    /// These slots, in no order, each once.
    Slots(Vec<u32>),
    /// A range of an index, in its order.
    Range { index: usize, from: Position, to: Position },
}

/// The direction in which a range is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Walk {
    Forward,
    Backward,
    /// Backward by the first so many columns of the index, and forward among rows that are equal in these.
    Runs(usize),
}

/// A path, and whether it returns the rows in the requested order.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Plan {
    pub path: Path,
    /// How to read the range in the requested order; `None` if the rows must be sorted.
    pub walk: Option<Walk>,
    /// The index that the path uses.
    pub index: usize,
    /// Whether the condition restricts what is read of the index.
    pub searches: bool,
}

/// How much of the condition an index covers; later variants cover more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Worth {
    /// Nothing: a full scan.
    Nothing,
    /// A range of its first column.
    Half,
    /// A list of values of its first column.
    List,
    /// One value for each of so many columns, and perhaps a range of the next.
    Points(usize, bool),
    /// A list of keys, or of a unique column's values.
    Keys,
}

/// The interval to which a condition restricts one column.
#[derive(Clone, Debug)]
struct Interval<'c> {
    low: Option<(Value<'c>, bool)>,
    high: Option<(Value<'c>, bool)>,
}

impl Plan {
    /// The best path to the rows that match the condition, in this order (or in any, if it is empty).
    pub fn new(table: &TableState, condition: Option<&Condition>, steps: &[Order]) -> Self {
        if condition.is_some_and(is_never) {
            return Self::few(0, Vec::new());
        }
        let mut best: Option<((Worth, bool), Self)> = None;
        for (number, index) in table.indexes().iter().enumerate() {
            let (intervals, points) = match condition {
                Some(condition) => intervals(table, index, condition),
                None => (Vec::new(), 0),
            };
            if index.unique
                && points >= index.columns.len()
                && let Some(found) = only_one(table, index, &intervals)
            {
                return Self::few(number, found.into_iter().collect());
            }
            let listed = condition.and_then(|c| listed(c, index.first_column()));
            let single = index.unique && index.columns.len() == 1;
            let (worth, path) = match listed {
                Some(values) if points == 0 => {
                    let worth = if single { Worth::Keys } else { Worth::List };
                    (worth, Path::Slots(list(table, index, values)))
                }
                _ => {
                    let half = intervals.len() > points;
                    let worth = match points {
                        0 if half => Worth::Half,
                        0 => Worth::Nothing,
                        _ => Worth::Points(points, half),
                    };
                    (worth, range(table, number, index, &intervals, points))
                }
            };
            let fixed = index.all_columns().get(..points).unwrap_or_default();
            let walk = match &path {
                Path::Slots(slots) => (slots.len() < 2).then_some(Walk::Forward),
                Path::Range { .. } => walk(table, index, fixed, steps),
            };
            // Of two equal indexes, the one that avoids sorting; else the first, which is the key.
            let searches = worth > Worth::Nothing;
            let worth = (worth, walk.is_some());
            if best.as_ref().is_none_or(|(other, _)| worth > *other) {
                best = Some((worth, Self { path, walk, index: number, searches }));
            }
        }
        best.map_or_else(|| Self::few(0, Vec::new()), |(_, plan)| plan)
    }

    fn few(index: usize, slots: Vec<u32>) -> Self {
        Self { path: Path::Slots(slots), walk: Some(Walk::Forward), index, searches: true }
    }
}

/// The first position of an index that is not before the values of its first columns, or is after them.
pub(super) fn seek(
    table: &TableState,
    index: &TableIndex,
    values: &[ValueRef<'_>],
    after: bool,
) -> Position {
    let schema = &table.schema;
    let Some(&first) = values.first() else {
        return if after { index.order.end() } else { index.order.start() };
    };
    let columns = index.all_columns();
    index.order.bound(prefix(schema, index.first_column(), first), |slot| {
        let Some(row) = table.row(slot) else {
            return false;
        };
        let mut ordering = Ordering::Equal;
        for (&column, &value) in columns.iter().zip(values) {
            ordering =
                ordering.then_with(|| compare_in_column(schema, column, row.value(column), value));
        }
        ordering.is_lt() || (after && ordering.is_eq())
    })
}

/// The start of the run of rows that equal a row in the first `columns` columns of the index.
pub(super) fn run_start(
    table: &TableState,
    index: &TableIndex,
    columns: usize,
    slot: u32,
) -> Position {
    let Some(row) = table.row(slot) else {
        return index.order.start();
    };
    let columns = index.all_columns().get(..columns).unwrap_or_default();
    let first = row.value(index.first_column());
    index.order.bound(prefix(&table.schema, index.first_column(), first), |other| {
        table
            .row(other)
            .is_some_and(|other| compare_rows(&table.schema, columns, other, row).is_lt())
    })
}

/// The intervals of the index's leading columns, as far as the condition restricts them, and how many of them are single
/// values.
fn intervals<'c>(
    table: &TableState,
    index: &TableIndex,
    condition: &'c Condition,
) -> (Vec<Interval<'c>>, usize) {
    let mut intervals = Vec::new();
    for (points, &column) in index.all_columns().iter().enumerate() {
        let Some(interval) = interval(&table.schema, column, condition) else {
            return (intervals, points);
        };
        let is_point = interval.is_point(&table.schema, column);
        intervals.push(interval);
        if !is_point {
            return (intervals, points);
        }
    }
    let points = intervals.len();
    (intervals, points)
}

/// The only row with these values in all columns of a unique index. `None` if a value is NULL, which several rows may
/// have.
fn only_one(
    table: &TableState,
    index: &TableIndex,
    intervals: &[Interval<'_>],
) -> Option<Option<u32>> {
    let values: Vec<ValueRef<'_>> = intervals
        .iter()
        .take(index.columns.len())
        .filter_map(|interval| Some(interval.low.as_ref()?.0.as_ref()))
        .collect();
    if values.iter().any(|value| value.is_null()) {
        return None;
    }
    Some(table.find(index, |at| values.get(at).copied().unwrap_or_default()))
}

fn range(
    table: &TableState,
    number: usize,
    index: &TableIndex,
    intervals: &[Interval<'_>],
    points: usize,
) -> Path {
    let mut low: Vec<ValueRef<'_>> = Vec::new();
    for interval in intervals.iter().take(points) {
        low.extend(interval.low.iter().map(|(value, _)| value.as_ref()));
    }
    let mut high = low.clone();
    let (mut after_low, mut after_high) = (false, true);
    if let Some(interval) = intervals.get(points) {
        if let Some((value, included)) = &interval.low {
            low.push(value.as_ref());
            after_low = !included;
        }
        if let Some((value, included)) = &interval.high {
            high.push(value.as_ref());
            after_high = *included;
        }
    }
    let from = seek(table, index, &low, after_low);
    let to = seek(table, index, &high, after_high);
    Path::Range { index: number, from, to }
}

/// The rows with one of the values in the first column of the index.
fn list(table: &TableState, index: &TableIndex, values: &[Value<'static>]) -> Vec<u32> {
    let mut slots = Vec::new();
    for value in values {
        let value = [value.as_ref()];
        if index.unique && index.columns.len() == 1 {
            slots.extend(table.find(index, |_| value[0]));
            continue;
        }
        let mut position = seek(table, index, &value, false);
        let to = seek(table, index, &value, true);
        while position < to {
            slots.extend(index.order.next(&mut position));
        }
    }
    // The list may have duplicates, or values that are equal under the collation.
    slots.sort_unstable();
    slots.dedup();
    slots
}

/// How to read the index in the requested order. All rows are equal in the `fixed` columns.
fn walk(table: &TableState, index: &TableIndex, fixed: &[usize], steps: &[Order]) -> Option<Walk> {
    let mut natural = index.all_columns().iter().filter(|c| !fixed.contains(c));
    let mut key_left: Vec<usize> = table.schema.key().to_vec();
    key_left.retain(|column| !fixed.contains(column));
    let mut forward = 0;
    let mut backward = 0;
    for step in steps.iter().filter(|step| !fixed.contains(&step.column)) {
        // Once the whole key is fixed, no order remains.
        if key_left.is_empty() {
            break;
        }
        if natural.next() != Some(&step.column) {
            return None;
        }
        key_left.retain(|column| *column != step.column);
        match step.descending {
            true if forward > 0 => return None,
            true => backward += 1,
            false => forward += 1,
        }
    }
    Some(match (forward, backward) {
        (_, 0) => Walk::Forward,
        (0, _) => Walk::Backward,
        // The fixed columns are the first of the index.
        (_, backward) => Walk::Runs(fixed.len() + backward),
    })
}

/// The interval of the column in all rows that match the condition; `None` if the condition gives none that an index can
/// use.
fn interval<'c>(
    table: &TableSchema,
    column: usize,
    condition: &'c Condition,
) -> Option<Interval<'c>> {
    match condition {
        Condition::Compare { column: c, comparison, value } if *c == column => {
            Interval::of(*comparison, value.as_ref().into())
        }
        Condition::In { column: c, values } if *c == column => {
            let points = values.iter().map(|value| Interval::at(value.as_ref().into()));
            points.reduce(|a, b| a.hull(b, table, column))
        }
        Condition::StartsWith { column: c, prefix } if *c == column => {
            let schema = table.columns().get(column)?;
            (schema.collation == Collation::Binary).then(|| Interval::starting_with(prefix))
        }
        Condition::IsNull { column: c } if *c == column => Some(Interval::at(Value::Null)),
        Condition::And(parts) => {
            let each = parts.iter().filter_map(|part| interval(table, column, part));
            each.reduce(|a, b| a.both(b, table, column))
        }
        Condition::Or(parts) => {
            let each: Option<Vec<_>> = parts.iter().map(|p| interval(table, column, p)).collect();
            each?.into_iter().reduce(|a, b| a.hull(b, table, column))
        }
        _ => None,
    }
}

/// The list of an IN condition that every matching row satisfies.
fn listed(condition: &Condition, column: usize) -> Option<&[Value<'static>]> {
    match condition {
        Condition::In { column: c, values } if *c == column => Some(values),
        Condition::And(parts) => parts.iter().find_map(|part| listed(part, column)),
        _ => None,
    }
}

/// Whether a condition is false for every possible row.
fn is_never(condition: &Condition) -> bool {
    match condition {
        Condition::And(parts) => parts.iter().any(is_never),
        Condition::Or(parts) => parts.iter().all(is_never),
        Condition::In { values, .. } => values.is_empty(),
        _ => false,
    }
}

impl<'c> Interval<'c> {
    fn at(value: Value<'c>) -> Self {
        Self { low: Some((value.clone(), true)), high: Some((value, true)) }
    }

    fn of(comparison: Comparison, value: Value<'c>) -> Option<Self> {
        // No comparison is true for NULL, which sorts first.
        let from_null = Some((Value::Null, false));
        let (low, high) = match comparison {
            Comparison::Equal => return Some(Self::at(value)),
            Comparison::NotEqual => return None,
            Comparison::Less => (from_null, Some((value, false))),
            Comparison::LessOrEqual => (from_null, Some((value, true))),
            Comparison::Greater => (Some((value, false)), None),
            Comparison::GreaterOrEqual => (Some((value, true)), None),
        };
        Some(Self { low, high })
    }

    fn starting_with(prefix: &'c str) -> Self {
        Self {
            low: Some((prefix.into(), true)),
            high: successor(prefix).map(|end| (end.into(), false)),
        }
    }

    /// Whether it contains just one value.
    fn is_point(&self, table: &TableSchema, column: usize) -> bool {
        match (&self.low, &self.high) {
            (Some((low, true)), Some((high, true))) => {
                compare_in_column(table, column, low.as_ref(), high.as_ref()).is_eq()
            }
            _ => false,
        }
    }

    /// The intersection of two intervals.
    fn both(self, other: Self, table: &TableSchema, column: usize) -> Self {
        let later =
            |a: &Value<'_>, b: &Value<'_>| compare_in_column(table, column, a.as_ref(), b.as_ref());
        let low = pick(self.low, other.low, |a, b| later(a, b), true);
        let high = pick(self.high, other.high, |a, b| later(b, a), true);
        Self { low, high }
    }

    /// The smallest interval that contains both.
    fn hull(self, other: Self, table: &TableSchema, column: usize) -> Self {
        let later =
            |a: &Value<'_>, b: &Value<'_>| compare_in_column(table, column, a.as_ref(), b.as_ref());
        let low = pick(self.low, other.low, |a, b| later(b, a), false);
        let high = pick(self.high, other.high, |a, b| later(a, b), false);
        Self { low, high }
    }
}

type End<'c> = Option<(Value<'c>, bool)>;

/// The end that `compare` sorts last. An intersection prefers bounded and exclusive ends, a hull unbounded and inclusive
/// ones.
fn pick<'c>(
    a: End<'c>,
    b: End<'c>,
    compare: impl Fn(&Value<'_>, &Value<'_>) -> Ordering,
    narrow: bool,
) -> End<'c> {
    match (a, b) {
        (Some(a), Some(b)) => Some(match compare(&a.0, &b.0) {
            Ordering::Greater => a,
            Ordering::Less => b,
            Ordering::Equal if a.1 != narrow => a,
            Ordering::Equal => b,
        }),
        (one, None) | (None, one) if narrow => one,
        _ => None,
    }
}

/// The least text greater than every text with this prefix; `None` if there is none.
fn successor(prefix: &str) -> Option<String> {
    let mut chars: Vec<char> = prefix.chars().collect();
    while let Some(last) = chars.pop() {
        let next = match last {
            // The surrogates between these are not characters.
            '\u{d7ff}' => Some('\u{e000}'),
            _ => char::from_u32(u32::from(last) + 1),
        };
        if let Some(next) = next {
            chars.push(next);
            return Some(chars.into_iter().collect());
        }
    }
    None
}
