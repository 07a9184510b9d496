//! An engine whose batches are sent row by row: the slow path that fast ones are compared with.

use bobak_core::{
    Engine, EngineLayer, OnError, Outcome, Result, Session, SessionLayer, WriteBatch,
    engine::fallback,
};

/// Any engine, with the contract's default batches: single writes in a transaction, or under a
/// savepoint of the open one.
pub struct RowByRow(Box<dyn Engine>);

impl RowByRow {
    /// Wraps an engine.
    #[must_use]
    pub fn new(engine: Box<dyn Engine>) -> Self {
        Self(engine)
    }
}

impl EngineLayer for RowByRow {
    fn inner(&self) -> &dyn Engine {
        &*self.0
    }

    fn session(&self) -> Result<Box<dyn Session + '_>> {
        Ok(Box::new(RowByRowSession(self.0.session()?)))
    }
}

struct RowByRowSession<'e>(Box<dyn Session + 'e>);

impl SessionLayer for RowByRowSession<'_> {
    fn inner(&self) -> &(dyn Session + '_) {
        &*self.0
    }

    fn batch(
        &self,
        batch: &WriteBatch,
        on_error: OnError,
        each: &mut dyn FnMut(Result<Outcome>),
    ) -> Result<()> {
        fallback::batch(&*self.0, batch, on_error, each)
    }
}
