//! Tables that refer to each other, created in one list of changes.

use bobak_core::{Result, SchemaChange, TableSchema};
use std::sync::Arc;

/// Whether a foreign key names a table that a later change creates.
#[must_use]
pub fn has_forward_references(changes: &[SchemaChange]) -> bool {
    changes.iter().enumerate().any(|(at, change)| {
        let later = changes.get(at + 1..).unwrap_or_default();
        let SchemaChange::CreateTable(table) = change else { return false };
        table.all_foreign_keys().iter().any(|key| creates(later, &key.table))
    })
}

/// The changes with such foreign keys added after all of them.
///
/// # Errors
/// As `TableSchemaBuilder::build`.
pub fn with_forward_references_last(changes: &[SchemaChange]) -> Result<Vec<SchemaChange>> {
    let (mut all, mut last) = (Vec::with_capacity(changes.len()), Vec::new());
    for (at, change) in changes.iter().enumerate() {
        let later = changes.get(at + 1..).unwrap_or_default();
        let SchemaChange::CreateTable(table) = change else {
            all.push(change.clone());
            continue;
        };
        let earlier = last.len();
        for (column, definition) in table.columns().iter().enumerate() {
            if definition.reference.as_ref().is_some_and(|to| creates(later, &to.table)) {
                last.push(SchemaChange::AddReference { table: Arc::clone(table), column });
            }
        }
        for (foreign_key, key) in table.foreign_keys().iter().enumerate() {
            if creates(later, &key.table) {
                last.push(SchemaChange::AddForeignKey { table: Arc::clone(table), foreign_key });
            }
        }
        let table = match last.len() == earlier {
            true => Arc::clone(table),
            false => Arc::new(without(table, later)?),
        };
        all.push(SchemaChange::CreateTable(table));
    }
    all.append(&mut last);
    Ok(all)
}

/// The table without foreign keys to the tables that are created later.
fn without(table: &TableSchema, later: &[SchemaChange]) -> Result<TableSchema> {
    let builder = table.clone().into_builder();
    let builder = builder.map_foreign_keys(|key| (!creates(later, &key.table)).then_some(key));
    let builder = builder.map_columns(|mut column| {
        column.reference = column.reference.filter(|to| !creates(later, &to.table));
        column
    });
    builder.build()
}

fn creates(changes: &[SchemaChange], name: &str) -> bool {
    changes.iter().any(|change| {
        matches!(change, SchemaChange::CreateTable(table) if table.name().eq_ignore_ascii_case(name))
    })
}
