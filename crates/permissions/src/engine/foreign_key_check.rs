//! Foreign keys to rows that the caller may not read.
//!
//! Whether a database accepts a foreign key reveals whether the referenced row exists. So if the
//! caller may not read the referenced table, it may set the column to NULL only. If a row rule
//! restricts what it may read there, the referenced row is looked up under that rule first, and a
//! hidden row gets the same error as a missing one. The columns of a foreign key of several columns may only be NULL
//! unless the caller may read all rows of the referenced table.

use super::protected_database::ProtectedDatabase;
use crate::policy::{CallerPermissions, Permission};
use bobak_core::{Condition, Reference, Result, TableSchema};
use std::sync::Arc;

/// A column that refers to a table of which the caller may not read all rows.
pub(super) struct ForeignKeyCheck {
    /// The column's position in the table as the caller describes it.
    pub position: usize,
    /// The rows that it may refer to; `None` if the caller may read none.
    pub target: Option<ReadableTarget>,
}

/// The rows of a referenced table that the caller may read.
pub(super) struct ReadableTarget {
    pub table: Arc<TableSchema>,
    /// The position of the referenced column.
    pub column: usize,
    pub rule: Condition,
}

impl ForeignKeyCheck {
    /// Those of a table that the caller describes as `table`, and the database as `stored`.
    ///
    /// # Errors
    /// Those of `tables`.
    pub fn all(
        permissions: &CallerPermissions,
        database: &ProtectedDatabase,
        table: &TableSchema,
        stored: &TableSchema,
        tables: &dyn Fn() -> Result<Vec<TableSchema>>,
    ) -> Result<Vec<Self>> {
        let mut checks = Vec::new();
        for key in stored.all_foreign_keys() {
            let may_read = permissions.on(database.name(), &key.table).has(Permission::Read);
            if permissions.reads_all(database.name(), &key.table) {
                continue;
            }
            for column in key.columns.iter().filter_map(|&at| stored.columns().get(at)) {
                let mut described = table.columns().iter();
                let position = described.position(|c| c.name.eq_ignore_ascii_case(&column.name));
                let Some(position) = position else { continue };
                let reference = column.reference.as_ref().filter(|_| key.columns.len() == 1);
                let referenced = match reference.filter(|_| may_read) {
                    Some(reference) => database.table(&reference.table, &[], tables)?,
                    None => None,
                };
                let target = reference.zip(referenced).and_then(|(reference, table)| {
                    ReadableTarget::of(permissions, database, reference, table)
                });
                checks.push(Self { position, target });
            }
        }
        Ok(checks)
    }
}

impl ReadableTarget {
    /// `None` if the rule cannot be applied: then nothing may be read.
    fn of(
        permissions: &CallerPermissions,
        database: &ProtectedDatabase,
        reference: &Reference,
        table: Arc<TableSchema>,
    ) -> Option<Self> {
        let rule = permissions.rule_on(database.name(), Permission::Read, &table).ok().flatten()?;
        let mut columns = table.columns().iter();
        let column = columns.position(|c| c.name.eq_ignore_ascii_case(&reference.column))?;
        Some(Self { table, column, rule })
    }
}
