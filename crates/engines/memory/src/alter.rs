//! Schema changes: all of them, or none.

use crate::foreign::check_out;
use crate::log;
use crate::rows::encode;
use crate::state::DatabaseState;
use crate::table::TableState;
use bobak_core::change_log;
use bobak_core::codec::EncodedRow;
use bobak_core::{Error, Result, SchemaChange};
use bobak_engine_common::{TableAdditions, missing_table, table_exists};
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
            | SchemaChange::AddReference { .. } => {}
            SchemaChange::Track { table, history } => log::track(&mut state, table, *history)?,
            SchemaChange::Untrack(table) => log::untrack(&mut state, table)?,
            _ => return Err(Error::unsupported(crate::shared::NAME, "schema change of this kind")),
        }
    }
    for addition in &additions {
        let table = addition.table();
        let position = state.position(table.name()).ok_or_else(|| missing_table(table))?;
        let rebuilt = rebuilt(addition, state.table(position))?;
        *state.table_mut(position) = rebuilt;
        widen_log(addition, &mut state)?;
    }
    state.known = Arc::default();
    state.link()?;
    for addition in &additions {
        if let Some(position) = state.position(addition.table().name()) {
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

/// The table with the additions, and the old one's rows.
fn rebuilt(addition: &TableAdditions, old: &TableState) -> Result<TableState> {
    let rebuild = addition.rebuild(&old.schema)?;
    let mut new = TableState::new(Arc::clone(&rebuild.schema))?;
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
        add_checked(&mut new, bytes)?;
    }
    Ok(new)
}

/// Adds the new columns to the table's change log, if it has one.
fn widen_log(addition: &TableAdditions, state: &mut DatabaseState) -> Result<()> {
    let table = addition.table();
    let position = state.position(&format!("{}{}", change_log::LOG_PREFIX, table.name()));
    let Some(position) = position.filter(|_| !addition.columns().is_empty()) else {
        return Ok(());
    };
    let columns = addition.columns().iter().flat_map(|c| [format!("old_{c}"), format!("new_{c}")]);
    let schema = Arc::new(change_log::log_schema(table, false)?);
    let additions = TableAdditions::of_columns(schema, columns.collect());
    let rebuilt = rebuilt(&additions, state.table(position))?;
    *state.table_mut(position) = rebuilt;
    log::note_layout(state, table)
}
