//! An engine whose sessions use [`Engine::write`] and [`Engine::get`] outside of transactions: so
//! that the suite and the model test reach those too.

use bobak_core::{
    Control, Engine, Outcome, Result, Row, Session, Source, TableSchema, Value, Write,
};
use std::cell::Cell;
use std::sync::Arc;

/// Sends single writes and lookups that are in no transaction to the engine itself.
pub struct Lone(Box<dyn Engine>);

impl Lone {
    /// Wraps an engine.
    #[must_use]
    pub fn new(engine: Box<dyn Engine>) -> Self {
        Self(engine)
    }
}

impl Engine for Lone {
    bobak_core::forward!(0: name, capabilities, flush);

    fn session(&self) -> Result<Box<dyn Session + '_>> {
        let inner = self.0.session()?;
        Ok(Box::new(LoneSession {
            engine: &*self.0,
            inner,
            inside: Cell::new(false),
            running: Cell::new(false),
        }))
    }
}

struct LoneSession<'e> {
    engine: &'e dyn Engine,
    inner: Box<dyn Session + 'e>,
    /// Whether a transaction is open.
    inside: Cell<bool>,
    /// Whether rows are being handed out.
    running: Cell<bool>,
}

impl LoneSession<'_> {
    /// Whether an operation goes to the engine: not where the session would refuse it, which the
    /// engine, whose call it is not, does not do.
    fn is_alone(&self) -> bool {
        !self.inside.get() && !self.running.get()
    }

    fn running<R>(&self, run: impl FnOnce() -> R) -> R {
        let before = self.running.replace(true);
        let result = run();
        self.running.set(before);
        result
    }
}

impl Session for LoneSession<'_> {
    bobak_core::forward!(inner: tables, triggers, alter, change, batch, open, fetch, close, execute);
    bobak_core::forward!(inner: set_actor, side_effects, set_authorizer);

    fn control(&self, step: Control<'_>) -> Result<()> {
        let done = self.inner.control(step);
        match step {
            Control::Begin if done.is_ok() => self.inside.set(true),
            Control::Commit | Control::Rollback => self.inside.set(false),
            _ => {}
        }
        done
    }

    fn begin_reading(&self) -> Result<()> {
        self.inner.begin_reading()?;
        self.inside.set(true);
        Ok(())
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
            // Handed out when the call is over, as the session's own are not: from inside it could
            // not refuse other calls.
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
