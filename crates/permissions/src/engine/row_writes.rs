//! Writes of single rows under row rules.

use super::permission_session::PermissionSession;
use super::table_permissions::{TablePermissions, check_value, row_denied, satisfies};
use crate::policy::Permission;
use bobak_core::engine::fallback::conflicting_row;
use bobak_core::{
    Condition, Error, ErrorKind, Outcome, Result, Row, TableSchema, Value, ValueRef, Verb, Write,
};
use std::sync::Arc;

impl TablePermissions {
    /// Whether the write is allowed for any row, without a check. Otherwise a row rule decides, or
    /// the write fails.
    pub fn needs_no_check(&self, write: &Write<'_>) -> bool {
        self.has_no_rule(write.verb, write.table)
            && self.needs_no_reference_check(write.verb, write.fields, &write.values)
    }

    /// Whether the verb is allowed for all rows.
    pub fn has_no_rule(&self, verb: Verb, table: &TableSchema) -> bool {
        !self.is_by_invented_index(verb)
            && required(verb)
                .iter()
                .all(|permission| matches!(self.check(*permission, table), Ok(None)))
    }

    fn is_by_invented_index(&self, verb: Verb) -> bool {
        matches!(verb, Verb::UpsertOn(index) if self.invented_indexes.contains(&index))
    }

    /// Checks that the verb is allowed for some rows at least.
    ///
    /// # Errors
    /// `Denied` if a permission is missing, or the row rules cannot be enforced; `Schema` for an upsert by a unique index
    /// that the database does not have.
    pub fn check_verb(&self, verb: Verb, table: &TableSchema) -> Result<()> {
        if self.is_by_invented_index(verb) {
            let message =
                "the database has no such unique index: upsert by another one, or by the key";
            return Err(Error::new(ErrorKind::Schema, message).in_table(table.name()));
        }
        for permission in required(verb) {
            let rule = self.check(*permission, table)?;
            let replaces = verb == Verb::InsertOrReplace && *permission == Permission::Delete;
            if replaces && rule.is_some() {
                let message = "permission denied: row rules restrict which rows you may delete, so \
                               rows cannot be replaced: delete and insert";
                return Err(Error::new(ErrorKind::Denied, message).in_table(table.name()));
            }
        }
        Ok(())
    }
}

/// The permissions that a verb requires.
const fn required(verb: Verb) -> &'static [Permission] {
    match verb {
        Verb::Insert | Verb::InsertOrIgnore => &[Permission::Insert],
        Verb::InsertOrReplace => &[Permission::Insert, Permission::Delete],
        Verb::Upsert | Verb::UpsertOn(_) => &[Permission::Insert, Permission::Update],
        Verb::Update => &[Permission::Update],
        Verb::Delete => &[Permission::Delete],
    }
}

impl PermissionSession<'_> {
    /// Writes a row if the row rules allow it.
    pub(super) fn write_checked(
        &self,
        permissions: &TablePermissions,
        write: &Write<'_>,
    ) -> Result<Outcome> {
        permissions.check_verb(write.verb, write.table)?;
        self.check_references(permissions, write.table, (write.verb, write.fields), write.values)?;
        match write.verb {
            verb if permissions.has_no_rule(verb, write.table) => self.inner.write(write),
            Verb::Insert | Verb::InsertOrIgnore | Verb::InsertOrReplace => {
                let rule = permissions.check(Permission::Insert, write.table)?;
                check_new(rule, write.table, write.values)?;
                self.inner.write(write)
            }
            Verb::Upsert | Verb::UpsertOn(_) | Verb::Update | Verb::Delete => {
                self.atomically(|| self.write_existing(permissions, write))
            }
        }
    }

    /// Writes over a row that may exist: reads it first, in the same transaction.
    pub(super) fn write_existing(
        &self,
        permissions: &TablePermissions,
        write: &Write<'_>,
    ) -> Result<Outcome> {
        let table = write.table;
        let key: Vec<Value<'_>> = match write.verb {
            Verb::UpsertOn(_) => return self.upsert_on(permissions, write),
            Verb::Delete => write.values.to_vec(),
            _ => {
                table.key().iter().filter_map(|column| write.values.get(*column).cloned()).collect()
            }
        };
        let old = self.existing_row(table, &key)?;
        match (write.verb, old) {
            (Verb::Upsert, None) => {
                check_new(permissions.check(Permission::Insert, table)?, table, write.values)?;
            }
            (Verb::Delete, old) => {
                let rule = permissions.check(Permission::Delete, table)?;
                if !old.is_some_and(|old| satisfies(rule, table, &&old[..])) {
                    return Ok(Outcome::Changed(0));
                }
            }
            (verb, old) => {
                let rule = permissions.check(Permission::Update, table)?;
                let Some(row) = old.filter(|old| satisfies(rule, table, &&old[..])) else {
                    return Err(match verb {
                        Verb::Update => not_found(table),
                        _ => row_denied(table, "update"),
                    });
                };
                if !satisfies(rule, table, &&updated(row, write)?[..]) {
                    return Err(row_denied(table, "update a row to become"));
                }
            }
        }
        self.inner.write(write)
    }

    /// Inserts a row, or updates the one that was found by its key: a caller describes the unique index, so the engine must
    /// not find further rows by it.
    fn upsert_on(&self, permissions: &TablePermissions, write: &Write<'_>) -> Result<Outcome> {
        let table = write.table;
        let Some(row) = conflicting_row(&*self.inner, write)? else {
            check_new(permissions.check(Permission::Insert, table)?, table, write.values)?;
            return self.inner.write(&Write { verb: Verb::Insert, ..*write });
        };
        let rule = permissions.check(Permission::Update, table)?;
        if !satisfies(rule, table, &&row[..]) {
            return Err(row_denied(table, "update"));
        }
        let row = updated(row, write)?;
        if !satisfies(rule, table, &&row[..]) {
            return Err(row_denied(table, "update a row to become"));
        }
        self.inner.write(&Write { verb: Verb::Update, values: &row, ..*write })?;
        Ok(Outcome::of_updated(table, |at| row.get(at).map_or(ValueRef::Null, Value::as_ref)))
    }

    /// A copy of the row with this key.
    fn existing_row(
        &self,
        table: &Arc<TableSchema>,
        key: &[Value<'_>],
    ) -> Result<Option<Vec<Value<'static>>>> {
        // The engine is to generate the key, so there is no row yet.
        if key.iter().any(Value::is_null) {
            return Ok(None);
        }
        let mut found = None;
        self.inner.get(table, key, &mut |row| {
            found = Some((0..row.len()).map(|column| row.get(column).to_owned()).collect());
            Ok(())
        })?;
        Ok(found)
    }
}

/// The row as the write will leave it.
fn updated(mut row: Vec<Value<'static>>, write: &Write<'_>) -> Result<Vec<Value<'static>>> {
    for column in write.fields.iter() {
        if let (Some(slot), Some(value)) = (row.get_mut(column), write.values.get(column)) {
            check_value(write.table, column, value)?;
            *slot = value.clone().into_owned();
        }
    }
    Ok(row)
}

/// Rejects a new row that violates a rule. Values that are not in their column's form are rejected,
/// too: they might be stored otherwise than they compare.
fn check_new(rule: Option<&Condition>, table: &TableSchema, values: &[Value<'_>]) -> Result<()> {
    if rule.is_none() {
        return Ok(());
    }
    for (column, value) in values.iter().enumerate() {
        check_value(table, column, value)?;
    }
    check_row(rule, table, &values)
}

/// As [`check_new`], for values that are in their columns' form.
pub(super) fn check_row(
    rule: Option<&Condition>,
    table: &TableSchema,
    row: &dyn Row,
) -> Result<()> {
    if satisfies(rule, table, row) { Ok(()) } else { Err(row_denied(table, "insert")) }
}

fn not_found(table: &TableSchema) -> Error {
    Error::new(ErrorKind::NotFound, "no row has the key").in_table(table.name())
}
