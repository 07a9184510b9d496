//! An engine whose statements are monitored.

use super::call::{EngineCall, rows_of};
use super::session::MonitoredSession;
use crate::statements::{CallProgress, StatementMonitor};
use crate::{
    Engine, EngineLayer, Outcome, Result, Row, SchemaChange, Session, TableSchema, Value, Write,
};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// An engine in front of another one, whose statements a [`StatementMonitor`] sees.
pub struct MonitoredEngine {
    engine: Arc<dyn Engine>,
    monitor: Arc<StatementMonitor>,
}

impl MonitoredEngine {
    /// The engine, seen by the monitor. Several engines may have one monitor.
    #[must_use]
    pub const fn new(engine: Arc<dyn Engine>, monitor: Arc<StatementMonitor>) -> Self {
        Self { engine, monitor }
    }

    fn run<R>(
        &self,
        statement: &EngineCall<'_>,
        work: impl FnOnce(&mut CallProgress) -> Result<R>,
    ) -> Result<R> {
        self.monitor.run(self.engine.name(), statement, Duration::ZERO, work)
    }
}

impl EngineLayer for MonitoredEngine {
    fn inner(&self) -> &dyn Engine {
        &*self.engine
    }

    fn statements(&self) -> Option<&Arc<StatementMonitor>> {
        Some(&self.monitor)
    }

    fn session(&self) -> Result<Box<dyn Session + '_>> {
        let began = Instant::now();
        let inner = self.monitor.limited(|| self.engine.session())?;
        let waited = began.elapsed();
        Ok(Box::new(MonitoredSession::new(inner, self.engine.name(), &self.monitor, waited)))
    }

    fn write(&self, write: &Write<'_>) -> Result<Outcome> {
        self.run(&EngineCall::Write(write), |progress| {
            self.engine.write(write).inspect(|outcome| progress.rows = rows_of(outcome))
        })
    }

    fn get(
        &self,
        table: &Arc<TableSchema>,
        key: &[Value<'_>],
        row: &mut dyn FnMut(&dyn Row) -> Result<()>,
    ) -> Result<bool> {
        self.run(&EngineCall::Get(table), |progress| {
            let found = self.engine.get(table, key, row);
            found.inspect(|found| progress.rows = u64::from(*found))
        })
    }

    fn tables(&self) -> Result<Vec<TableSchema>> {
        self.run(&EngineCall::ReadSchema, |_| self.engine.tables())
    }

    fn alter(&self, changes: &[SchemaChange]) -> Result<()> {
        self.run(&EngineCall::Alter(changes), |_| self.engine.alter(changes))
    }
}
