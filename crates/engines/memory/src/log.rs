//! Change capture: the change log of each tracked table. See [`bobak_core::change_log`].
//!
//! Change logs are ordinary tables. A statement appends its changes before it ends, and removes them again if it fails.

use crate::rows::{RowBytes, encode};
use crate::state::{DatabaseState, LogTables};
use crate::statement::{AtomicStatement, UndoStep};
use crate::table::TableState;
use bobak_core::change_log::{self, LOG_COLUMNS, LOG_PREFIX, LoggedVerb};
use bobak_core::codec::EncodedRow;
use bobak_core::{Error, ErrorKind, Result, TableSchema, Value, ValueRef};
use bobak_engine_common::missing_table;
use std::collections::HashMap;
use std::sync::Arc;

/// Starts to track a table.
///
/// # Errors
/// `Schema` for a table that is not there; as [`change_log::log_schema`].
pub(super) fn track(state: &mut DatabaseState, table: &TableSchema, history: bool) -> Result<()> {
    let position = state.position(table.name()).ok_or_else(|| missing_table(table))?;
    let schema = Arc::clone(&state.table(position).schema);
    let log = change_log::log_schema(&schema, history)?;
    if state.position(log.name()).is_none() {
        state.tables.push(Arc::new(TableState::new(Arc::new(log))?));
    }
    if state.position(change_log::COUNTER_TABLE).is_none() {
        let mut counter = TableState::new(Arc::clone(change_log::counter_schema()))?;
        let first = [Value::Int(1), Value::Int(0), Value::Int(0), Value::Null];
        counter.add(row_of(&counter, &first)?)?;
        state.tables.push(Arc::new(counter));
        state.tables.push(Arc::new(TableState::new(Arc::clone(change_log::tracked_schema()))?));
    }
    let position = state
        .position(change_log::TRACKED_TABLE)
        .ok_or_else(|| missing_table(change_log::tracked_schema()))?;
    let tracked = state.table_mut(position);
    if find_name(tracked, schema.name()).is_none() {
        let key = tracked.next_key()?;
        let values = [Value::Int(key), Value::from(schema.name().to_owned()), Value::Int(0)];
        let row = row_of(tracked, &values)?;
        tracked.add(row)?;
    }
    Ok(())
}

/// Stops tracking a table and drops its change log. Does nothing if the table is not tracked.
///
/// # Errors
/// `Schema` if the table does not exist.
pub(super) fn untrack(state: &mut DatabaseState, table: &TableSchema) -> Result<()> {
    let name = table.name();
    state.position(name).ok_or_else(|| missing_table(table))?;
    if let Some(position) = state.position(change_log::TRACKED_TABLE) {
        let tracked = state.table_mut(position);
        if let Some(slot) = find_name(tracked, name) {
            tracked.remove(slot);
            tracked.free(slot);
        }
    }
    if let Some(position) = state.position(&format!("{LOG_PREFIX}{name}")) {
        state.tables.remove(position);
    }
    Ok(())
}

/// Appends the changes that a statement made to tracked tables to their change logs.
///
/// # Errors
/// `Full`; `OutOfRange` if a row is too large to be stored twice in one change.
pub(super) fn append_changes(statement: &mut AtomicStatement<'_>) -> Result<()> {
    for change in changes(statement).into_iter().rev() {
        append(statement, &change)?;
    }
    Ok(())
}

struct PendingChange {
    log: LogTables,
    verb: LoggedVerb,
    old: Option<RowBytes>,
    new: Option<RowBytes>,
}

/// The changes that a statement made to tracked tables, the last one first.
fn changes(statement: &AtomicStatement<'_>) -> Vec<PendingChange> {
    let state = statement.state();
    let mut changes = Vec::new();
    // The row that a later step found in a slot is the row that an earlier step left there.
    let mut found: HashMap<(usize, u32), &RowBytes> = HashMap::new();
    for done in statement.done().iter().rev() {
        let (position, slot, old, verb) = match done {
            UndoStep::Added { position, slot } => (*position, *slot, None, LoggedVerb::Inserted),
            UndoStep::Removed { position, slot, row } => {
                (*position, *slot, Some(row), LoggedVerb::Deleted)
            }
            UndoStep::Replaced { position, slot, old } => {
                (*position, *slot, Some(old), LoggedVerb::Updated)
            }
        };
        let Some(log) = state.links(position).log else { continue };
        let now = || state.table(position).bytes(slot);
        let new = match verb {
            LoggedVerb::Deleted => None,
            _ => found.get(&(position, slot)).copied().or_else(now),
        };
        changes.push(PendingChange { log, verb, old: old.cloned(), new: new.cloned() });
        if let Some(old) = old {
            found.insert((position, slot), old);
        }
    }
    changes
}

fn append(statement: &mut AtomicStatement<'_>, change: &PendingChange) -> Result<()> {
    let tables = change.log;
    let state = statement.state();
    let counter = state.table(tables.counter);
    let slot = counter.key().order.next(&mut counter.key().order.start());
    let before = slot.and_then(|slot| Some((slot, Arc::clone(counter.bytes(slot)?))));
    let Some((slot, before)) = before else {
        let message = "the row that counts changes is gone";
        return Err(Error::new(ErrorKind::Corrupt, message).in_table(change_log::COUNTER_TABLE));
    };
    let row = EncodedRow::new(&before);
    let integer = |column| match row.value(column) {
        ValueRef::Int(number) => number,
        _ => 0,
    };
    let number = integer(1).saturating_add(1);
    // The system clock may go back. The times of the log do not.
    let at = bobak_core::now().max(integer(2));
    let actor = row.value(3);
    let raised = [Value::Int(1), Value::Int(number), Value::Int(at), actor.to_owned()];
    let raised = row_of(counter, &raised)?;
    let old = change.old.as_deref().map(EncodedRow::new);
    let new = change.new.as_deref().map(EncodedRow::new);
    let logged = encode(&mut Vec::new(), &state.table(tables.log).schema, |column| match column {
        change_log::SEQ => ValueRef::Int(number),
        change_log::AT => ValueRef::Int(at),
        change_log::ACTOR => actor,
        change_log::VERB => ValueRef::Int(change.verb as i64),
        _ => {
            let column = column - LOG_COLUMNS;
            let row = if column.is_multiple_of(2) { old } else { new };
            row.map_or(ValueRef::Null, |row| row.value(column / 2))
        }
    })?;
    statement.add(tables.log, logged)?;
    statement.replace(tables.counter, slot, &raised);
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
