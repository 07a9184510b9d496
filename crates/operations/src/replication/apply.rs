//! Making changes that were read.
//!
//! Of each row only its last state counts: what is left then goes in one batch, those that are gone
//! first. A new state takes the place of all rows that are in its way, by key or by a unique value:
//! they have others by the end of the page, or of the first copy. So it does not matter whether some
//! of the changes were made before.

use super::ReplicationReport;
use super::pair::Pair;
use super::position::{self, Filled, NO_FIELDS};
use bobak_changes::{Change, ChangePage};
use bobak_core::{
    Batch, DynRow, Engine, Error, ErrorKind, OnError, Result, Session, TransactionControl, Value,
    Verb, Write, codec,
};
use std::collections::HashMap;

/// Where so many changes are made without a known end of their transactions, they are committed even so.
pub(crate) const LONGEST: usize = 100_000;

/// What is to become of rows.
struct States<'c> {
    /// By pair and encoded key.
    rows: HashMap<(usize, Vec<u8>), State<'c>>,
}

struct State<'c> {
    key: Vec<Value<'static>>,
    row: Option<&'c DynRow>,
}

/// Makes a page's changes and those behind it, up to the border that was seen with it, and notes their
/// end, in one transaction: whoever reads the target sees whole transactions of the source. The target is at `from`;
/// `made` is the time of the last change before, and becomes that of the last one of all; `more` reads the page
/// behind a place.
pub(super) fn apply(
    to: &dyn Engine,
    pairs: &[Pair],
    from: u64,
    first: ChangePage,
    made: &mut Filled,
    mut more: impl FnMut(u64) -> Result<ChangePage>,
) -> Result<ReplicationReport> {
    let border = first.border.map(|border| border.id);
    let (mut page, mut changes, mut now) = (first, 0, *made);
    let done = in_transaction(to, |session| {
        loop {
            // What came behind the border since may be the first part of a transaction.
            page.changes.retain(|change| border.is_none_or(|border| change.id <= border));
            let place = border.map_or(page.next, |border| border.min(page.next));
            make(session, pairs, &page.changes)?;
            changes += page.changes.len();
            let last = page.changes.last().map(|change| change.at.as_microsecond());
            now = now.map(|before| last.or(before));
            let whole = border == Some(place);
            let is_end = whole || border.is_none() || changes >= LONGEST;
            let next = if is_end { None } else { Some(more(place)?) };
            match next.filter(|next| next.next > place) {
                Some(next) => page = next,
                None => {
                    position::write(session, (from, *made), (place, now))?;
                    return Ok(ReplicationReport { changes, place, whole });
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
            // The session's end would undo it too.
            let _ = session.control(TransactionControl::Rollback);
            Err(error)
        }
    }
}

/// Makes changes in the open transaction.
pub(crate) fn make(session: &dyn Session, pairs: &[Pair], changes: &[Change]) -> Result<()> {
    let batch = batch(pairs, &States::of(pairs, changes)?)?;
    if batch.is_empty() { Ok(()) } else { session.batch(&batch, OnError::Stop, &mut |_| {}) }
}

impl<'c> States<'c> {
    fn of(pairs: &[Pair], changes: &'c [Change]) -> Result<Self> {
        let mut states = Self { rows: HashMap::new() };
        for change in changes {
            let name = change.table.name();
            let same = |pair: &Pair| pair.source.name().eq_ignore_ascii_case(name);
            let Some(number) = pairs.iter().position(same) else { continue };
            let Some(pair) = pairs.get(number) else { continue };
            if change.table.columns().len() != pair.source.columns().len() {
                let message = "the table was changed while it was read: go on with the next step";
                return Err(Error::new(ErrorKind::Schema, message).in_table(name));
            }
            for (row, left) in [(&change.before, None), (&change.after, change.after.as_ref())] {
                if let Some(row) = row {
                    must_have_key(change, row)?;
                    let key = pair.columns.key(&pair.source, &pair.target, row)?;
                    let mut encoded = Vec::new();
                    codec::encode_slice(&mut encoded, &key)?;
                    states.rows.insert((number, encoded), State { key, row: left });
                }
            }
        }
        Ok(states)
    }
}

/// Refuses a row with NULL in its key, which SQLite allows: several may have the same, and nothing tells
/// which of them was changed.
fn must_have_key(change: &Change, row: &DynRow) -> Result<()> {
    let is_null = |&&place: &&usize| row.values().get(place).is_none_or(|v| *v == Value::Null);
    let Some(&place) = change.table.key().iter().find(is_null) else { return Ok(()) };
    let message = format!(
        "change {} is of a row with NULL in its key, so that nothing tells which row it is: give each \
         row a key, and begin behind this change, with a later backup or a new copy",
        change.id
    );
    let column = change.table.columns().get(place).map_or("", |column| &column.name);
    let error = Error::new(ErrorKind::Constraint, message).in_table(change.table.name());
    Err(error.in_column(column.to_owned()))
}

fn batch(pairs: &[Pair], states: &States<'_>) -> Result<Batch> {
    let mut batch = Batch::new();
    // Rows of a table together, in the order of their encoded keys: the same batch each time.
    let mut rows: Vec<_> = states.rows.iter().collect();
    rows.sort_by_key(|(place, _)| *place);
    for ((number, _), state) in rows.iter().filter(|(_, state)| state.row.is_none()) {
        if let Some(pair) = pairs.get(*number) {
            let (table, verb) = (&pair.target, Verb::Delete);
            batch.push(&Write { table, verb, fields: NO_FIELDS, values: &state.key })?;
        }
    }
    let mut values = Vec::new();
    for ((number, _), state) in rows {
        if let (Some(pair), Some(row)) = (pairs.get(*number), state.row) {
            pair.columns.values(row, &mut values)?;
            let (table, verb) = (&pair.target, Verb::InsertOrReplace);
            batch.push(&Write { table, verb, fields: NO_FIELDS, values: &values })?;
        }
    }
    Ok(batch)
}
