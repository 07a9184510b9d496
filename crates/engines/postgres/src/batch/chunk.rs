//! Runs cut into parts that one statement can take: rows that do not meet each other.

use bobak_core::codec::EncodedRow;
use bobak_core::{FieldSet, Row, Run, TableSchema, ValueRef, Verb};
use bobak_engine_common::refers_to_itself;
use std::collections::HashSet;

/// Successive rows of a run.
#[derive(Clone, Copy)]
pub(crate) struct Chunk<'r, 'b> {
    /// The first one's number in the batch.
    pub first: u64,
    pub rows: &'r [EncodedRow<'b>],
}

/// The most rows, and about the most bytes, of a part: so much is kept in memory twice.
const MAX_ROWS: usize = 20_000;
const MAX_BYTES: usize = 16 << 20;

impl Chunk<'_, '_> {
    /// The first half and the rest.
    pub fn halves(&self) -> (Self, Self) {
        let middle = self.rows.len() / 2;
        let (a, b) = self.rows.split_at_checked(middle).unwrap_or((self.rows, &[]));
        (Self { first: self.first, rows: a }, Self { first: self.first + a.len() as u64, rows: b })
    }
}

/// The run in parts. In each no two rows have the same key or, for an insert-or-replace, the same
/// value of a unique index: what one row does another may then not see.
pub(crate) fn split<'r, 'b>(run: &Run<'_>, rows: &'r [EncodedRow<'b>]) -> Vec<Chunk<'r, 'b>> {
    let apart = apart(run);
    let mut seen: Vec<HashSet<Vec<u8>>> = vec![HashSet::new(); apart.len()];
    let mut parts = Vec::new();
    let (mut start, mut bytes) = (0, 0);
    for (at, row) in rows.iter().enumerate() {
        let savepoints: Vec<Option<Vec<u8>>> =
            apart.iter().map(|places| mark(run.table, run.verb, places, row)).collect();
        let meets = seen
            .iter()
            .zip(&savepoints)
            .any(|(seen, mark)| mark.as_ref().is_some_and(|mark| seen.contains(mark)));
        bytes += row.as_bytes().len();
        if at > start && (meets || at - start >= MAX_ROWS || bytes > MAX_BYTES) {
            parts.push(part(run, rows, start, at));
            (start, bytes) = (at, row.as_bytes().len());
            seen.iter_mut().for_each(HashSet::clear);
        }
        for (seen, mark) in seen.iter_mut().zip(savepoints) {
            seen.extend(mark);
        }
    }
    parts.push(part(run, rows, start, rows.len()));
    parts
}

fn part<'r, 'b>(
    run: &Run<'_>,
    rows: &'r [EncodedRow<'b>],
    start: usize,
    end: usize,
) -> Chunk<'r, 'b> {
    Chunk { first: run.first + start as u64, rows: rows.get(start..end).unwrap_or_default() }
}

/// The columns that tell rows apart.
fn apart(run: &Run<'_>) -> Vec<Vec<usize>> {
    let key = run.table.key().to_vec();
    match run.verb {
        // Rows of a COPY are looked at one after the other.
        Verb::Insert => Vec::new(),
        Verb::InsertOrReplace => {
            let unique = run.table.indexes().iter().filter(|index| index.unique);
            std::iter::once(key).chain(unique.map(|index| index.columns.clone())).collect()
        }
        _ => vec![key],
    }
}

/// What rows that meet have in common; `None` where a NULL keeps them apart.
fn mark(
    table: &TableSchema,
    verb: Verb,
    places: &[usize],
    row: &EncodedRow<'_>,
) -> Option<Vec<u8>> {
    let mut mark = Vec::new();
    for (at, place) in places.iter().enumerate() {
        let value = row.get(if verb == Verb::Delete { at } else { *place });
        match value {
            ValueRef::Null => return None,
            ValueRef::Int(integer) => mark.extend_from_slice(&integer.to_le_bytes()),
            // Zero and minus zero are one value.
            ValueRef::Float(float) => mark.extend_from_slice(&(float + 0.0).to_le_bytes()),
            ValueRef::Text(text) => {
                let collation = table.columns().get(*place).map(|column| column.collation);
                let folded = collation.unwrap_or_default().fold(text);
                mark.extend_from_slice(&(folded.len() as u64).to_le_bytes());
                mark.extend_from_slice(folded.as_bytes());
            }
            ValueRef::Bytes(bytes) => {
                mark.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
                mark.extend_from_slice(bytes);
            }
        }
    }
    Some(mark)
}

/// Whether rows of one statement can be told nothing by the table's rules that they would not be
/// told one by one: its rows do not refer to each other, and no unique value changes hands. Upserts on a unique index
/// always go one by one.
pub(crate) fn is_alone(table: &TableSchema, verb: Verb, fields: FieldSet) -> bool {
    let is_computed =
        table.indexes().iter().any(|index| index.unique && table.is_computed_index(index));
    if is_computed && !matches!(verb, Verb::Insert | Verb::InsertOrIgnore | Verb::Delete) {
        return false;
    }
    if matches!(verb, Verb::UpsertOn(_)) || refers_to_itself(table) {
        return false;
    }
    let unique = |place: usize| {
        table.key().contains(&place)
            || table.indexes().iter().any(|index| index.unique && index.columns.contains(&place))
    };
    verb != Verb::Update || !fields.iter().any(unique)
}
