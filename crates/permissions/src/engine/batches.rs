//! Batches under row rules: sent whole if every row is allowed, otherwise row by row.

use super::permission_session::PermissionSession;
use super::row_writes::check_row;
use super::table_permissions::TablePermissions;
use crate::policy::Permission;
use bobak_core::codec::EncodedRow;
use bobak_core::{
    Condition, Error, OnError, Outcome, Result, Row, Run, TableSchema, Value, Verb, Write,
    WriteBatch,
};
use std::sync::Arc;

impl PermissionSession<'_> {
    /// Runs a batch. Row rules apply to each row; a row that is not allowed fails like any invalid
    /// row.
    pub(super) fn batch_checked(
        &self,
        batch: &WriteBatch,
        on_error: OnError,
        each: &mut dyn FnMut(Result<Outcome>),
    ) -> Result<()> {
        let (mut runs, mut is_allowed) = (Vec::new(), true);
        for run in batch.runs() {
            let permissions = self.permissions_on(run.table).and_then(|permissions| {
                permissions.check_verb(run.verb, run.table)?;
                Ok(permissions)
            });
            match &permissions {
                Err(_) if on_error == OnError::Stop => {
                    return permissions.map(drop).map_err(|error| error.at_row(run.first));
                }
                Err(_) => is_allowed = false,
                Ok(permissions) => is_allowed = is_allowed && allows_all(permissions, &run),
            }
            runs.push((run, permissions));
        }
        if is_allowed {
            return self.inner.batch(batch, on_error, each);
        }
        self.atomically(|| {
            for (run, permissions) in &runs {
                for (row, number) in run.iter().zip(run.first..) {
                    let outcome = match permissions {
                        Ok(permissions) => self.write_row(run, permissions, row),
                        Err(error) => Err(repeated(error)),
                    };
                    match (outcome, on_error) {
                        (Err(error), OnError::Stop) => return Err(error.at_row(number)),
                        (outcome, _) => each(outcome.map_err(|error| error.at_row(number))),
                    }
                }
            }
            Ok(())
        })
    }

    /// Writes one row, in the batch's transaction.
    fn write_row(
        &self,
        run: &Run<'_>,
        permissions: &Arc<TablePermissions>,
        row: EncodedRow<'_>,
    ) -> Result<Outcome> {
        let values: Vec<Value<'_>> =
            (0..row.len()).map(|column| row.value(column).into()).collect();
        let (verb, fields) = (run.verb, run.fields);
        let write = Write { table: run.table, verb, fields, values: &values };
        self.check_references(permissions, run.table, (verb, fields), &values)?;
        match verb {
            _ if permissions.has_no_rule(verb, run.table) => self.inner.write(&write),
            Verb::Insert | Verb::InsertOrIgnore | Verb::InsertOrReplace => {
                let rule = permissions.check(Permission::Insert, run.table)?;
                check_encoded(rule, run.table, &row)?;
                self.inner.write(&write)
            }
            _ => self.write_existing(permissions, &write),
        }
    }
}

fn check_encoded(
    rule: Option<&Condition>,
    table: &TableSchema,
    row: &EncodedRow<'_>,
) -> Result<()> {
    if rule.is_none() {
        return Ok(());
    }
    table.check_stored(false, row)?;
    check_row(rule, table, row)
}

/// Whether every row of a run is allowed, as far as that is certain without reading existing rows.
fn allows_all(permissions: &TablePermissions, run: &Run<'_>) -> bool {
    let sets_no_reference =
        |row: EncodedRow<'_>| permissions.needs_no_reference_check(run.verb, run.fields, &row);
    if !permissions.foreign_keys.is_empty() && !run.iter().all(sets_no_reference) {
        return false;
    }
    if permissions.has_no_rule(run.verb, run.table) {
        return true;
    }
    match (run.verb, permissions.check(Permission::Insert, run.table)) {
        (Verb::Insert | Verb::InsertOrIgnore | Verb::InsertOrReplace, Ok(rule)) => {
            run.iter().all(|row| check_encoded(rule, run.table, &row).is_ok())
        }
        _ => false,
    }
}

/// The same error, for another row.
fn repeated(error: &Error) -> Error {
    let repeated = error.to_bare();
    match error.table() {
        Some(table) => repeated.in_table(table),
        None => repeated,
    }
}
