//! Change capture: the change log of each tracked table. See [`bobak_core::change_log`].
//!
//! Change logs are ordinary tables. A statement appends its changes before it ends, and removes them again if it fails.

use crate::rows::{RowBytes, encode};
use crate::state::{DatabaseState, LogTables};
use crate::statement::{AtomicStatement, UndoStep};
use crate::table::TableState;
use bobak_core::change_log::{self, LOG_COLUMNS, LOG_PREFIX, LoggedVerb, TableMoves};
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
    if find_names(state.table(position), schema.name()).next().is_none() {
        let is_again = was_untracked(state, &schema);
        let mut unknown = 0;
        if is_again {
            skip_number(state)?;
            unknown = last_change(state);
            note_text(state, unknown, change_log::untracked_text(&schema))?;
        }
        let tracked = state.table_mut(position);
        let key = tracked.next_key()?;
        let values = [Value::Int(key), Value::from(schema.name().to_owned()), Value::Int(unknown)];
        let row = row_of(tracked, &values)?;
        tracked.add(row)?;
    }
    note_layout(state, &schema)
}

/// The number of the last change.
fn last_change(state: &DatabaseState) -> i64 {
    state.position(change_log::COUNTER_TABLE).map_or(0, |position| {
        let counter = state.table(position);
        let slot = counter.key().order.next(&mut counter.key().order.start());
        match slot.and_then(|slot| counter.row(slot)).map(|row| row.value(1)) {
            Some(ValueRef::Int(number)) => number,
            _ => 0,
        }
    })
}

/// Records the moves of a tracked table, whose log has moved: see [`TableMoves`]. `from` is the table before.
pub(super) fn note_moves(
    state: &mut DatabaseState,
    from: &TableSchema,
    moves: &TableMoves,
) -> Result<()> {
    let counted = last_change(state);
    for list in [change_log::TRACKED_TABLE, change_log::LAYOUT_TABLE] {
        let Some(position) = state.position(list) else { continue };
        let rows = state.table_mut(position);
        for slot in find_names(rows, from.name()).collect::<Vec<_>>() {
            let Some(row) = rows.row(slot) else { continue };
            let columns = 0..rows.schema.columns().len();
            let mut values: Vec<_> = columns.map(|column| row.value(column).to_owned()).collect();
            if let [_, name, ..] = &mut values[..] {
                *name = Value::from(moves.to.clone());
            }
            if let [_, _, _, Value::Text(layout)] = &mut values[..] {
                *layout = moves.moved_layout(layout, from).into();
            }
            let row = row_of(rows, &values)?;
            rows.remove(slot);
            rows.free(slot);
            rows.add(row)?;
        }
    }
    note_text(state, counted, moves.to_text())
}

/// Records a text next to the layouts.
fn note_text(state: &mut DatabaseState, counted: i64, text: String) -> Result<()> {
    let Some(position) = state.position(change_log::LAYOUT_TABLE) else { return Ok(()) };
    let layouts = state.table_mut(position);
    let (key, name) = (Value::Int(layouts.next_key()?), Value::from(""));
    let row = row_of(layouts, &[key, name, Value::Int(counted), Value::from(text)])?;
    layouts.add(row).map(drop)
}

/// Whether a table was tracked before, and then no longer.
fn was_untracked(state: &DatabaseState, table: &TableSchema) -> bool {
    let Some(position) = state.position(change_log::LAYOUT_TABLE) else { return false };
    let (layouts, text) = (state.table(position), change_log::untracked_text(table));
    find_names(layouts, "").any(|slot| {
        let row = layouts.row(slot);
        row.is_some_and(|row| matches!(row.value(3), ValueRef::Text(found) if found == text))
    })
}

/// Takes a number that no change has.
fn skip_number(state: &mut DatabaseState) -> Result<()> {
    let Some(position) = state.position(change_log::COUNTER_TABLE) else { return Ok(()) };
    let counter = state.table_mut(position);
    let slot = counter.key().order.next(&mut counter.key().order.start());
    if let Some(slot) = slot
        && let Some(row) = counter.row(slot)
    {
        let mut values: Vec<_> = (0..4).map(|column| row.value(column).to_owned()).collect();
        if let Some(Value::Int(number)) = values.get_mut(1) {
            *number = number.saturating_add(1);
        }
        let row = row_of(counter, &values)?;
        counter.remove(slot);
        counter.free(slot);
        counter.add(row)?;
    }
    Ok(())
}

/// Records the layout of a tracked table, unless it is recorded already.
pub(super) fn note_layout(state: &mut DatabaseState, schema: &TableSchema) -> Result<()> {
    let layout = change_log::layout(schema);
    let counted = last_change(state);
    if state.position(change_log::LAYOUT_TABLE).is_none() {
        let layouts = TableState::new(Arc::clone(change_log::layout_schema()))?;
        state.tables.push(Arc::new(layouts));
    }
    let position = state
        .position(change_log::LAYOUT_TABLE)
        .ok_or_else(|| missing_table(change_log::layout_schema()))?;
    let layouts = state.table_mut(position);
    let last = find_names(layouts, schema.name()).last();
    let is_last = last
        .and_then(|slot| layouts.row(slot))
        .is_some_and(|row| matches!(row.value(3), ValueRef::Text(text) if text == layout));
    if !is_last {
        let key = Value::Int(layouts.next_key()?);
        let name = Value::from(schema.name().to_owned());
        let row = row_of(layouts, &[key, name, Value::Int(counted), Value::from(layout)])?;
        layouts.add(row)?;
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
    let was_tracked = state
        .position(change_log::TRACKED_TABLE)
        .is_some_and(|position| find_names(state.table(position), name).next().is_some());
    for list in [change_log::TRACKED_TABLE, change_log::LAYOUT_TABLE] {
        let Some(position) = state.position(list) else { continue };
        let rows = state.table_mut(position);
        for slot in find_names(rows, name).collect::<Vec<_>>() {
            rows.remove(slot);
            rows.free(slot);
        }
    }
    // So that a later layout has another number, even if nothing is captured in between.
    skip_number(state)?;
    if was_tracked {
        // The program that tracks it again notes that its changes in between are unknown.
        let counted = last_change(state);
        note_text(state, counted, change_log::untracked_text(table))?;
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
        let message = "the row that counts changes is missing";
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

/// The rows whose second column is this name, in the order of their keys.
fn find_names(tracked: &TableState, name: &str) -> impl Iterator<Item = u32> {
    let mut at = tracked.key().order.start();
    std::iter::from_fn(move || tracked.key().order.next(&mut at)).filter(move |slot| {
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
