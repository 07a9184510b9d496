//! Writes of single rows.

use super::rule_session::RuleSession;
use super::soft_delete::{is_live, not_found};
use super::table_rules::{TableRules, set_columns};
use bobak_core::{Outcome, Result, Value, Verb, Write};

impl RuleSession<'_> {
    /// Normalizes, validates and writes a row.
    pub(super) fn write_row(&self, rules: &TableRules, write: &Write<'_>) -> Result<Outcome> {
        let hidden_by = self.hidden_by(rules, write.table)?;
        let fields = match hidden_by {
            Some(_) => rules.written_fields(write.table, write.verb, write.fields)?,
            None => write.fields,
        };
        let write = &Write { fields, ..*write };
        if rules.has_hooks(write.verb) {
            return self.atomically(|| self.write_hooked(rules, write));
        }
        if write.verb == Verb::Delete {
            return self.delete_row(rules, write);
        }
        let mut values = borrowed(write.values);
        if rules.needs_transaction(write) {
            rules.normalize(write.table, set_columns(write), &mut values)?;
            let write = &Write { values: &values, ..*write };
            return self.atomically(|| self.write_part(rules, write));
        }
        rules.apply(write, &mut values)?;
        self.inner()?.write(&Write { values: &values, ..*write })
    }

    /// Writes some columns of a row that may exist, whose others are read.
    fn write_part(&self, rules: &TableRules, write: &Write<'_>) -> Result<Outcome> {
        let stored = match write.verb {
            Verb::Update => self.conflicting(rules, &Write { verb: Verb::Upsert, ..*write }),
            _ => self.conflicting(rules, write),
        };
        let hidden_by = self.hidden_by(rules, write.table)?;
        let row = match stored? {
            Some(stored) if write.verb == Verb::Update => {
                if !is_live(hidden_by, &stored) {
                    return Err(not_found(write.table));
                }
                let row = merged(stored.clone(), write);
                rules.check(write.table, set_columns(write), &row, true)?;
                return self.update_stored(rules, write, &stored);
            }
            Some(stored) => merged(stored, write),
            None if write.verb == Verb::Update => return self.inner()?.write(write),
            None => write.values.iter().map(|value| value.clone().into_owned()).collect(),
        };
        rules.check(write.table, set_columns(write), &row, true)?;
        self.inner()?.write(write)
    }
}

/// The row as an update will leave it.
pub(super) fn merged(mut row: Vec<Value<'static>>, write: &Write<'_>) -> Vec<Value<'static>> {
    for column in write.fields.iter() {
        if let (Some(slot), Some(value)) = (row.get_mut(column), write.values.get(column)) {
            *slot = value.clone().into_owned();
        }
    }
    row
}

/// The same values, borrowed.
pub(super) fn borrowed<'v>(values: &'v [Value<'_>]) -> Vec<Value<'v>> {
    values.iter().map(|value| value.as_ref().into()).collect()
}
