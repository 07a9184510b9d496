//! Writes of single rows with hooks. The caller has opened a transaction or a savepoint.

use super::hooks::{HookPoint, HookRows};
use super::row_writes::{borrowed, merged};
use super::rule_session::RuleSession;
use super::soft_delete::{is_live, not_found};
use super::table_rules::{TableRules, set_columns};
use bobak_core::{
    Error, ErrorKind, FieldSet, GeneratedKey, Outcome, Result, TableSchema, Value, ValueRef, Verb,
    Write,
};
use std::sync::Arc;

type OwnedRow = Vec<Value<'static>>;

impl RuleSession<'_> {
    /// Writes a row, with the hooks of the result.
    pub(super) fn write_hooked(&self, rules: &TableRules, write: &Write<'_>) -> Result<Outcome> {
        let table = write.table;
        rules.check_description(table)?;
        let hidden_by = self.hidden_by(rules, table)?;
        if write.verb == Verb::Delete {
            let old = self.stored(rules, table, write.values)?;
            return match old.filter(|old| is_live(hidden_by, old)) {
                Some(old) => self.delete_hooked(rules, write, &old),
                None => Ok(Outcome::Changed(0)),
            };
        }
        let mut values = borrowed(write.values);
        rules.normalize(table, set_columns(write), &mut values)?;
        let write = Write { values: &values, ..*write };
        match write.verb {
            Verb::Update => match self.stored(rules, table, &key_of(table, &values))? {
                Some(old) if !is_live(hidden_by, &old) => Err(not_found(table)),
                Some(old) => self.update_hooked(rules, &write, &old),
                None => self.inner()?.write(&write),
            },
            Verb::Upsert | Verb::UpsertOn(_) => match self.conflicting(rules, &write)? {
                Some(old) => self.upsert_hooked(rules, &write, &old),
                None => self.insert_hooked(rules, &Write { verb: Verb::Insert, ..write }),
            },
            Verb::InsertOrIgnore
                if rules.record_values(&values).is_some()
                    && self.first_conflict(rules, &write)?.is_some() =>
            {
                Ok(Outcome::Ignored)
            }
            Verb::InsertOrReplace => {
                while let Some(old) = self.first_conflict(rules, &write)? {
                    let key = key_of(table, &old);
                    let (verb, values) = (Verb::Delete, &key);
                    self.delete_hooked(rules, &Write { verb, values, ..write }, &old)?;
                }
                self.insert_hooked(rules, &Write { verb: Verb::Insert, ..write })
            }
            _ => self.insert_hooked(rules, &write),
        }
    }

    fn insert_hooked(&self, rules: &TableRules, write: &Write<'_>) -> Result<Outcome> {
        let table = write.table;
        let mut values: OwnedRow = write.values.iter().map(|v| v.clone().into_owned()).collect();
        let mut new_key = None;
        // Without a record, a required column is NULL: the engine rejects the row.
        if let Some(record) = rules.record_values(&values) {
            let rows = HookRows { old: &[], new: &record };
            let new = self.run_hooks(rules, HookPoint::BeforeInsert, rows)?;
            if let Some(new) = new {
                let changes = rules.changes(table, &record, new)?;
                let sets_key = changes.iter().any(|(column, _)| table.key().contains(column));
                set(rules, table, changes, &mut values)?;
                new_key = if sets_key { Some(reported_key(table, &values)?) } else { None };
            }
        }
        let all = FieldSet::first(table.columns().len());
        rules.check(table, all, &values, true)?;
        let outcome = self.inner()?.write(&Write { values: &values, ..*write })?;
        let key = match &outcome {
            Outcome::Inserted(Some(GeneratedKey::Int(key))) => vec![Value::Int(*key)],
            Outcome::Inserted(_) => key_of(table, &values),
            _ => return Ok(outcome),
        };
        self.run_after(rules, HookPoint::AfterInsert, table, &[], &key)?;
        Ok(new_key.map_or(outcome, |key| Outcome::Inserted(Some(key))))
    }

    fn upsert_hooked(
        &self,
        rules: &TableRules,
        write: &Write<'_>,
        old: &[Value<'static>],
    ) -> Result<Outcome> {
        let table = write.table;
        let values = merged(old.to_vec(), write);
        self.update_hooked(rules, &Write { verb: Verb::Update, values: &values, ..*write }, old)?;
        Ok(match write.verb {
            Verb::UpsertOn(_) => {
                Outcome::of_updated(table, |at| old.get(at).map_or(ValueRef::Null, Value::as_ref))
            }
            _ => Outcome::Changed(1),
        })
    }

    /// Updates a row. `write` has the version that the row must have.
    fn update_hooked(
        &self,
        rules: &TableRules,
        write: &Write<'_>,
        old: &[Value<'static>],
    ) -> Result<Outcome> {
        let (table, mut fields) = (write.table, write.fields);
        let mut values = merged(old.to_vec(), write);
        let (before, record) = (rules.record_values(old), rules.record_values(&values));
        if let (Some(before), Some(record)) = (&before, &record) {
            let rows = HookRows { old: before, new: record };
            let new = self.run_hooks(rules, HookPoint::BeforeUpdate, rows)?;
            let changes = new.map_or(Ok(Vec::new()), |new| rules.changes(table, record, new))?;
            for (column, _) in &changes {
                if table.key().contains(column) || table.version() == Some(*column) {
                    let message = "a hook cannot change the key or the version of a row";
                    let error = Error::new(ErrorKind::Misuse, message).in_table(table.name());
                    return Err(error.in_columns(table, &[*column]));
                }
                table.check_assigned(*column)?;
                fields.insert(*column);
            }
            set(rules, table, changes, &mut values)?;
        }
        rules.check(table, fields, &values, true)?;
        if let Some(version) = table.version()
            && let (Some(slot), Some(given)) = (values.get_mut(version), write.values.get(version))
        {
            *slot = given.clone().into_owned();
        }
        let write = Write { values: &values, fields, ..*write };
        let outcome = self.update_stored(rules, &write, old)?;
        self.run_after(rules, HookPoint::AfterUpdate, table, old, &key_of(table, old))?;
        Ok(outcome)
    }

    fn delete_hooked(
        &self,
        rules: &TableRules,
        write: &Write<'_>,
        old: &[Value<'static>],
    ) -> Result<Outcome> {
        let record = rules.record_values(old).unwrap_or_default();
        let rows = HookRows { old: &[], new: &record };
        self.run_hooks(rules, HookPoint::BeforeDelete, rows)?;
        let outcome = self.delete_row(rules, write)?;
        self.run_hooks(rules, HookPoint::AfterDelete, rows)?;
        Ok(outcome)
    }

    /// Runs hooks that see the row as it is stored now.
    fn run_after(
        &self,
        rules: &TableRules,
        point: HookPoint,
        table: &Arc<TableSchema>,
        old: &[Value<'_>],
        key: &[Value<'_>],
    ) -> Result<()> {
        if rules.hooks(point).next().is_none() {
            return Ok(());
        }
        let Some(new) = self.stored(rules, table, key)? else { return Ok(()) };
        let old = if old.is_empty() { None } else { rules.record_values(old) };
        let (old, new) = (old.unwrap_or_default(), rules.record_values(&new).unwrap_or_default());
        self.run_hooks(rules, point, HookRows { old: &old, new: &new }).map(drop)
    }

    /// A copy of the row with this key.
    fn stored(
        &self,
        rules: &TableRules,
        table: &Arc<TableSchema>,
        key: &[Value<'_>],
    ) -> Result<Option<OwnedRow>> {
        if rules.deletion().is_some() {
            let mut values = vec![Value::Null; table.columns().len()];
            for (&column, value) in table.key().iter().zip(key) {
                if let Some(slot) = values.get_mut(column) {
                    *slot = value.as_ref().into();
                }
            }
            let (verb, fields) = (Verb::Upsert, FieldSet::EMPTY);
            return self.conflicting(rules, &Write { table, verb, fields, values: &values });
        }
        let mut found = None;
        self.inner()?.get(table, key, &mut |row| {
            found = Some((0..row.len()).map(|column| row.get(column).to_owned()).collect());
            Ok(())
        })?;
        Ok(found)
    }

    /// A row with the key, or with the values in a unique index, of a row to be inserted.
    fn first_conflict(&self, rules: &TableRules, write: &Write<'_>) -> Result<Option<OwnedRow>> {
        let is_known =
            |index: &bobak_core::IndexSchema| index.unique && !write.table.is_computed_index(index);
        let indexes = write.table.indexes().iter().enumerate();
        let indexes = indexes.filter(|(_, index)| is_known(index));
        let by_index =
            indexes.filter_map(|(place, _)| Some(Verb::UpsertOn(u16::try_from(place).ok()?)));
        for verb in std::iter::once(Verb::Upsert).chain(by_index) {
            if let Some(row) = self.conflicting(rules, &Write { verb, ..*write })? {
                return Ok(Some(row));
            }
        }
        Ok(None)
    }
}

/// The key that a hook has set, as the outcome of the insert has it.
///
/// # Errors
/// `Misuse` for a key that no outcome has: the caller would use the key that it gave.
fn reported_key(table: &TableSchema, values: &[Value<'static>]) -> Result<GeneratedKey> {
    let value = |at: usize| values.get(at).map_or(ValueRef::Null, Value::as_ref);
    match Outcome::of_updated(table, value) {
        Outcome::Updated(key) => Ok(key),
        _ => {
            let message = "a hook cannot change this key, only one integer or UUID: set it before \
                           the insert";
            let error = Error::new(ErrorKind::Misuse, message).in_table(table.name());
            Err(error.in_columns(table, table.key()))
        }
    }
}

/// Sets and normalizes what hooks have changed.
fn set(
    rules: &TableRules,
    table: &TableSchema,
    changes: Vec<(usize, Value<'static>)>,
    values: &mut [Value<'static>],
) -> Result<()> {
    let columns = changes.iter().map(|(column, _)| *column).collect();
    for (column, value) in changes {
        if let Some(slot) = values.get_mut(column) {
            *slot = value;
        }
    }
    rules.normalize(table, columns, values)
}

/// The values of the key's columns.
fn key_of<'v>(table: &TableSchema, row: &'v [Value<'_>]) -> Vec<Value<'v>> {
    table
        .key()
        .iter()
        .map(|&column| row.get(column).map_or(Value::Null, |value| value.as_ref().into()))
        .collect()
}
