//! Which migrations an engine carries out without blocking writers.

use super::step::{MigrationStep, find};
use bobak_core::{ColumnSchema, Engine, Result};

/// Whether the steps build indexes and add rules on an engine that does so without blocking writers, outside
/// transactions.
pub(super) fn runs_online(engine: &dyn Engine, steps: &[MigrationStep]) -> Result<bool> {
    if !engine.capabilities().online_ddl || steps.is_empty() {
        return Ok(false);
    }
    let tables = engine.tables()?;
    let is_online = |step: &MigrationStep| match step {
        MigrationStep::AddIndex { .. } => true,
        MigrationStep::ChangeColumn { table, column } => {
            let table = find(&tables, table).ok();
            let place = table.and_then(|table| table.column(&column.name).ok());
            let stored = table.and_then(|table| table.columns().get(place?));
            stored.is_some_and(|stored| adds_rules(stored, column))
        }
        _ => false,
    };
    Ok(steps.iter().all(is_online))
}

/// Whether a column gets NOT NULL, a CHECK or a foreign key, and no other type.
fn adds_rules(stored: &ColumnSchema, column: &ColumnSchema) -> bool {
    let is_alike = stored.ty == column.ty
        && stored.storage == column.storage
        && stored.max_chars == column.max_chars
        && stored.collation == column.collation;
    let is_tighter = (stored.nullable && !column.nullable)
        || (column.check.is_some() && stored.check != column.check)
        || (column.reference.is_some() && stored.reference != column.reference);
    // A killed process may have added them.
    is_alike && (is_tighter || stored == column)
}
