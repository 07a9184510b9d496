//! Applying changes.
//!
//! Only the last state of each row counts. Deleted rows go first in one batch, then the others are inserted or replaced. A
//! new state replaces all rows that conflict with it, by key or by a unique value: those have other values by the end of
//! the page or of the first copy. So changes may be applied twice.

use super::ReplicationReport;
use super::pair::TablePair;
use super::position::{self, CopyState, NO_FIELDS};
use bobak_changes::{Change, ChangePage};
use bobak_core::{
    DynRow, Engine, Error, ErrorKind, OnError, Result, Session, TableSchema, TransactionControl,
    Value, Verb, Write, WriteBatch, codec,
};
use std::collections::HashMap;

/// After this many changes without a known transaction boundary, they are committed nevertheless.
pub(crate) const MAX_CHANGES: usize = 100_000;

/// The final states of the changed rows.
struct RowStates<'c> {
    /// By pair and encoded key.
    rows: HashMap<(usize, Vec<u8>), ReplicatedRow<'c>>,
}

struct ReplicatedRow<'c> {
    key: Vec<Value<'static>>,
    /// The row, and the change that left it.
    row: Option<(&'c DynRow, u64)>,
}

/// Applies a page's changes and those after it, up to the transaction boundary seen with the page, and records the position,
/// in one transaction: readers of the target see whole transactions of the source. The target is at `from`; `made` is the
/// time of the last change before, and becomes that of the last change; `more` reads the page after a change.
pub(super) fn apply(
    to: &dyn Engine,
    pairs: &[TablePair],
    from: u64,
    first: ChangePage,
    made: &mut CopyState,
    mut more: impl FnMut(u64) -> Result<ChangePage>,
) -> Result<ReplicationReport> {
    let boundary = first.boundary.map(|boundary| boundary.id);
    let (mut page, mut changes, mut now) = (first, 0, *made);
    let done = in_transaction(to, |session| {
        loop {
            // Changes after the boundary may be the first part of a transaction.
            page.changes.retain(|change| boundary.is_none_or(|boundary| change.id <= boundary));
            let position = boundary.map_or(page.next, |boundary| boundary.min(page.next));
            apply_changes(session, pairs, &page.changes)?;
            changes += page.changes.len();
            let last = page.changes.last().map(|change| change.at.as_microsecond());
            now = now.map(|before| last.or(before));
            let whole = boundary == Some(position);
            let is_end = whole || boundary.is_none() || changes >= MAX_CHANGES;
            let next = if is_end { None } else { Some(more(position)?) };
            match next.filter(|next| next.next > position) {
                Some(next) => page = next,
                None => {
                    position::write(session, (from, *made), (position, now))?;
                    return Ok(ReplicationReport { changes, position, whole });
                }
            }
        }
    })?;
    *made = now;
    Ok(done)
}

/// Runs `work` in a transaction.
pub(crate) fn in_transaction<R>(
    engine: &dyn Engine,
    work: impl FnOnce(&dyn Session) -> Result<R>,
) -> Result<R> {
    let session = engine.session()?;
    session.control(TransactionControl::Begin)?;
    match work(&*session) {
        Ok(done) => session.control(TransactionControl::Commit).map(|()| done),
        Err(error) => {
            // Dropping the session also rolls back.
            let _ = session.control(TransactionControl::Rollback);
            Err(error)
        }
    }
}

/// Applies changes in the open transaction.
pub(crate) fn apply_changes(
    session: &dyn Session,
    pairs: &[TablePair],
    changes: &[Change],
) -> Result<()> {
    let batch = batch(pairs, &RowStates::of(pairs, changes)?)?;
    if batch.is_empty() { Ok(()) } else { session.batch(&batch, OnError::Stop, &mut |_| {}) }
}

impl<'c> RowStates<'c> {
    fn of(pairs: &[TablePair], changes: &'c [Change]) -> Result<Self> {
        let mut states = Self { rows: HashMap::new() };
        for change in changes {
            let name = change.table.name();
            let same = |pair: &TablePair| pair.source.name().eq_ignore_ascii_case(name);
            let Some(number) = pairs.iter().position(same) else { continue };
            let Some(pair) = pairs.get(number) else { continue };
            if !has_same_columns(&change.table, &pair.source) {
                let message =
                    "the table was changed while it was read: continue with the next step";
                return Err(Error::new(ErrorKind::Schema, message).in_table(name));
            }
            let after = change.after.as_ref().map(|row| (row, change.id));
            for (row, left) in [(&change.before, None), (&change.after, after)] {
                if let Some(row) = row {
                    must_have_key(change, row)?;
                    let key = pair.columns.key(&pair.source, &pair.target, row)?;
                    let mut encoded = Vec::new();
                    codec::encode_slice(&mut encoded, &key)?;
                    states.rows.insert((number, encoded), ReplicatedRow { key, row: left });
                }
            }
        }
        Ok(states)
    }
}

fn has_same_columns(one: &TableSchema, other: &TableSchema) -> bool {
    let (one, other) = (one.columns(), other.columns());
    one.len() == other.len()
        && one.iter().zip(other).all(|(one, other)| (&one.name, one.ty) == (&other.name, other.ty))
}

/// Rejects a row with NULL in its key, which SQLite allows: several rows may have that key, so it is unknown which of them
/// was changed.
fn must_have_key(change: &Change, row: &DynRow) -> Result<()> {
    let is_null =
        |&&position: &&usize| row.values().get(position).is_none_or(|v| *v == Value::Null);
    let Some(&position) = change.table.key().iter().find(is_null) else { return Ok(()) };
    let message = format!(
        "change {} is of a row with NULL in its key, which identifies no row: give each \
         row a key, and begin behind this change, with a later backup or a new copy",
        change.id
    );
    let column = change.table.columns().get(position).map_or("", |column| &column.name);
    let error = Error::new(ErrorKind::Constraint, message).in_table(change.table.name());
    Err(error.in_column(column.to_owned()))
}

fn batch(pairs: &[TablePair], states: &RowStates<'_>) -> Result<WriteBatch> {
    let mut batch = WriteBatch::new();
    // Rows of a table together, in the order of their encoded keys, so that the batch is deterministic.
    let mut rows: Vec<_> = states.rows.iter().collect();
    rows.sort_by_key(|(position, _)| *position);
    for ((number, _), state) in rows.iter().filter(|(_, state)| state.row.is_none()) {
        if let Some(pair) = pairs.get(*number) {
            let (table, verb) = (&pair.target, Verb::Delete);
            batch.push(&Write { table, verb, fields: NO_FIELDS, values: &state.key })?;
        }
    }
    for ((number, _), state) in rows {
        if let (Some(pair), Some((row, change))) = (pairs.get(*number), state.row) {
            let row = pair.widened(row, change);
            let mut values = Vec::new();
            pair.columns.values(&row, &mut values)?;
            let (table, verb) = (&pair.target, Verb::InsertOrReplace);
            batch.push(&Write { table, verb, fields: NO_FIELDS, values: &values })?;
        }
    }
    Ok(batch)
}
