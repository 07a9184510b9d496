//! A session with the rules of its engine's records in front of it.

use super::engine_rules::EngineRules;
use super::table_rules::TableRules;
use bobak_core::engine::fallback;
use bobak_core::{
    Assign, BulkChange, OnError, Outcome, Result, Session, SessionLayer, TableSchema,
    TransactionControl, Value, Write, WriteBatch, atomically,
};
use std::cell::Cell;
use std::sync::Arc;

/// A session that normalizes and validates rows before they are written.
pub(crate) struct RuleSession<'e> {
    pub(super) inner: Box<dyn Session + 'e>,
    rules: &'e EngineRules,
    /// Whether the open transaction replays changes, which were checked when they were made.
    replays: Cell<bool>,
}

impl<'e> RuleSession<'e> {
    pub(super) const fn new(inner: Box<dyn Session + 'e>, rules: &'e EngineRules) -> Self {
        Self { inner, rules, replays: Cell::new(false) }
    }

    /// The rules of a table.
    pub(super) fn rules_of(&self, table: &TableSchema) -> Option<Arc<TableRules>> {
        if self.replays.get() { None } else { self.rules.of(table) }
    }

    /// Runs `work` in a transaction, or under a savepoint of the open one. An error undoes all of it.
    pub(super) fn atomically<R>(&self, work: impl FnOnce() -> Result<R>) -> Result<R> {
        atomically(&*self.inner, "bobak_rules", work)
    }

    /// Updates many rows: at once if what is assigned says enough, else row by row.
    fn update_many(
        &self,
        rules: &TableRules,
        change: &BulkChange<'_>,
        assign: &[Assign],
    ) -> Result<u64> {
        let depends_on_row = |assign: &Assign| match assign {
            Assign::Set { .. } => false,
            Assign::Add { column, .. } => rules.has_rule(*column),
        };
        if rules.needs_whole_rows() || assign.iter().any(depends_on_row) {
            return fallback::change(self, change);
        }
        let assign = rules.apply_to_assignments(change.table, assign)?;
        self.inner.change(&BulkChange { assign: Some(&assign), ..*change })
    }
}

impl SessionLayer for RuleSession<'_> {
    fn inner(&self) -> &(dyn Session + '_) {
        &*self.inner
    }

    fn control(&self, step: TransactionControl<'_>) -> Result<()> {
        let done = self.inner.control(step);
        if !self.inner.in_transaction() {
            self.replays.set(false);
        }
        done
    }

    fn begin_replay(&self, tables: &[&str]) -> Result<()> {
        self.inner.begin_replay(tables)?;
        self.replays.set(true);
        Ok(())
    }

    fn write(&self, write: &Write<'_>) -> Result<Outcome> {
        match self.rules_of(write.table) {
            Some(rules) => self.write_row(&rules, write),
            None => self.inner.write(write),
        }
    }

    fn change(&self, change: &BulkChange<'_>) -> Result<u64> {
        match (self.rules_of(change.table), change.assign) {
            (Some(rules), Some(assign)) => self.update_many(&rules, change, assign),
            _ => self.inner.change(change),
        }
    }

    fn batch(
        &self,
        batch: &WriteBatch,
        on_error: OnError,
        each: &mut dyn FnMut(Result<Outcome>),
    ) -> Result<()> {
        self.write_batch(batch, on_error, each)
    }
}

impl TableRules {
    /// The assignments with normalized and valid values.
    fn apply_to_assignments(&self, table: &TableSchema, assign: &[Assign]) -> Result<Vec<Assign>> {
        let mut values = vec![Value::Null; table.columns().len()];
        for step in assign {
            if let (Assign::Set { column, value }, true) = (step, self.has_rule(step.column()))
                && let Some(slot) = values.get_mut(*column)
            {
                *slot = value.clone();
            }
        }
        let set = assign.iter().map(Assign::column).filter(|column| self.has_rule(*column));
        let set = set.collect();
        self.normalize(table, set, &mut values)?;
        self.check(table, set, &values, false)?;
        let replaced = |step: &Assign| match values.get_mut(step.column()) {
            Some(value) if set.contains(step.column()) => {
                Assign::Set { column: step.column(), value: std::mem::take(value) }
            }
            _ => step.clone(),
        };
        Ok(assign.iter().map(replaced).collect())
    }
}
