//! Changes of the schema: all of them, or none.

use crate::foreign::check_out;
use crate::log;
use crate::rows::encode;
use crate::state::State;
use crate::table::TableState;
use bobak_core::change_log;
use bobak_core::codec::EncodedRow;
use bobak_core::{Error, Result, SchemaChange};
use bobak_engine_common::{TableAdditions, missing_table, table_exists};
use std::sync::Arc;

/// The state with the changes made.
///
/// # Errors
/// As [`Engine::alter`](bobak_core::Engine::alter); `Duplicate` or `Constraint` where rows that are there
/// break a new rule.
pub(super) fn alter(state: &State, changes: &[SchemaChange]) -> Result<State> {
    let mut state = state.clone();
    let additions = TableAdditions::collect(changes)?;
    for change in changes {
        match change {
            SchemaChange::CreateTable(table) => {
                if state.place(table.name()).is_some() {
                    return Err(table_exists(table));
                }
                let table = TableState::new(Arc::clone(table))?;
                state.tables.push(Arc::new(table));
            }
            SchemaChange::AddColumn { .. } | SchemaChange::AddIndex { .. } => {}
            SchemaChange::Track { table, history } => log::track(&mut state, table, *history)?,
            SchemaChange::Untrack(table) => log::untrack(&mut state, table)?,
            _ => return Err(Error::unsupported(crate::shared::NAME, "schema change of this kind")),
        }
    }
    for addition in &additions {
        let table = addition.table();
        let place = state.place(table.name()).ok_or_else(|| missing_table(table))?;
        let rebuilt = rebuilt(addition, state.table(place))?;
        *state.table_mut(place) = rebuilt;
        widen_log(addition, &mut state)?;
    }
    state.known = Arc::default();
    state.link()?;
    for addition in &additions {
        if let Some(place) = state.place(addition.table().name()) {
            check_references(&state, place)?;
        }
    }
    Ok(state)
}

/// Checks that all rows of a table refer to rows that are there.
///
/// # Errors
/// `Constraint`.
pub(super) fn check_references(state: &State, place: usize) -> Result<()> {
    if state.links(place).out.is_empty() {
        return Ok(());
    }
    let table = state.table(place);
    let mut at = table.key().order.start();
    while let Some(slot) = table.key().order.next(&mut at) {
        if let Some(row) = table.row(slot) {
            check_out(state, place, row)?;
        }
    }
    Ok(())
}

/// Adds a row of a file or of an older form of the table, with all checks but foreign keys.
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

/// Gives the table's log, if it has one, the new columns too.
fn widen_log(addition: &TableAdditions, state: &mut State) -> Result<()> {
    let table = addition.table();
    let place = state.place(&format!("{}{}", change_log::LOG_PREFIX, table.name()));
    let Some(place) = place.filter(|_| !addition.columns().is_empty()) else {
        return Ok(());
    };
    let columns = addition.columns().iter().flat_map(|c| [format!("old_{c}"), format!("new_{c}")]);
    let log = Arc::new(change_log::log_schema(table, false)?);
    let log = TableAdditions::of_columns(log, columns.collect());
    let rebuilt = rebuilt(&log, state.table(place))?;
    *state.table_mut(place) = rebuilt;
    Ok(())
}
