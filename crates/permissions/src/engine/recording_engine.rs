//! The engine of a caller with all permissions whose name is recorded with the changes.

use super::protected_database::ProtectedDatabase;
use bobak_changes::ActorEngine;
use bobak_core::{Engine, Outcome, Result, Row, SchemaChange, Session};
use bobak_core::{TableSchema, Value, Write};
use bobak_sql::changes_rows;
use std::sync::Arc;

/// An engine that checks nothing, and records an actor with each change of a tracked table.
pub(super) struct RecordingEngine {
    database: Arc<ProtectedDatabase>,
    actor_engine: ActorEngine,
}

impl RecordingEngine {
    pub fn new(database: Arc<ProtectedDatabase>, actor: &str) -> Self {
        let actor_engine = database.actor_engine(actor);
        Self { database, actor_engine }
    }
}

impl bobak_core::EngineLayer for RecordingEngine {
    fn inner(&self) -> &dyn Engine {
        &**self.database.engine()
    }

    fn session(&self) -> Result<Box<dyn Session + '_>> {
        Engine::session(&self.actor_engine)
    }

    fn write(&self, write: &Write<'_>) -> Result<Outcome> {
        // Without an actor to record, the write may share a transaction with other callers'.
        match self.database.tracking().cached() {
            Some(false) => self.inner().write(write),
            _ => Engine::write(&self.actor_engine, write),
        }
    }

    fn get(
        &self,
        table: &Arc<TableSchema>,
        key: &[Value<'_>],
        row: &mut dyn FnMut(&dyn Row) -> Result<()>,
    ) -> Result<bool> {
        self.inner().get(table, key, row)
    }

    fn tables(&self) -> Result<Vec<TableSchema>> {
        self.inner().tables()
    }

    fn alter(&self, changes: &[SchemaChange]) -> Result<()> {
        self.database.forget_schema();
        let altered = self.inner().alter(changes);
        self.database.forget_schema();
        altered
    }
}

impl ProtectedDatabase {
    /// The engine, with an actor whose name is recorded if any table is tracked.
    pub(super) fn actor_engine(self: &Arc<Self>, actor: &str) -> ActorEngine {
        let (engine, tracked) = (Arc::clone(self.engine()), Arc::clone(self));
        let is_tracking = move |session: &dyn Session| tracked.tracking().is_tracking(session);
        ActorEngine::new(engine, actor, changes_rows, is_tracking)
    }
}
