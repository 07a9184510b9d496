//! Tables that refer to each other, created in one list of changes, or to unique columns of their own.

use bobak_core::{Reference, Result, SchemaChange, TableSchema};
use std::borrow::Cow;
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

/// The changes with such foreign keys added after all of them, and with those that refer to a unique index of their own
/// table, which is created after the table.
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
            let reference = definition.reference.as_ref();
            if reference.is_some_and(|to| {
                is_late(table, &to.table, std::slice::from_ref(&to.column), later)
            }) {
                last.push(SchemaChange::AddReference { table: Arc::clone(table), column });
            }
        }
        for (foreign_key, key) in table.foreign_keys().iter().enumerate() {
            if is_late(table, &key.table, &key.referenced, later) {
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

/// The table without foreign keys that are added later.
fn without(table: &TableSchema, later: &[SchemaChange]) -> Result<TableSchema> {
    let builder = table.clone().into_builder();
    let builder = builder.map_foreign_keys(|key| {
        (!is_late(table, &key.table, &key.referenced, later)).then_some(key)
    });
    let builder = builder.map_columns(|mut column| {
        let is_late =
            |to: &Reference| is_late(table, &to.table, std::slice::from_ref(&to.column), later);
        column.reference = column.reference.filter(|to| !is_late(to));
        column
    });
    builder.build()
}

/// Whether a foreign key of a table can be created only after what it refers to.
fn is_late(
    table: &TableSchema,
    to: &str,
    referenced: &[Cow<'static, str>],
    later: &[SchemaChange],
) -> bool {
    if !to.eq_ignore_ascii_case(table.name()) {
        return creates(later, to);
    }
    let is_key = |name: &Cow<'_, str>| {
        let mut names = table.key().iter().filter_map(|&place| table.columns().get(place));
        names.any(|column| column.name.eq_ignore_ascii_case(name))
    };
    referenced.len() != table.key().len() || !referenced.iter().all(is_key)
}

fn creates(changes: &[SchemaChange], name: &str) -> bool {
    changes.iter().any(|change| {
        matches!(change, SchemaChange::CreateTable(table) if table.name().eq_ignore_ascii_case(name))
    })
}
