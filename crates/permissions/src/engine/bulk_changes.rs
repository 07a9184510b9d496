//! Updates and deletes of many rows by a condition, under row rules.

use super::permission_session::{PermissionSession, and, reject_subqueries};
use super::table_permissions::{TablePermissions, row_denied, satisfies};
use crate::policy::{Permission, RowRule};
use bobak_core::{
    Assign, BulkChange, Condition, Error, ErrorKind, Result, Row, Select, Source, TableSchema,
    ValueRef,
};

impl PermissionSession<'_> {
    /// Updates or deletes the rows that satisfy the condition and that the caller may change.
    pub(super) fn change_checked(
        &self,
        permissions: &TablePermissions,
        change: &BulkChange<'_>,
    ) -> Result<u64> {
        let table = change.table;
        let required =
            if change.assign.is_some() { Permission::Update } else { Permission::Delete };
        let rule = permissions.check(required, table)?;
        self.check_assigned(permissions, table, change.assign.unwrap_or_default())?;
        let mut condition = change.condition.cloned();
        reject_subqueries(condition.as_ref())?;
        // The number of changed rows reveals values, and so does an overflow of a sum: both apply to readable rows only.
        let adds = |assign: &[Assign]| assign.iter().any(|one| matches!(one, Assign::Add { .. }));
        let reads = change.condition.is_some_and(|given| reads_beyond_key(given, table));
        if (reads || change.assign.is_some_and(adds))
            && let Some(rule) = permissions.check(Permission::Read, table)?
        {
            condition = Some(and(condition, rule));
        }
        if let Some(rule) = rule {
            condition = Some(and(condition, rule));
        }
        let change = BulkChange { condition: condition.as_ref(), ..*change };
        match (rule, change.assign) {
            (Some(rule), Some(assign)) if affects(rule, table, assign) => {
                self.atomically(|| self.update_ruled_columns(rule, assign, &change))
            }
            _ => self.inner.change(&change),
        }
    }

    /// Updates columns that the rule reads: checks first what would become of each row.
    fn update_ruled_columns(
        &self,
        rule: &Condition,
        assign: &[Assign],
        change: &BulkChange<'_>,
    ) -> Result<u64> {
        let table = change.table;
        check_assignments(rule, table, assign)?;
        let mut select = Select::all(table);
        select.condition = change.condition.cloned();
        select.order.clear();
        self.inner.query(&Source::Select(&select), &mut |row| {
            if satisfies(Some(rule), table, &UpdatedRow { row, assign }) {
                Ok(true)
            } else {
                Err(row_denied(table, "update a row to become"))
            }
        })?;
        self.inner.change(change)
    }
}

/// Checks the assignments to columns that the rule reads. Sums cannot be predicted, as databases
/// differ in their overflow and rounding.
fn check_assignments(rule: &Condition, table: &TableSchema, assign: &[Assign]) -> Result<()> {
    let mut columns = Vec::new();
    RowRule::columns_of(rule, table, &mut columns);
    for assign in assign.iter().filter(|assign| columns.contains(&assign.column())) {
        let Some(schema) = table.columns().get(assign.column()) else { continue };
        match assign {
            Assign::Set { value, .. } => {
                schema.check_stored(value.as_ref()).map_err(|e| e.in_table(table.name()))?;
            }
            Assign::Add { .. } => {
                let message = "permission denied: a row rule uses this column, so it cannot be added \
                               to: set it";
                let error = Error::new(ErrorKind::Denied, message).in_table(table.name());
                return Err(error.in_column(schema.name.to_string()));
            }
        }
    }
    Ok(())
}

/// A row as it will be.
struct UpdatedRow<'a> {
    row: &'a dyn Row,
    assign: &'a [Assign],
}

impl Row for UpdatedRow<'_> {
    fn len(&self) -> usize {
        self.row.len()
    }

    fn get(&self, column: usize) -> ValueRef<'_> {
        for assign in self.assign {
            match assign {
                Assign::Set { column: set, value } if *set == column => return value.as_ref(),
                _ => {}
            }
        }
        self.row.get(column)
    }
}

/// Whether a rule reads a column that is assigned.
fn affects(rule: &Condition, table: &TableSchema, assign: &[Assign]) -> bool {
    let mut columns = Vec::new();
    RowRule::columns_of(rule, table, &mut columns);
    assign.iter().any(|assign| columns.contains(&assign.column()))
}

/// Whether a condition reads other columns than those of the key.
fn reads_beyond_key(condition: &Condition, table: &TableSchema) -> bool {
    let mut columns = Vec::new();
    RowRule::columns_of(condition, table, &mut columns);
    columns.iter().any(|column| !table.key().contains(column))
}
