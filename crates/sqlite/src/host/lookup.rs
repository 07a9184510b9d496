//! Lookups over and over, as in the inner loop of a join: when they have cost as much as reading
//! the whole table would, it is read, once, and lookups are answered from memory.
//!
//! So a join never costs more than twice the better of the two ways, whatever the planner guessed;
//! and a far engine is asked a few times instead of once a row.

use super::fit::{Point, point};
use super::plan::{Plan, Test};
use crate::cache::Mixer;
use bobak_core::codec::EncodedRow;
use bobak_core::{Collation, Condition, Estimate, Result, Row, RowBuffer, TableSchema, ValueRef};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Tables with more bytes than this are not read as a whole.
const MOST_BYTES: usize = 64 << 20;

/// What a cursor knows of its lookups so far.
#[derive(Debug, Default)]
pub(crate) struct Lookups {
    runs: u64,
    /// What they have cost, in the unit of [`Estimate`].
    spent: u64,
    state: State,
}

#[derive(Debug, Default)]
enum State {
    /// Each lookup asks the engine.
    #[default]
    Asking,
    /// All rows are here.
    Loaded(Loaded),
    /// There are too many.
    Refused,
}

/// The rows of a table by the hash of some columns.
#[derive(Debug)]
pub(crate) struct Loaded {
    parts: Vec<RowBuffer>,
    /// Where each row is, rows of one hash together, in the order in which they came.
    rows: Vec<(u32, u32)>,
    /// The rows of a hash: the first, and how many.
    runs: HashMap<u64, (u32, u32), BuildHasherDefault<Mixer>>,
}

/// The rows of one lookup that are still to be looked at.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Found {
    next: u32,
    left: u32,
}

impl Lookups {
    /// Notes a lookup; `true` where the table should be read as a whole now.
    pub(crate) fn should_load(&mut self, estimate: impl FnOnce() -> Estimate) -> bool {
        if !matches!(self.state, State::Asking) {
            return false;
        }
        self.runs += 1;
        if self.runs < 3 {
            return false;
        }
        let estimate = estimate();
        self.spent += u64::from(estimate.call) + u64::from(estimate.row);
        let Some(rows) = estimate.rows else {
            // Nobody knows: it is tried after some lookups, and given up where it is too large.
            return self.runs >= 64;
        };
        let all = rows.saturating_mul(u64::from(estimate.row)).saturating_add(estimate.call.into());
        self.spent >= all
    }

    /// All rows, where they are here.
    pub(crate) const fn loaded(&self) -> Option<&Loaded> {
        match &self.state {
            State::Loaded(loaded) => Some(loaded),
            State::Asking | State::Refused => None,
        }
    }

    /// Keeps all rows; `None` where there are too many.
    pub(crate) fn keep(&mut self, loaded: Option<Loaded>) {
        self.state = loaded.map_or(State::Refused, State::Loaded);
    }
}

impl Loaded {
    /// Takes the rows of a plan's columns, part by part, from `fetch`, which gives none at the end.
    /// `None` where there are too many.
    pub(crate) fn read(
        table: &TableSchema,
        plan: &Plan,
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
            if bytes > MOST_BYTES || part.bytes() > u32::MAX as usize {
                return Ok(None);
            }
            let number = parts.len() as u32;
            while let Some(row) = part.next_row()? {
                let values = equal_columns(plan).map(|column| match position(plan, column) {
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
        // Stable: rows of one hash stay in the order in which they came.
        hashed.sort_by_key(|(hash, ..)| *hash);
        let mut runs = HashMap::<u64, (u32, u32), _>::default();
        for (place, (hash, ..)) in hashed.iter().enumerate() {
            runs.entry(*hash).or_insert((place as u32, 0)).1 += 1;
        }
        let rows = hashed.into_iter().map(|(_, part, at)| (part, at)).collect();
        Ok(Some(Self { parts, rows, runs }))
    }

    /// The rows that may equal the values of a plan's arguments; `None` where only SQLite can tell
    /// what equals them.
    pub(crate) fn find<'a>(
        &self,
        table: &TableSchema,
        plan: &Plan,
        argument: impl Fn(usize) -> ValueRef<'a>,
    ) -> Option<Found> {
        let mut values = Vec::with_capacity(2);
        for (number, term) in plan.terms.iter().enumerate() {
            if term.test == Test::Equal {
                match point(table.columns().get(term.column)?, argument(number)) {
                    Point::Value(value) => values.push((term.column, value)),
                    Point::Never => return Some(Found::default()),
                    Point::Unknown => return None,
                }
            }
        }
        let run = self.runs.get(&hash(table, values.into_iter()));
        Some(run.map_or_else(Found::default, |&(next, left)| Found { next, left }))
    }

    /// The next row that has the hash.
    pub(crate) fn next(&self, found: &mut Found) -> Option<(u32, u32)> {
        let place = self.rows.get(found.next as usize).filter(|_| found.left > 0)?;
        found.next += 1;
        found.left -= 1;
        Some(*place)
    }

    /// The row at a place.
    pub(crate) fn row(&self, (part, at): (u32, u32)) -> EncodedRow<'_> {
        let part = self.parts.get(part as usize);
        part.map_or(EncodedRow::new(&[]), |part| part.row_at(at as usize))
    }
}

fn equal_columns(plan: &Plan) -> impl Iterator<Item = usize> {
    plan.terms.iter().filter(|term| term.test == Test::Equal).map(|term| term.column)
}

/// Where a column is in the rows of a plan.
pub(crate) fn position(plan: &Plan, column: usize) -> Option<usize> {
    plan.columns.binary_search(&column).ok()
}

/// A row of a plan's columns, its values by their places in the table.
pub(crate) struct Placed<'a> {
    pub plan: &'a Plan,
    pub row: EncodedRow<'a>,
}

impl Row for Placed<'_> {
    fn len(&self) -> usize {
        self.plan.columns.last().map_or(0, |last| last + 1)
    }

    fn get(&self, column: usize) -> ValueRef<'_> {
        position(self.plan, column).map_or(ValueRef::Null, |at| self.row.value(at))
    }
}

impl Placed<'_> {
    /// Whether the row keeps all of the conditions.
    pub(crate) fn keeps(&self, table: &TableSchema, conditions: &[Condition]) -> bool {
        conditions.iter().all(|condition| condition.evaluate(table, self) == Some(true))
    }
}

/// Values that are equal have the same hash.
fn hash<'a>(table: &TableSchema, values: impl Iterator<Item = (usize, ValueRef<'a>)>) -> u64 {
    let mut hasher = Mixer::default();
    for (column, value) in values {
        match value {
            ValueRef::Null => hasher.write_u8(0),
            ValueRef::Int(integer) => hasher.write_u64(integer.cast_unsigned()),
            // Minus zero equals zero.
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
