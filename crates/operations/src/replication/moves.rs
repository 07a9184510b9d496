//! Renamed and dropped tables and columns of the source: the target's tables follow before changes with the new names are
//! applied.

use super::position;
use crate::migration::{MigrationStep, change_tables};
use bobak_changes::table_moves;
use bobak_core::change_log::TableMoves;
use bobak_core::{Engine, Result, SchemaChange, Session, TableSchema, TransactionControl};
use std::sync::Arc;

/// Makes the changes of the source's tables that the target has not seen, and changes the names of the replicated tables; returns
/// whether one of them was dropped.
///
/// # Errors
/// `Unsupported` if the target cannot change its tables; those of both engines.
pub(super) fn follow(from: &dyn Engine, to: &dyn Engine, tables: &mut Vec<String>) -> Result<bool> {
    let done = position::moved(to)?;
    let source = from.session()?;
    let mut is_dropped = false;
    for (id, moves) in table_moves(&*source)?.into_iter().filter(|(id, _)| *id > done) {
        let mut names = tables.clone();
        let place = names.iter().position(|name| name.eq_ignore_ascii_case(&moves.from));
        match place {
            Some(place) if moves.to.is_empty() => {
                names.remove(place);
                is_dropped = true;
            }
            Some(place) => names.splice(place..=place, [moves.to.clone()]).for_each(drop),
            None => {}
        }
        let now = source.tables()?;
        in_transaction(to, |session| {
            if place.is_some() {
                apply(session, &moves, &now)?;
            }
            position::move_on(session, id, &names)
        })?;
        *tables = names;
    }
    Ok(is_dropped)
}

/// Runs schema changes in a transaction if the engine can.
fn in_transaction(to: &dyn Engine, work: impl FnOnce(&dyn Session) -> Result<()>) -> Result<()> {
    let session = to.session()?;
    if to.capabilities().implicit_ddl_commit {
        return work(&*session);
    }
    session.begin_replay(&[])?;
    match work(&*session) {
        Ok(()) => session.control(TransactionControl::Commit),
        Err(error) => {
            // The first error says more.
            let _ = session.control(TransactionControl::Rollback);
            Err(error)
        }
    }
}

/// Makes the changes, except for those that a killed process made already.
fn apply(session: &dyn Session, moves: &TableMoves, source: &[TableSchema]) -> Result<()> {
    let find = |tables: &[TableSchema], name: &str| {
        tables.iter().find(|table| table.name().eq_ignore_ascii_case(name)).cloned()
    };
    let mut tables = session.tables()?;
    if let Some(table) = find(&tables, &moves.from).filter(|_| moves.to.is_empty()) {
        let table = Arc::new(table);
        if bobak_changes::is_tracked(session, table.name())? {
            session.alter(&[SchemaChange::Untrack(Arc::clone(&table))])?;
        }
        return session.alter(&[SchemaChange::DropTable(table)]);
    }
    if let Some(table) = find(&tables, &moves.from).filter(|_| moves.renames_table()) {
        let (from, to) = (table.name().to_owned(), moves.to.clone());
        change_tables(session, &MigrationStep::RenameTable { from, to })?;
        tables = session.tables()?;
    }
    let Some(table) = find(&tables, &moves.to) else { return Ok(()) };
    let source = find(source, &moves.to);
    for step in steps(&table, source.as_ref(), moves) {
        change_tables(session, &step)?;
    }
    Ok(())
}

/// The steps that change the target's columns.
fn steps(
    table: &TableSchema,
    source: Option<&TableSchema>,
    moves: &TableMoves,
) -> Vec<MigrationStep> {
    let has = |name: &str| table.column(name).is_ok();
    let name = || table.name().to_owned();
    // A column that another one replaces is gone already if it is as in the source.
    let is_replaced = |column: &String| {
        let of = |table: &TableSchema| {
            let column = table.columns().get(table.column(column).ok()?)?;
            Some((column.ty, column.max_chars))
        };
        moves.renamed.iter().any(|(old, new)| new == column && !has(old))
            && source.and_then(of) == of(table)
    };
    let dropped = moves.dropped.iter().filter(|column| has(column) && !is_replaced(column));
    let drop =
        |column: &String| MigrationStep::DropColumn { table: name(), column: column.clone() };
    let rename = |from: &str, to: &str| {
        let (from, to) = (from.to_owned(), to.to_owned());
        MigrationStep::RenameColumn { table: name(), from, to }
    };
    let mut all: Vec<_> = dropped.map(drop).collect();
    let mut last = Vec::new();
    let is_taken = |new: &str| moves.renamed.iter().any(|(old, _)| old.eq_ignore_ascii_case(new));
    for (number, (old, new)) in moves.renamed.iter().enumerate().filter(|(_, (old, _))| has(old)) {
        if is_taken(new) {
            let between = format!("bobak_renamed_{number}");
            all.push(rename(old, &between));
            last.push(rename(&between, new));
        } else {
            last.push(rename(old, new));
        }
    }
    all.append(&mut last);
    all
}
