//! Repeated lookups, as in the inner loop of a join: once they have cost as much as reading the whole
//! table, it is read into memory and answers the rest.
//!
//! So a join never costs more than twice the better of the two strategies, whatever the planner
//! estimated. A remote engine is queried a few times instead of once a row: for the whole table if it
//! is small, else for blocks of keys ([`lookahead`](crate::lookahead)).

use crate::coercion::{EqualValue, equal_value};
use crate::plan::{Operator, ScanPlan};
use bobak_core::codec::EncodedRow;
use bobak_core::{
    Collation, Condition, Estimate, Result, Row, RowBuffer, TableSchema, ValueRef, WordHasher,
};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

/// Larger tables, in bytes, are not read as a whole.
const MAX_BYTES: usize = 64 << 20;

/// An engine whose calls cost at least this is remote. Unit: [`Estimate`].
const REMOTE_CALL: u32 = 100;
/// The number of lookups after which a remote engine is queried for several keys at a time.
const LOOKAHEAD_AFTER: u64 = 16;
/// A table of a remote engine is read as a whole if that costs at most this many calls.
const MAX_CALLS: u64 = 100;

/// A cursor's lookups so far.
#[derive(Debug, Default)]
pub(crate) struct LookupHistory {
    runs: u64,
    /// Their cost, in the unit of [`Estimate`].
    spent: u64,
    /// Whether looking ahead was tried.
    looked_ahead: bool,
    state: LookupState,
}

/// How to answer a lookup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LookupStrategy {
    /// Query the engine for this key.
    Query,
    /// Read the whole table.
    ReadAll,
    /// Find out the keys of later lookups.
    LookAhead,
}

/// The key of a lookup.
pub(crate) enum LookupKey<'a> {
    /// Rows in which these columns equal these values.
    Values(Vec<(usize, ValueRef<'a>)>),
    /// No row can match.
    NoRows,
    /// Only SQLite can decide.
    Undecided,
}

#[derive(Debug, Default)]
enum LookupState {
    /// Each lookup queries the engine.
    #[default]
    Querying,
    /// The whole table is in memory.
    Loaded(LoadedRows),
    /// The keys of later lookups are known; the rows of the block used last.
    Ahead(Option<Arc<LoadedRows>>),
    /// The table is too large to read as a whole.
    TooLarge,
}

/// Rows of a table, indexed by the hash of some columns.
#[derive(Debug)]
pub(crate) struct LoadedRows {
    parts: Vec<RowBuffer>,
    /// The buffer and offset of each row. Rows with the same hash are adjacent, in their original
    /// order.
    rows: Vec<(u32, u32)>,
    /// The rows of each hash: the index of the first, and their number.
    runs: HashMap<u64, (u32, u32), BuildHasherDefault<WordHasher>>,
}

/// The rows of one hash that were not visited yet.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct HashRun {
    next: u32,
    left: u32,
}

impl LookupHistory {
    /// Counts a lookup that memory cannot answer, and chooses its strategy.
    pub(crate) fn advise(&mut self, estimate: impl FnOnce() -> Estimate) -> LookupStrategy {
        if matches!(self.state, LookupState::Loaded(_) | LookupState::TooLarge) {
            return LookupStrategy::Query;
        }
        self.runs += 1;
        if self.runs < 3 {
            return LookupStrategy::Query;
        }
        let estimate = estimate();
        self.spent += u64::from(estimate.call) + u64::from(estimate.row);
        let may_look_ahead =
            estimate.call >= REMOTE_CALL && self.runs >= LOOKAHEAD_AFTER && !self.looked_ahead;
        self.looked_ahead |= may_look_ahead;
        let Some(all) = cost_of_all(estimate) else {
            // The size is unknown: try after some lookups, and give up if the table is too large.
            let many = self.runs >= 64;
            return if may_look_ahead {
                LookupStrategy::LookAhead
            } else {
                LookupStrategy::query_unless(many)
            };
        };
        if may_look_ahead && all > MAX_CALLS * u64::from(estimate.call) && self.spent < all {
            return LookupStrategy::LookAhead;
        }
        LookupStrategy::query_unless(may_look_ahead || self.spent >= all)
    }

    /// Whether querying this number of keys in blocks is cheaper than reading the whole table.
    pub(crate) fn is_better_ahead(keys: usize, estimate: Estimate) -> bool {
        let keys = keys as u64;
        let blocks = keys.saturating_mul(u64::from(estimate.row) + 1)
            + keys.div_ceil(1_000) * u64::from(estimate.call);
        keys > 0 && cost_of_all(estimate).is_none_or(|all| blocks < all)
    }

    /// The rows in memory: the whole table, or a block.
    pub(crate) fn loaded(&self) -> Option<&LoadedRows> {
        match &self.state {
            LookupState::Loaded(loaded) => Some(loaded),
            LookupState::Ahead(block) => block.as_deref(),
            LookupState::Querying | LookupState::TooLarge => None,
        }
    }

    /// Whether the whole table is in memory.
    pub(crate) const fn has_all(&self) -> bool {
        matches!(self.state, LookupState::Loaded(_))
    }

    /// Whether the keys of later lookups are known.
    pub(crate) const fn is_ahead(&self) -> bool {
        matches!(self.state, LookupState::Ahead(_))
    }

    /// Stores the whole table; `None` if it is too large.
    pub(crate) fn store_all(&mut self, loaded: Option<LoadedRows>) {
        self.state = loaded.map_or(LookupState::TooLarge, LookupState::Loaded);
    }

    /// States that the keys of later lookups are known, and that this lookup's rows are in `block`.
    pub(crate) fn use_block(&mut self, block: Option<Arc<LoadedRows>>) {
        self.state = LookupState::Ahead(block);
    }
}

impl LookupStrategy {
    const fn query_unless(better: bool) -> Self {
        if better { Self::ReadAll } else { Self::Query }
    }
}

fn cost_of_all(estimate: Estimate) -> Option<u64> {
    let rows = estimate.rows?;
    Some(rows.saturating_mul(u64::from(estimate.row)).saturating_add(estimate.call.into()))
}

/// The key that the arguments of a plan look up.
pub(crate) fn lookup_key<'a>(
    table: &TableSchema,
    plan: &ScanPlan,
    argument: impl Fn(usize) -> ValueRef<'a>,
) -> LookupKey<'a> {
    let mut values = Vec::with_capacity(2);
    for (number, term) in plan.terms.iter().enumerate() {
        if term.operator == Operator::Equal {
            let column = table.columns().get(term.column);
            match column
                .map_or(EqualValue::Undecided, |column| equal_value(column, argument(number)))
            {
                EqualValue::Value(value) => values.push((term.column, value)),
                EqualValue::Nothing => return LookupKey::NoRows,
                EqualValue::Undecided => return LookupKey::Undecided,
            }
        }
    }
    LookupKey::Values(values)
}

impl LoadedRows {
    /// Reads the rows of a plan's columns from `fetch`, which returns no rows at the end. `None` if
    /// they are too large.
    pub(crate) fn read(
        table: &TableSchema,
        plan: &ScanPlan,
        mut fetch: impl FnMut(&mut RowBuffer) -> Result<()>,
    ) -> Result<Option<Self>> {
        let mut parts: Vec<RowBuffer> = Vec::new();
        let mut hashed: Vec<(u64, u32, u32)> = Vec::new();
        let mut bytes = 0;
        loop {
            let mut part = RowBuffer::default();
            fetch(&mut part)?;
            if part.rows() == 0 {
                break;
            }
            bytes += part.bytes();
            if bytes > MAX_BYTES || part.bytes() > u32::MAX as usize {
                return Ok(None);
            }
            let number = parts.len() as u32;
            while let Some(row) = part.next_row()? {
                let values = equal_columns(plan).map(|column| match plan.column_index(column) {
                    Some(at) => (column, row.value(at)),
                    None => (column, ValueRef::Null),
                });
                hashed.push((hash(table, values), number, 0));
                let at = part.position() as u32;
                if let Some(last) = hashed.last_mut() {
                    last.2 = at;
                }
            }
            parts.push(part);
        }
        // The sort is stable: rows with the same hash keep their order.
        hashed.sort_by_key(|(hash, ..)| *hash);
        let mut runs = HashMap::<u64, (u32, u32), _>::default();
        for (index, (hash, ..)) in hashed.iter().enumerate() {
            runs.entry(*hash).or_insert((index as u32, 0)).1 += 1;
        }
        let rows = hashed.into_iter().map(|(_, part, at)| (part, at)).collect();
        Ok(Some(Self { parts, rows, runs }))
    }

    /// The rows that may have these values.
    pub(crate) fn find(&self, table: &TableSchema, values: &[(usize, ValueRef<'_>)]) -> HashRun {
        let run = self.runs.get(&hash(table, values.iter().copied()));
        run.map_or_else(HashRun::default, |&(next, left)| HashRun { next, left })
    }

    /// Their size in bytes, approximately.
    pub(crate) fn bytes(&self) -> usize {
        self.parts.iter().map(RowBuffer::bytes).sum()
    }

    /// The buffer and offset of the next row with the hash.
    pub(crate) fn next(&self, found: &mut HashRun) -> Option<(u32, u32)> {
        let row = self.rows.get(found.next as usize).filter(|_| found.left > 0)?;
        found.next += 1;
        found.left -= 1;
        Some(*row)
    }

    /// The row at an offset of a buffer.
    pub(crate) fn row(&self, (part, at): (u32, u32)) -> EncodedRow<'_> {
        let part = self.parts.get(part as usize);
        part.map_or(EncodedRow::new(&[]), |part| part.row_at(at as usize))
    }
}

pub(crate) fn equal_columns(plan: &ScanPlan) -> impl Iterator<Item = usize> {
    plan.terms.iter().filter(|term| term.operator == Operator::Equal).map(|term| term.column)
}

/// A row of a plan's columns, addressed by the table's column positions.
pub(crate) struct PlanRow<'a> {
    pub plan: &'a ScanPlan,
    pub row: EncodedRow<'a>,
}

impl Row for PlanRow<'_> {
    fn len(&self) -> usize {
        self.plan.columns.last().map_or(0, |last| last + 1)
    }

    fn get(&self, column: usize) -> ValueRef<'_> {
        self.plan.column_index(column).map_or(ValueRef::Null, |at| self.row.value(at))
    }
}

impl PlanRow<'_> {
    /// Whether the row satisfies all conditions.
    pub(crate) fn satisfies(&self, table: &TableSchema, conditions: &[Condition]) -> bool {
        conditions.iter().all(|condition| condition.evaluate(table, self) == Some(true))
    }
}

/// The hash of a key. Equal values have the same hash.
fn hash<'a>(table: &TableSchema, values: impl Iterator<Item = (usize, ValueRef<'a>)>) -> u64 {
    let mut hasher = WordHasher::default();
    for (column, value) in values {
        match value {
            ValueRef::Null => hasher.write_u8(0),
            ValueRef::Int(integer) => hasher.write_u64(integer.cast_unsigned()),
            // Adding zero turns -0.0 into 0.0, to which it is equal.
            ValueRef::Float(float) => hasher.write_u64((float + 0.0).to_bits()),
            ValueRef::Text(text) => {
                match table.columns().get(column).map(|column| column.collation) {
                    None | Some(Collation::Binary) => hasher.write(text.as_bytes()),
                    Some(collation) => hasher.write(collation.fold(text).as_bytes()),
                }
                hasher.write_usize(text.len() & usize::from(text.is_empty()));
            }
            ValueRef::Bytes(bytes) => hasher.write(bytes),
        }
    }
    hasher.finish()
}
