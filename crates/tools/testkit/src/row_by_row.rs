//! An engine whose batches are sent row by row: the slow path that fast ones are held against.

use bobak_core::{Batch, Control, Engine, OnError, Outcome, Result, Row, Session, Value, Write};
use std::cell::Cell;

/// Any engine, with batches made of single writes in a transaction, or in a savepoint of the one
/// that is open.
pub struct RowByRow(Box<dyn Engine>);

impl RowByRow {
    /// Wraps an engine.
    #[must_use]
    pub fn new(engine: Box<dyn Engine>) -> Self {
        Self(engine)
    }
}

impl Engine for RowByRow {
    bobak_core::forward!(0: name, capabilities, flush);

    fn session(&self) -> Result<Box<dyn Session + '_>> {
        Ok(Box::new(SlowSession { inner: self.0.session()?, inside: Cell::new(false) }))
    }
}

struct SlowSession<'e> {
    inner: Box<dyn Session + 'e>,
    /// Whether a transaction is open.
    inside: Cell<bool>,
}

/// A name that no program under test gives to its own marks.
const MARK: &str = "bobak_row_by_row";

impl SlowSession<'_> {
    fn rows(
        &self,
        batch: &Batch,
        on_error: OnError,
        each: &mut dyn FnMut(Result<Outcome>),
    ) -> Result<()> {
        for run in batch.runs() {
            for (number, row) in (run.first..).zip(run.iter()) {
                let values: Vec<Value<'_>> =
                    (0..row.len()).map(|place| row.value(place).into()).collect();
                let write =
                    Write { table: run.table, verb: run.verb, fields: run.fields, values: &values };
                match self.inner.write(&write).map_err(|error| error.at_row(number)) {
                    Err(error) if on_error == OnError::Stop => return Err(error),
                    other => each(other),
                }
            }
        }
        Ok(())
    }
}

impl Session for SlowSession<'_> {
    bobak_core::forward!(inner: tables, triggers, alter, write, change, get, query, open, fetch, close, execute);
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

    fn batch(
        &self,
        batch: &Batch,
        on_error: OnError,
        each: &mut dyn FnMut(Result<Outcome>),
    ) -> Result<()> {
        if !self.inside.get() {
            self.inner.control(Control::Begin)?;
            return match self.rows(batch, on_error, each) {
                Ok(()) => self.inner.control(Control::Commit),
                Err(error) => {
                    self.inner.control(Control::Rollback)?;
                    Err(error)
                }
            };
        }
        self.inner.control(Control::Savepoint(MARK))?;
        let done = self.rows(batch, on_error, each);
        if done.is_err() {
            self.inner.control(Control::RollbackTo(MARK))?;
        }
        self.inner.control(Control::Release(MARK))?;
        done
    }
}
