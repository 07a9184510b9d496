//! Lookups over and over, as in the inner loop of a join: when they have cost as much as reading
//! the whole table would, it is read, once, and lookups are answered from memory.
//!
//! So a join never costs more than twice the better of the two ways, whatever the planner guessed.
//! A far engine is asked a few times instead of once a row: for the whole table where that is
//! small, else for blocks of the keys to come ([`ahead`](super::ahead)).

use super::fit::{Point, point};
use super::plan::{Plan, Test};
use crate::cache::Mixer;
use bobak_core::codec::EncodedRow;
use bobak_core::{Collation, Condition, Estimate, Result, Row, RowBuffer, TableSchema, ValueRef};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

/// Tables with more bytes than this are not read as a whole.
const MOST_BYTES: usize = 64 << 20;

/// What a call costs of an engine that is far away.
const FAR: u32 = 100;
/// After so many lookups a far engine is asked for more than one row at a time.
const SOME: u64 = 16;
/// A table of a far engine that costs no more than so many calls is read as a whole.
const FEW_CALLS: u64 = 100;

/// What a cursor knows of its lookups so far.
#[derive(Debug, Default)]
pub(crate) struct Lookups {
    runs: u64,
    /// What they have cost, in the unit of [`Estimate`].
    spent: u64,
    /// Whether it was tried to look ahead.
    looked_ahead: bool,
    state: State,
}

/// What is best done at a lookup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Advice {
    /// The engine is asked for its rows.
    Ask,
    /// All rows are read.
    ReadAll,
    /// The keys to come are found out.
    LookAhead,
}

/// What a lookup looks for.
pub(crate) enum Wanted<'a> {
    /// Rows in which these columns equal these values.
    Values(Vec<(usize, ValueRef<'a>)>),
    /// No row.
    Nothing,
    /// Only SQLite can tell.
    Unknown,
}

#[derive(Debug, Default)]
enum State {
    /// Each lookup asks the engine.
    #[default]
    Asking,
    /// All rows are here.
    Loaded(Loaded),
    /// The keys to come are known; the rows of the block that was used last.
    Ahead(Option<Arc<Loaded>>),
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
    /// Notes a lookup that is not answered from here.
    pub(crate) fn advise(&mut self, estimate: impl FnOnce() -> Estimate) -> Advice {
        if matches!(self.state, State::Loaded(_) | State::Refused) {
            return Advice::Ask;
        }
        self.runs += 1;
        if self.runs < 3 {
            return Advice::Ask;
        }
        let estimate = estimate();
        self.spent += u64::from(estimate.call) + u64::from(estimate.row);
        let some = estimate.call >= FAR && self.runs >= SOME && !self.looked_ahead;
        self.looked_ahead |= some;
        let Some(all) = cost_of_all(estimate) else {
            // Nobody knows: it is tried after some lookups, and given up where it is too large.
            let many = self.runs >= 64;
            return if some { Advice::LookAhead } else { Advice::ask_unless(many) };
        };
        if some && all > FEW_CALLS * u64::from(estimate.call) && self.spent < all {
            return Advice::LookAhead;
        }
        Advice::ask_unless(some || self.spent >= all)
    }

    /// Whether so many keys to come are better asked for in blocks than by reading all rows.
    pub(crate) fn is_better_ahead(keys: usize, estimate: Estimate) -> bool {
        let keys = keys as u64;
        let blocks = keys.saturating_mul(u64::from(estimate.row) + 1)
            + keys.div_ceil(1_000) * u64::from(estimate.call);
        keys > 0 && cost_of_all(estimate).is_none_or(|all| blocks < all)
    }

    /// The rows that are here, where they are: all of the table's, or those of a block.
    pub(crate) fn loaded(&self) -> Option<&Loaded> {
        match &self.state {
            State::Loaded(loaded) => Some(loaded),
            State::Ahead(block) => block.as_deref(),
            State::Asking | State::Refused => None,
        }
    }

    /// Whether all rows are here.
    pub(crate) const fn has_all(&self) -> bool {
        matches!(self.state, State::Loaded(_))
    }

    /// Whether the keys to come are known.
    pub(crate) const fn is_ahead(&self) -> bool {
        matches!(self.state, State::Ahead(_))
    }

    /// Keeps all rows; `None` where there are too many.
    pub(crate) fn keep(&mut self, loaded: Option<Loaded>) {
        self.state = loaded.map_or(State::Refused, State::Loaded);
    }

    /// The keys to come are known; the lookup's rows are in this block.
    pub(crate) fn turn_to(&mut self, block: Option<Arc<Loaded>>) {
        self.state = State::Ahead(block);
    }
}

impl Advice {
    const fn ask_unless(better: bool) -> Self {
        if better { Self::ReadAll } else { Self::Ask }
    }
}

fn cost_of_all(estimate: Estimate) -> Option<u64> {
    let rows = estimate.rows?;
    Some(rows.saturating_mul(u64::from(estimate.row)).saturating_add(estimate.call.into()))
}

/// What the arguments of a plan ask for.
pub(crate) fn wanted<'a>(
    table: &TableSchema,
    plan: &Plan,
    argument: impl Fn(usize) -> ValueRef<'a>,
) -> Wanted<'a> {
    let mut values = Vec::with_capacity(2);
    for (number, term) in plan.terms.iter().enumerate() {
        if term.test == Test::Equal {
            let column = table.columns().get(term.column);
            match column.map_or(Point::Unknown, |column| point(column, argument(number))) {
                Point::Value(value) => values.push((term.column, value)),
                Point::Never => return Wanted::Nothing,
                Point::Unknown => return Wanted::Unknown,
            }
        }
    }
    Wanted::Values(values)
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

    /// The rows that may have these values.
    pub(crate) fn find(&self, table: &TableSchema, values: &[(usize, ValueRef<'_>)]) -> Found {
        let run = self.runs.get(&hash(table, values.iter().copied()));
        run.map_or_else(Found::default, |&(next, left)| Found { next, left })
    }

    /// About how many bytes it takes.
    pub(crate) fn bytes(&self) -> usize {
        self.parts.iter().map(RowBuffer::bytes).sum()
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

pub(crate) fn equal_columns(plan: &Plan) -> impl Iterator<Item = usize> {
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
