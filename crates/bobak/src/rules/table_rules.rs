//! The rules of a record, for a table as a caller describes it: columns may be missing, or in another order.

use super::engine_rules::RecordRules;
use super::hooks::{HookPoint, RowHook};
use bobak_core::rules::{FieldRule, FieldRules, Violations, catch_panic};
use bobak_core::{
    ColumnSchema, Error, ErrorKind, FieldSet, KeyGeneration, Result, TableSchema, Value, ValueRef,
    Verb, Write,
};
use std::sync::Arc;

/// The value of the column that is set in live rows only: TRUE in stored form.
pub(super) const LIVE: Value<'static> = Value::Int(1);

/// Normalizes a value; a changed one is in the column's stored form.
fn normalize_value(
    rules: &[FieldRule],
    column: &ColumnSchema,
    value: &mut Value<'_>,
) -> Result<()> {
    for rule in rules {
        if let Some(new) = rule.normalize(value.as_ref())? {
            *value = column.accept(new)?;
        }
    }
    Ok(())
}

/// Normalizes and validates the rows of one table.
pub(crate) struct TableRules {
    record: Arc<RecordRules>,
    /// For each column of the record, its index in the described table.
    columns: Vec<Option<usize>>,
    /// The rules of fields, by the index in the described table.
    fields: Vec<(usize, &'static [FieldRule])>,
}

impl TableRules {
    /// Matches the columns by name; letter case does not count, as in the engines.
    pub fn new(record: &Arc<RecordRules>, table: &TableSchema) -> Self {
        let find = |name: &str| {
            table.columns().iter().position(|column| column.name.eq_ignore_ascii_case(name))
        };
        let columns: Vec<_> =
            record.schema.columns().iter().map(|column| find(&column.name)).collect();
        let fields = record.rules.fields.iter().filter_map(|field| {
            let column = columns.get(field.column).copied().flatten()?;
            Some((column, field.rules))
        });
        let fields = fields.collect();
        Self { record: Arc::clone(record), columns, fields }
    }

    /// The rules of fields, with the columns of the described table.
    pub fn field_rules(&self) -> Vec<FieldRules> {
        self.fields.iter().map(|&(column, rules)| FieldRules { column, rules }).collect()
    }

    /// Whether the write needs a transaction: to run hooks, or to read the stored row, of which it sets only some columns.
    pub fn needs_transaction(&self, write: &Write<'_>) -> bool {
        let changes_live_row = matches!(write.verb, Verb::Update | Verb::Delete);
        self.has_hooks(write.verb)
            || (self.needs_whole_rows() && !is_whole(write))
            || (changes_live_row && self.deletion().is_some())
    }

    /// The record's column with the time of the deletion, if it has one, and its index in the described table.
    pub fn deletion(&self) -> Option<(&ColumnSchema, Option<usize>)> {
        self.described(self.record.rules.deleted_at?)
    }

    /// The record's column that is set in live rows only, if it has one, and its index in the described table.
    pub fn liveness(&self) -> Option<(&ColumnSchema, Option<usize>)> {
        self.described(self.record.rules.live?)
    }

    fn described(&self, place: usize) -> Option<(&ColumnSchema, Option<usize>)> {
        let column = self.record.schema.columns().get(place)?;
        Some((column, self.columns.get(place).copied().flatten()))
    }

    /// Whether a write with this verb may run hooks.
    pub fn has_hooks(&self, verb: Verb) -> bool {
        self.record.hooks.iter().any(|hook| HookPoint::of(verb).contains(&hook.point()))
    }

    /// The hooks of a point, in order.
    pub fn hooks(&self, point: HookPoint) -> impl Iterator<Item = &Arc<dyn RowHook>> {
        self.record.hooks.iter().filter(move |hook| hook.point() == point)
    }

    /// What a hook has changed in a record's row: columns of the described table, and their new values in stored form.
    ///
    /// # Errors
    /// `Unsupported` if the described table lacks a changed column; those of values that do not fit.
    pub fn changes(
        &self,
        table: &TableSchema,
        record: &[Value<'_>],
        new: Vec<Value<'static>>,
    ) -> Result<Vec<(usize, Value<'static>)>> {
        let mut changes = Vec::new();
        for (place, (old, new)) in record.iter().zip(new).enumerate() {
            let Some(column) = self.record.schema.columns().get(place) else { continue };
            let new = if *old == new { continue } else { column.accept(new) };
            let new = new.map_err(|error| error.in_table(table.name()))?;
            if *old == new {
                continue;
            }
            let Some(found) = self.columns.get(place).copied().flatten() else {
                let message = "a hook sets a column that the write does not describe";
                let error = Error::new(ErrorKind::Unsupported, message).in_table(table.name());
                return Err(error.in_column(column.name.as_ref()));
            };
            changes.push((found, new));
        }
        Ok(changes)
    }

    /// Checks that a described table has the columns that hooks need to read the record.
    ///
    /// # Errors
    /// `Schema` if a required column is missing.
    pub fn check_description(&self, table: &TableSchema) -> Result<()> {
        let mut columns = self.record.schema.columns().iter().zip(&self.columns);
        let is_missing = |(column, found): &(&ColumnSchema, &Option<usize>)| {
            found.is_none() && !column.nullable && column.default.is_none()
        };
        match columns.find(is_missing) {
            None => Ok(()),
            Some((column, _)) => {
                let message = "hooks need this column of the record: describe the whole table";
                let error = Error::new(ErrorKind::Schema, message).in_table(table.name());
                Err(error.in_column(column.name.as_ref()))
            }
        }
    }

    /// Whether a rule is about whole rows.
    pub fn needs_whole_rows(&self) -> bool {
        self.record.rules.record.is_some()
    }

    /// Whether a column has a rule.
    pub fn has_rule(&self, column: usize) -> bool {
        self.fields.iter().any(|(other, _)| *other == column)
    }

    /// Normalizes the values that a write sets, and validates them. Changed values are in their column's stored form.
    ///
    /// # Errors
    /// `Invalid` with all violations; those of functions, and of values that do not fit their column after normalization.
    pub fn apply(&self, write: &Write<'_>, values: &mut [Value<'_>]) -> Result<()> {
        let set = set_columns(write);
        self.normalize(write.table, set, values)?;
        self.check(write.table, set, values, is_whole(write))
    }

    /// Normalizes the values of some columns.
    ///
    /// # Errors
    /// As [`apply`](Self::apply), except `Invalid`.
    pub fn normalize(
        &self,
        table: &TableSchema,
        set: FieldSet,
        values: &mut [Value<'_>],
    ) -> Result<()> {
        self.mark_live(table, set, values)?;
        for &(place, rules) in self.fields.iter().filter(|(place, _)| set.contains(*place)) {
            let (Some(value), Some(column)) = (values.get_mut(place), table.columns().get(place))
            else {
                continue;
            };
            normalize_value(rules, column, value)
                .map_err(|error| in_column(error, table, place))?;
        }
        Ok(())
    }

    /// Validates the values of some columns, and the record if the row is whole.
    ///
    /// # Errors
    /// `Invalid` with all violations; those of functions.
    pub fn check(
        &self,
        table: &TableSchema,
        set: FieldSet,
        values: &[Value<'_>],
        is_whole: bool,
    ) -> Result<()> {
        let mut violations = Violations::default();
        for &(place, rules) in self.fields.iter().filter(|(place, _)| set.contains(*place)) {
            let value = values.get(place).map_or(ValueRef::Null, Value::as_ref);
            let name = table.columns().get(place).map(|column| column.name.as_ref());
            for rule in rules {
                let verdict = rule.validate(value).map_err(|e| in_column(e, table, place))?;
                if let Err(message) = verdict {
                    violations.push(name, message);
                }
            }
        }
        if is_whole && let Some(validator) = self.record.rules.record {
            self.check_record(table, values, |row| validator(row, &mut violations))?;
        }
        match violations.is_empty() {
            true => Ok(()),
            false => Err(Error::invalid(table.name(), violations.into_vec())),
        }
    }

    fn check_record(
        &self,
        table: &TableSchema,
        values: &[Value<'_>],
        validate: impl FnOnce(&dyn bobak_core::Row) -> Result<()>,
    ) -> Result<()> {
        let Some(row) = self.record_values(values) else { return Ok(()) };
        catch_panic("a validator", || validate(&row.as_slice()))
            .map_err(|error| error.in_table(table.name()))
    }

    /// The values of the record's columns; those that are missing have their defaults. `None` if a required one is NULL:
    /// the engine rejects the row.
    pub fn record_values<'v>(&self, values: &'v [Value<'_>]) -> Option<Vec<Value<'v>>> {
        let schema = self.record.schema;
        let makes_key = schema.key_generation() == KeyGeneration::Engine;
        let mut row = Vec::with_capacity(self.columns.len());
        for (place, (column, found)) in schema.columns().iter().zip(&self.columns).enumerate() {
            let given = found.and_then(|found| values.get(found)).map(|v| Value::from(v.as_ref()));
            let value = given.or_else(|| column.default.clone()).unwrap_or_default();
            row.push(match value {
                Value::Null if makes_key && schema.key() == [place] => Value::Int(0),
                // Nobody writes it, and the engine calculates it later.
                Value::Null if !column.nullable && column.generated.is_some() => {
                    column.added_value()
                }
                Value::Null if !column.nullable => return None,
                value => value,
            });
        }
        Some(row)
    }
}

/// The columns that a write sets.
pub(super) fn set_columns(write: &Write<'_>) -> FieldSet {
    match write.verb {
        Verb::Update => write.fields,
        _ => FieldSet::first(write.table.columns().len()),
    }
}

/// Whether a write sets the whole row, except what no update changes.
fn is_whole(write: &Write<'_>) -> bool {
    let is_set = |column| write.fields.contains(column);
    !write.verb.sets_fields() || write.table.updated_fields().iter().all(is_set)
}

fn in_column(error: Error, table: &TableSchema, column: usize) -> Error {
    error.in_table(table.name()).in_columns(table, &[column])
}
