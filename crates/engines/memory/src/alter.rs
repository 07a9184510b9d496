//! Schema changes: all of them, or none.

use crate::foreign::check_out;
use crate::log;
use crate::rows::encode;
use crate::state::DatabaseState;
use crate::table::TableState;
use bobak_core::change_log::{self, TableMoves};
use bobak_core::codec::EncodedRow;
use bobak_core::{Error, ErrorKind, Result, SchemaChange, TableAlteration, TableSchema};
use bobak_engine_common::{TableAdditions, TableRebuild, missing_table, table_exists};
use std::sync::Arc;

/// The state after the changes.
///
/// # Errors
/// As [`Engine::alter`](bobak_core::Engine::alter); `Duplicate` or `Constraint` if existing rows break a new rule.
pub(super) fn alter(state: &DatabaseState, changes: &[SchemaChange]) -> Result<DatabaseState> {
    let mut state = state.clone();
    let additions = TableAdditions::collect(changes)?;
    for change in changes {
        match change {
            SchemaChange::CreateTable(table) => {
                if state.position(table.name()).is_some() {
                    return Err(table_exists(table));
                }
                let table = TableState::new(Arc::clone(table))?;
                state.tables.push(Arc::new(table));
            }
            SchemaChange::AddColumn { .. }
            | SchemaChange::AddIndex { .. }
            | SchemaChange::AddReference { .. }
            | SchemaChange::AddForeignKey { .. } => {}
            SchemaChange::AlterTable(alteration) => alter_table(&mut state, alteration)?,
            SchemaChange::DropTable(table) => drop_table(&mut state, table)?,
            SchemaChange::Track { table, history } => log::track(&mut state, table, *history)?,
            SchemaChange::Untrack(table) => log::untrack(&mut state, table)?,
            _ => return Err(Error::unsupported(crate::shared::NAME, "schema change of this kind")),
        }
    }
    for addition in &additions {
        let table = addition.table();
        let position = state.position(table.name()).ok_or_else(|| missing_table(table))?;
        let old = state.table(position);
        let rebuild = addition.rebuild(&old.schema)?;
        let rebuilt = rebuilt(&rebuild, old)?;
        *state.table_mut(position) = rebuilt;
        if !addition.columns().is_empty() {
            let columns = addition.columns().to_vec();
            widen_log(&TableAdditions::of_columns(rebuild.schema, columns), &mut state)?;
        }
    }
    state.known = Arc::default();
    state.maps = Arc::default();
    state.link()?;
    for change in changes {
        if let Some(position) = state.position(change.table().name()) {
            check_references(&state, position)?;
        }
    }
    Ok(state)
}

/// Checks that all rows of a table refer to existing rows.
///
/// # Errors
/// `Constraint`.
pub(super) fn check_references(state: &DatabaseState, position: usize) -> Result<()> {
    if state.links(position).out.is_empty() {
        return Ok(());
    }
    let table = state.table(position);
    let mut at = table.key().order.start();
    while let Some(slot) = table.key().order.next(&mut at) {
        if let Some(row) = table.row(slot) {
            check_out(state, position, row)?;
        }
    }
    Ok(())
}

/// Adds a row of a file or of an older form of the table, with all checks except foreign keys.
///
/// # Errors
/// `Constraint`, `Mismatch`, `Duplicate`, `Full`.
pub(super) fn add_checked(table: &mut TableState, row: Arc<[u8]>) -> Result<()> {
    table.check(EncodedRow::new(&row))?;
    if let Some((index, _)) = table.conflict(EncodedRow::new(&row), None) {
        return Err(table.duplicate(index));
    }
    table.add(row).map(|_| ())
}

/// Replaces a table, and the foreign keys to it, by their new forms.
fn alter_table(state: &mut DatabaseState, alteration: &TableAlteration) -> Result<()> {
    let (from, to) = (alteration.from(), alteration.to());
    let position = state.position(from.name()).ok_or_else(|| missing_table(from))?;
    if state.position(to.name()).is_some_and(|other| other != position) {
        return Err(table_exists(to));
    }
    let old = state.table(position);
    let rebuild = TableRebuild::of(alteration, &old.schema, is_tracked(state, from))?;
    let rebuilt = rebuilt(&rebuild, old)?;
    *state.table_mut(position) = rebuilt;
    let is_moved = move_log(state, alteration)?;
    for other in (0..state.tables.len()).filter(|other| *other != position) {
        let schema = &state.table(other).schema;
        let followed = alteration.follow(schema)?;
        if !followed.same_as(schema) {
            state.table_mut(other).schema = Arc::new(followed);
        }
    }
    if is_moved {
        return log::note_layout(state, to);
    }
    let added = alteration.added().filter_map(|place| to.columns().get(place));
    let added = added.map(|column| column.name.to_string()).collect();
    widen_log(&TableAdditions::of_columns(Arc::clone(to), added), state)
}

/// Gives the table's change log, if it has one, its new names and columns; `false` if no name changes.
fn move_log(state: &mut DatabaseState, alteration: &TableAlteration) -> Result<bool> {
    let (from, to) = (alteration.from(), alteration.to());
    let position = state.position(&format!("{}{}", change_log::LOG_PREFIX, from.name()));
    let (Some(position), Some(moves)) = (position, TableMoves::of(alteration)) else {
        return Ok(false);
    };
    let old = state.table(position);
    let new = change_log::log_schema(to, !old.schema.indexes().is_empty())?;
    let moved = moves.alter_log_to(&old.schema, new)?;
    let rebuilt = rebuilt(&TableRebuild::of(&moved, &old.schema, false)?, old)?;
    *state.table_mut(position) = rebuilt;
    log::note_moves(state, from, &moves)?;
    Ok(true)
}

fn drop_table(state: &mut DatabaseState, table: &TableSchema) -> Result<()> {
    let position = state.position(table.name()).ok_or_else(|| missing_table(table))?;
    let reject = |kind, message: String| Err(Error::new(kind, message).in_table(table.name()));
    if is_tracked(state, table) {
        let message = "the table is tracked: stop tracking it first".to_owned();
        return reject(ErrorKind::Unsupported, message);
    }
    for other in state.tables.iter().filter(|other| other.schema.name() != table.name()) {
        let keys = other.schema.all_foreign_keys();
        if keys.iter().any(|key| key.table.eq_ignore_ascii_case(table.name())) {
            let message = format!("the foreign keys of {} reference it", other.schema.name());
            return reject(ErrorKind::Constraint, message);
        }
    }
    state.tables.remove(position);
    Ok(())
}

fn is_tracked(state: &DatabaseState, table: &TableSchema) -> bool {
    state.position(&format!("{}{}", change_log::LOG_PREFIX, table.name())).is_some()
}

/// The table in its new form, with the old one's rows.
fn rebuilt(rebuild: &TableRebuild, old: &TableState) -> Result<TableState> {
    let mut new = TableState::new(Arc::clone(&rebuild.schema))?;
    new.raise_largest_key(old.largest_key());
    let mut buffer = Vec::new();
    let mut at = old.key().order.start();
    while let Some(slot) = old.key().order.next(&mut at) {
        let Some(bytes) = old.bytes(slot) else { continue };
        let row = EncodedRow::new(bytes);
        let bytes = if rebuild.keeps_rows() {
            Arc::clone(bytes)
        } else {
            encode(&mut buffer, &new.schema, |column| rebuild.value(row, column))?
        };
        let bytes = new.complete(bytes)?;
        new.schema.check_stored(false, &EncodedRow::new(&bytes))?;
        add_checked(&mut new, bytes)?;
    }
    Ok(new)
}

/// Adds the new columns to the table's change log, if it has one, in the table's order.
fn widen_log(addition: &TableAdditions, state: &mut DatabaseState) -> Result<()> {
    let table = addition.table();
    let position = state.position(&format!("{}{}", change_log::LOG_PREFIX, table.name()));
    let Some(position) = position else { return Ok(()) };
    let columns = addition.columns().iter().flat_map(|c| [format!("old_{c}"), format!("new_{c}")]);
    let log = Arc::new(change_log::log_schema(table, false)?);
    let log = TableAdditions::of_columns(log, columns.collect());
    let old = state.table(position);
    let rebuilt = rebuilt(&log.rebuild(&old.schema)?, old)?;
    *state.table_mut(position) = rebuilt;
    log::note_layout(state, table)
}
