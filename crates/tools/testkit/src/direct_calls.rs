//! An engine whose sessions use [`Engine::write`] and [`Engine::get`] outside transactions, so
//! that the suite and the model test cover these methods, too.

use bobak_core::{
    Engine, EngineLayer, Outcome, Result, Row, Session, SessionLayer, Source, TableSchema, Value,
    Write,
};
use std::cell::Cell;
use std::sync::Arc;

/// Sends single writes and lookups outside transactions to the engine itself.
pub struct DirectCalls(Box<dyn Engine>);

impl DirectCalls {
    /// Wraps an engine.
    #[must_use]
    pub fn new(engine: Box<dyn Engine>) -> Self {
        Self(engine)
    }
}

impl EngineLayer for DirectCalls {
    fn inner(&self) -> &dyn Engine {
        &*self.0
    }

    fn session(&self) -> Result<Box<dyn Session + '_>> {
        let (engine, inner) = (&*self.0, self.0.session()?);
        Ok(Box::new(DirectSession { engine, inner, running: Cell::new(false) }))
    }
}

struct DirectSession<'e> {
    engine: &'e dyn Engine,
    inner: Box<dyn Session + 'e>,
    /// Whether a callback is receiving rows.
    running: Cell<bool>,
}

impl DirectSession<'_> {
    /// Whether an operation goes to the engine: not if the session would reject it, because the engine does
    /// not know about the session's calls.
    fn is_alone(&self) -> bool {
        !self.inner.in_transaction() && !self.running.get()
    }

    fn running<R>(&self, run: impl FnOnce() -> R) -> R {
        let before = self.running.replace(true);
        let result = run();
        self.running.set(before);
        result
    }
}

impl SessionLayer for DirectSession<'_> {
    fn inner(&self) -> &(dyn Session + '_) {
        &*self.inner
    }

    fn write(&self, write: &Write<'_>) -> Result<Outcome> {
        if self.is_alone() { self.engine.write(write) } else { self.inner.write(write) }
    }

    fn get(
        &self,
        table: &Arc<TableSchema>,
        key: &[Value<'_>],
        row: &mut dyn FnMut(&dyn Row) -> Result<()>,
    ) -> Result<bool> {
        if self.is_alone() {
            // Returned when the call is over, as the session's own are not: from inside it could
            // not reject other calls.
            let mut found = None;
            self.engine.get(table, key, &mut |row| {
                found = Some((0..row.len()).map(|place| row.get(place).to_owned()).collect());
                Ok(())
            })?;
            let found: Option<Vec<Value<'_>>> = found;
            return found.map_or(Ok(false), |found| row(&found.as_slice()).map(|()| true));
        }
        self.inner.get(table, key, row)
    }

    fn query(
        &self,
        source: &Source<'_>,
        row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
    ) -> Result<()> {
        self.running(|| self.inner.query(source, row))
    }
}
