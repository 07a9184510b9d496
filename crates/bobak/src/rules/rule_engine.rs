//! An engine with the rules of its records in front of it.

use super::engine_rules::EngineRules;
use super::row_writes::borrowed;
use super::rule_session::RuleSession;
use super::soft_delete::get_live;
use bobak_core::rules::FieldRules;
use bobak_core::{
    Engine, EngineLayer, Outcome, QueryTemplate, Result, Row, SchemaChange, Session, SlotValues,
    TableSchema, Value, Verb, Write,
};
use std::sync::Arc;

/// An engine that normalizes and validates rows before they are written.
pub(crate) struct RuleEngine {
    engine: Arc<dyn Engine>,
    rules: Arc<EngineRules>,
}

impl RuleEngine {
    pub(crate) const fn new(engine: Arc<dyn Engine>, rules: Arc<EngineRules>) -> Self {
        Self { engine, rules }
    }
}

impl EngineLayer for RuleEngine {
    fn inner(&self) -> &dyn Engine {
        &*self.engine
    }

    fn session(&self) -> Result<Box<dyn Session + '_>> {
        Ok(Box::new(RuleSession::new(self.engine.session()?, &self.rules)))
    }

    fn write(&self, write: &Write<'_>) -> Result<Outcome> {
        let Some(rules) = self.rules.of(write.table) else { return self.engine.write(write) };
        if rules.needs_transaction(write) {
            return EngineLayer::session(self)?.write(write);
        }
        if write.verb == Verb::Delete {
            return self.engine.write(write);
        }
        let fields = rules.written_fields(write.table, write.verb, write.fields)?;
        // Without a transaction, so that the engine may commit it together with other writes.
        let mut values = borrowed(write.values);
        rules.apply(write, &mut values)?;
        self.engine.write(&Write { values: &values, fields, ..*write })
    }

    fn get(
        &self,
        table: &Arc<TableSchema>,
        key: &[Value<'_>],
        row: &mut dyn FnMut(&dyn Row) -> Result<()>,
    ) -> Result<bool> {
        let rules = self.rules.of(table);
        let hidden_by = rules.map_or(Ok(None), |rules| rules.deleted_at(table))?;
        get_live(hidden_by, row, |row| self.engine.get(table, key, row))
    }

    fn run_template(
        &self,
        template: &QueryTemplate,
        values: &SlotValues<'_>,
        row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
    ) -> Result<Option<u64>> {
        match self.rules.concern(template) {
            true => Ok(None),
            false => self.engine.run_template(template, values, row),
        }
    }

    fn field_rules(&self, table: &TableSchema) -> Vec<FieldRules> {
        self.rules.of(table).map_or_else(Vec::new, |rules| rules.field_rules())
    }

    fn tables(&self) -> Result<Vec<TableSchema>> {
        self.engine.tables()
    }

    fn alter(&self, changes: &[SchemaChange]) -> Result<()> {
        self.engine.alter(changes)
    }
}
