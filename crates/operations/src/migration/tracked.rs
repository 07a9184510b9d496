//! The actions of steps on tracked tables: everything that happens to a row is a change that their logs capture.

use super::action::{Action, alter, change_column};
use super::step::{MigrationStep, find};
use super::table_parts::TableParts;
use bobak_core::{CONVERTED, ColumnSchema, Result, SchemaChange, TableAlteration, TableSchema};
use std::sync::Arc;

/// As [`MigrationStep::actions`], of a step on a tracked table.
///
/// # Errors
/// As there; `Unsupported` for a change that no log follows.
pub(super) fn actions(
    step: &MigrationStep,
    tables: &[TableSchema],
    resumed: bool,
) -> Result<Vec<Action>> {
    let actions = match step {
        MigrationStep::DropTable(table) => drop_table(find(tables, table)?),
        MigrationStep::ChangeColumn { table, column } => {
            let table = find(tables, table)?;
            let mut actions = if resumed { begun(table, &column.name)? } else { Vec::new() };
            actions.extend(with_log(change_column(table, column, keeps_log)?));
            actions
        }
        _ => match fill_by_writing(step, tables, resumed)? {
            Some(actions) => actions,
            None => step.actions(tables, resumed)?,
        },
    };
    // Before the first action, which an engine may commit by itself.
    for action in &actions {
        if let Action::Change(SchemaChange::AlterTable(alteration)) = action {
            alteration.check_tracked(true)?;
        }
    }
    Ok(actions)
}

/// Gives these names of tracked tables the form that they have after a step.
pub(super) fn follow(names: &mut Vec<String>, step: &MigrationStep) {
    match step {
        MigrationStep::RenameTable { from, to } => {
            for name in names.iter_mut().filter(|name| name.eq_ignore_ascii_case(from)) {
                name.clone_from(to);
            }
        }
        MigrationStep::DropTable(table) => names.retain(|name| !name.eq_ignore_ascii_case(table)),
        _ => {}
    }
}

/// What a killed process may not have done of a step whose tables are as after it: the log's triggers are created once more.
pub(super) fn rest(step: &MigrationStep, tables: &[TableSchema]) -> Vec<Action> {
    let name = match step {
        MigrationStep::RenameTable { to, .. } => Some(to.as_str()),
        MigrationStep::RenameColumn { table, .. }
        | MigrationStep::DropColumn { table, .. }
        | MigrationStep::AddColumn { table, .. } => Some(table.as_str()),
        _ => None,
    };
    let table = name.and_then(|name| find(tables, name).ok());
    table.map(track).into_iter().collect()
}

fn track(table: &TableSchema) -> Action {
    Action::Change(SchemaChange::Track { table: Arc::new(table.clone()), history: false })
}

/// The last alteration of a conversion that a killed process made: the engine makes the part of it that is missing, which is
/// that of the log. If the process made none, the engine finds nothing missing.
fn begun(table: &TableSchema, column: &str) -> Result<Vec<Action>> {
    let (mut before, place) = (TableParts::of(table), table.column(column)?);
    if table.column(CONVERTED).is_ok() {
        before.columns.retain(|column| column.name != CONVERTED);
    } else if table.key().contains(&place) {
        return Ok(vec![track(table)]);
    } else if let Some(changed) = before.columns.get_mut(place) {
        // Of what a log has, it changed this or nothing.
        changed.nullable = !changed.nullable;
    }
    alter(&before.build()?, table.clone(), &[], &[])
}

fn drop_table(table: &TableSchema) -> Vec<Action> {
    let table = Arc::new(table.clone());
    vec![
        Action::NoteDrop(table.name().to_owned()),
        Action::Change(SchemaChange::Untrack(Arc::clone(&table))),
        Action::Change(SchemaChange::DropTable(table)),
    ]
}

/// Whether a log keeps the values of a column as they are.
fn keeps_log(from: &ColumnSchema, to: &ColumnSchema) -> bool {
    TableAlteration::keeps_values(from, to) && from.ty == to.ty && from.max_chars == to.max_chars
}

/// The actions of a conversion, with that of the log.
fn with_log(actions: Vec<Action>) -> Vec<Action> {
    let mut all = Vec::with_capacity(actions.len() + 1);
    for action in actions {
        let log = match &action {
            Action::Convert { table, from, to } => {
                Some(Action::ConvertLog { table: Arc::clone(table), from: *from, to: *to })
            }
            _ => None,
        };
        all.push(action);
        all.extend(log);
    }
    all
}

/// As [`MigrationStep::actions`] of a new column of a tracked table with a value for the rows that are there: it is
/// written to each row, so that the change log has it. `None` for another step.
fn fill_by_writing(
    step: &MigrationStep,
    tables: &[TableSchema],
    resumed: bool,
) -> Result<Option<Vec<Action>>> {
    let MigrationStep::AddColumn { table, column, after, fill: Some(fill) } = step else {
        return Ok(None);
    };
    let table = find(tables, table)?;
    let mut actions = Vec::new();
    let between = match table.column(&column.name) {
        Ok(_) if resumed => table.clone(),
        _ => {
            let mut unfilled = ColumnSchema::new(column.name.to_string(), column.ty).nullable(true);
            unfilled.storage = column.storage;
            unfilled.declared.clone_from(&column.declared);
            unfilled.max_chars = column.max_chars;
            unfilled.collation = column.collation;
            let mut parts = TableParts::of(table);
            let last = parts.columns.len();
            let place = after.as_deref().map_or(Ok(last), |after| Ok(table.column(after)? + 1))?;
            parts.columns.insert(place, unfilled);
            let between = parts.build()?;
            actions.append(&mut alter(table, between.clone(), &[], &[])?);
            between
        }
    };
    let (place, value) = (between.column(&column.name)?, column.accept(fill.clone())?);
    let mut last = change_column(&between, column, keeps_log)?;
    actions.push(Action::Fill { table: Arc::new(between), column: place, value });
    actions.append(&mut last);
    Ok(Some(actions))
}
