//! The nearest rows so far.

use crate::{Result, Row, TableSchema, Value, compare_in_column};
use std::cmp::Ordering;

/// A row with its distance and its key.
pub(super) struct Candidate {
    pub distance: f64,
    pub key: Vec<Value<'static>>,
    pub row: Vec<Value<'static>>,
}

/// A bounded list of candidates.
pub(super) struct Candidates<'t> {
    table: &'t TableSchema,
    most: usize,
    found: Vec<Candidate>,
    /// Rows that are farther away are not among the nearest.
    farthest: f64,
}

impl<'t> Candidates<'t> {
    pub fn new(table: &'t TableSchema, most: u64) -> Self {
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        Self { table, most, found: Vec::new(), farthest: f64::INFINITY }
    }

    /// Whether a row at this distance may be among the nearest.
    #[inline]
    pub fn may_have(&self, distance: f64) -> bool {
        distance <= self.farthest
    }

    /// Adds a row, and drops the farthest ones from time to time.
    pub fn add(&mut self, candidate: Candidate) {
        self.found.push(candidate);
        if self.found.len() >= self.most.saturating_mul(2).saturating_add(64) {
            self.settle();
        }
    }

    /// The nearest, in order.
    pub fn finish(mut self) -> Vec<Candidate> {
        self.settle();
        self.found
    }

    fn settle(&mut self) {
        let table = self.table;
        self.found.sort_by(|a, b| compare(table, a, b));
        self.found.truncate(self.most);
        if self.found.len() == self.most
            && let Some(last) = self.found.last()
        {
            self.farthest = last.distance;
        }
    }
}

/// By distance, then by key.
fn compare(table: &TableSchema, a: &Candidate, b: &Candidate) -> Ordering {
    a.distance.total_cmp(&b.distance).then_with(|| {
        let mut columns = table.key().iter().zip(a.key.iter().zip(&b.key));
        let compared = |(column, (a, b)): (&usize, (&Value<'_>, &Value<'_>))| {
            compare_in_column(table, *column, a.as_ref(), b.as_ref())
        };
        columns.by_ref().map(compared).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    })
}

/// Some columns of a row.
pub(super) fn owned(row: &dyn Row, places: &[usize]) -> Vec<Value<'static>> {
    places.iter().map(|&place| row.get(place).to_owned()).collect()
}

/// Passes rows on until `row` returns `false`.
///
/// # Errors
/// Those of `row`.
pub(super) fn pass(
    found: impl Iterator<Item = Candidate>,
    row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
) -> Result<()> {
    for candidate in found {
        if !row(&candidate.row.as_slice())? {
            break;
        }
    }
    Ok(())
}
