//! What is written down of each change of a tracked table: see [`feed`](bobak_core::change_log).
//!
//! Logs are tables like others; a statement adds its rows to them before it ends, and takes them
//! back with the rest where it fails.

use crate::rows::{RowBytes, encode};
use crate::state::{LogTables, State};
use crate::statement::{Done, Statement};
use crate::table::TableState;
use bobak_core::change_log::{self, LOG_COLUMNS, LOG_PREFIX, LoggedVerb};
use bobak_core::codec::EncodedRow;
use bobak_core::{Error, ErrorKind, Result, TableSchema, Value, ValueRef};
use bobak_engine_common::missing_table;
use std::collections::HashMap;
use std::sync::Arc;

/// Begins to track a table.
///
/// # Errors
/// `Schema` for a table that is not there; as [`change_log::log_schema`].
pub(super) fn track(state: &mut State, table: &TableSchema, history: bool) -> Result<()> {
    let place = state.place(table.name()).ok_or_else(|| missing_table(table))?;
    let schema = Arc::clone(&state.table(place).schema);
    let log = change_log::log_schema(&schema, history)?;
    if state.place(log.name()).is_none() {
        state.tables.push(Arc::new(TableState::new(Arc::new(log))?));
    }
    if state.place(change_log::COUNTER_TABLE).is_none() {
        let mut counter = TableState::new(Arc::clone(change_log::counter_schema()))?;
        let first = [Value::Int(1), Value::Int(0), Value::Int(0), Value::Null];
        counter.add(row_of(&counter, &first)?)?;
        state.tables.push(Arc::new(counter));
        state.tables.push(Arc::new(TableState::new(Arc::clone(change_log::tracked_schema()))?));
    }
    let place = state
        .place(change_log::TRACKED_TABLE)
        .ok_or_else(|| missing_table(change_log::tracked_schema()))?;
    let tracked = state.table_mut(place);
    if find_name(tracked, schema.name()).is_none() {
        let key = tracked.next_key()?;
        let values = [Value::Int(key), Value::from(schema.name().to_owned()), Value::Int(0)];
        let row = row_of(tracked, &values)?;
        tracked.add(row)?;
    }
    Ok(())
}

/// Ends it, and drops the log; nothing where the table is not tracked.
///
/// # Errors
/// `Schema` for a table that is not there.
pub(super) fn untrack(state: &mut State, table: &TableSchema) -> Result<()> {
    let name = table.name();
    state.place(name).ok_or_else(|| missing_table(table))?;
    if let Some(place) = state.place(change_log::TRACKED_TABLE) {
        let tracked = state.table_mut(place);
        if let Some(slot) = find_name(tracked, name) {
            tracked.remove(slot);
            tracked.free(slot);
        }
    }
    if let Some(place) = state.place(&format!("{LOG_PREFIX}{name}")) {
        state.tables.remove(place);
    }
    Ok(())
}

/// Adds what a statement did to tracked tables to their logs.
///
/// # Errors
/// `Full`, `OutOfRange` for a row that is too large twice over.
pub(super) fn write_down(statement: &mut Statement<'_>) -> Result<()> {
    for change in changes(statement).into_iter().rev() {
        append(statement, &change)?;
    }
    Ok(())
}

struct Change {
    log: LogTables,
    verb: LoggedVerb,
    old: Option<RowBytes>,
    new: Option<RowBytes>,
}

/// What a statement did to tracked tables, the last change first.
fn changes(statement: &Statement<'_>) -> Vec<Change> {
    let state = statement.state();
    let mut changes = Vec::new();
    // What later steps found where an earlier one left a row.
    let mut found: HashMap<(usize, u32), &RowBytes> = HashMap::new();
    for done in statement.done().iter().rev() {
        let (place, slot, old, verb) = match done {
            Done::Added { place, slot } => (*place, *slot, None, LoggedVerb::Inserted),
            Done::Removed { place, slot, row } => (*place, *slot, Some(row), LoggedVerb::Deleted),
            Done::Replaced { place, slot, old } => (*place, *slot, Some(old), LoggedVerb::Updated),
        };
        let Some(log) = state.links(place).log else { continue };
        let now = || state.table(place).bytes(slot);
        let new = match verb {
            LoggedVerb::Deleted => None,
            _ => found.get(&(place, slot)).copied().or_else(now),
        };
        changes.push(Change { log, verb, old: old.cloned(), new: new.cloned() });
        if let Some(old) = old {
            found.insert((place, slot), old);
        }
    }
    changes
}

fn append(statement: &mut Statement<'_>, change: &Change) -> Result<()> {
    let place = change.log;
    let state = statement.state();
    let counter = state.table(place.counter);
    let slot = counter.key().order.next(&mut counter.key().order.start());
    let before = slot.and_then(|slot| Some((slot, Arc::clone(counter.bytes(slot)?))));
    let Some((slot, before)) = before else {
        let message = "the row that counts changes is gone";
        return Err(Error::new(ErrorKind::Corrupt, message).in_table(change_log::COUNTER_TABLE));
    };
    let row = EncodedRow::new(&before);
    let integer = |place| match row.value(place) {
        ValueRef::Int(number) => number,
        _ => 0,
    };
    let number = integer(1).saturating_add(1);
    // The clock may have been put back; the log's time is not.
    let at = bobak_core::now().max(integer(2));
    let who = row.value(3);
    let raised = [Value::Int(1), Value::Int(number), Value::Int(at), who.to_owned()];
    let raised = row_of(counter, &raised)?;
    let old = change.old.as_deref().map(EncodedRow::new);
    let new = change.new.as_deref().map(EncodedRow::new);
    let logged = encode(&mut Vec::new(), &state.table(place.log).schema, |column| match column {
        change_log::SEQ => ValueRef::Int(number),
        change_log::AT => ValueRef::Int(at),
        change_log::ACTOR => who,
        change_log::VERB => ValueRef::Int(change.verb as i64),
        _ => {
            let column = column - LOG_COLUMNS;
            let row = if column.is_multiple_of(2) { old } else { new };
            row.map_or(ValueRef::Null, |row| row.value(column / 2))
        }
    })?;
    statement.add(place.log, logged)?;
    statement.replace(place.counter, slot, &raised);
    Ok(())
}

fn find_name(tracked: &TableState, name: &str) -> Option<u32> {
    let mut at = tracked.key().order.start();
    std::iter::from_fn(|| tracked.key().order.next(&mut at)).find(|slot| {
        let row = tracked.row(*slot);
        row.is_some_and(|row| match row.value(1) {
            ValueRef::Text(other) => other.eq_ignore_ascii_case(name),
            _ => false,
        })
    })
}

fn row_of(table: &TableState, values: &[Value<'_>]) -> Result<RowBytes> {
    let value = |column: usize| values.get(column).map_or(ValueRef::Null, Value::as_ref);
    encode(&mut Vec::new(), &table.schema, value)
}
