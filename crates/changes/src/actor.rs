//! An engine layer that records an actor with every change.

use bobak_core::{
    BulkChange, Cursor, Engine, EngineLayer, OnError, Outcome, Parameter, Result, Row,
    SchemaChange, Session, SessionLayer, Source, TableSchema, TransactionControl, Value,
    ValueAddress, ValueRange, ValueState, Write, WriteBatch,
};
use std::cell::Cell;
use std::io::Read;
use std::sync::Arc;

/// An engine whose changes are recorded under an actor's name. See [`Session::set_actor`].
///
/// A write outside a transaction gets a transaction of its own, in which the actor is set.
pub struct ActorEngine {
    engine: Arc<dyn Engine>,
    actor: Arc<str>,
    /// Whether an SQL statement writes rows.
    changes_rows: fn(&str) -> bool,
    /// Whether the actor has to be set; called before each write or transaction.
    is_wanted: WantedCallback,
}

type WantedCallback = Box<dyn Fn(&dyn Session) -> bool + Send + Sync>;

impl ActorEngine {
    /// An engine for the named actor.
    ///
    /// `changes_rows` tells whether an SQL statement writes rows, as opposed to reading them or changing
    /// the schema. `is_wanted` tells, for a session outside transactions, whether setting the actor is
    /// useful: it fails if no table is [tracked](crate::tracked).
    pub fn new(
        engine: Arc<dyn Engine>,
        actor: &str,
        changes_rows: fn(&str) -> bool,
        is_wanted: impl Fn(&dyn Session) -> bool + Send + Sync + 'static,
    ) -> Self {
        Self { engine, actor: Arc::from(actor), changes_rows, is_wanted: Box::new(is_wanted) }
    }
}

impl EngineLayer for ActorEngine {
    fn inner(&self) -> &dyn Engine {
        &*self.engine
    }

    fn session(&self) -> Result<Box<dyn Session + '_>> {
        let (inner, named) = (self.engine.session()?, Cell::new(false));
        Ok(Box::new(ActorSession { engine: self, inner, named }))
    }

    fn get(
        &self,
        table: &Arc<TableSchema>,
        key: &[Value<'_>],
        row: &mut dyn FnMut(&dyn Row) -> Result<()>,
    ) -> Result<bool> {
        self.engine.get(table, key, row)
    }

    fn tables(&self) -> Result<Vec<TableSchema>> {
        self.engine.tables()
    }

    fn alter(&self, changes: &[SchemaChange]) -> Result<()> {
        self.engine.alter(changes)
    }
}

struct ActorSession<'e> {
    engine: &'e ActorEngine,
    inner: Box<dyn Session + 'e>,
    /// Whether the actor was set in the open transaction.
    named: Cell<bool>,
}

impl ActorSession<'_> {
    /// Runs a write in the open transaction, or in one of its own.
    fn writing<R>(&self, write: impl FnOnce() -> Result<R>) -> Result<R> {
        if self.inner.in_transaction() || !(self.engine.is_wanted)(&*self.inner) {
            return write();
        }
        self.begin(true)?;
        match write() {
            Ok(done) => SessionLayer::control(self, TransactionControl::Commit).map(|()| done),
            Err(error) => {
                // If this fails, the transaction is undone nevertheless.
                let _ = SessionLayer::control(self, TransactionControl::Rollback);
                Err(error)
            }
        }
    }

    fn writing_text<R>(&self, text: &str, write: impl FnOnce() -> Result<R>) -> Result<R> {
        // A statement that writes no rows may be one that cannot run in a transaction.
        if (self.engine.changes_rows)(text) { self.writing(write) } else { write() }
    }

    fn begin(&self, named: bool) -> Result<()> {
        self.inner.control(TransactionControl::Begin)?;
        if named && let Err(error) = self.inner.set_actor(Some(&self.engine.actor)) {
            self.inner.control(TransactionControl::Rollback)?;
            return Err(error);
        }
        self.named.set(named);
        Ok(())
    }
}

impl SessionLayer for ActorSession<'_> {
    fn inner(&self) -> &(dyn Session + '_) {
        &*self.inner
    }

    fn control(&self, step: TransactionControl<'_>) -> Result<()> {
        if step == TransactionControl::Begin && !self.inner.in_transaction() {
            return self.begin((self.engine.is_wanted)(&*self.inner));
        }
        if step == TransactionControl::Commit && self.named.get() {
            // If the transaction is lost, the commit reports it.
            let _ = self.inner.set_actor(None);
        }
        let done = self.inner.control(step);
        if matches!(step, TransactionControl::Commit | TransactionControl::Rollback) {
            self.named.set(false);
        }
        done
    }

    fn write(&self, write: &Write<'_>) -> Result<Outcome> {
        self.writing(|| self.inner.write(write))
    }

    fn change(&self, change: &BulkChange<'_>) -> Result<u64> {
        self.writing(|| self.inner.change(change))
    }

    fn batch(
        &self,
        batch: &WriteBatch,
        on_error: OnError,
        each: &mut dyn FnMut(Result<Outcome>),
    ) -> Result<()> {
        self.writing(|| self.inner.batch(batch, on_error, each))
    }

    fn query(
        &self,
        source: &Source<'_>,
        row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
    ) -> Result<()> {
        match source {
            Source::Select(_) => self.inner.query(source, row),
            Source::Sql { text, .. } => self.writing_text(text, || self.inner.query(source, row)),
        }
    }

    fn open(&self, source: &Source<'_>) -> Result<Cursor> {
        match source {
            Source::Select(_) => self.inner.open(source),
            Source::Sql { text, .. } => self.writing_text(text, || self.inner.open(source)),
        }
    }

    fn read_part(
        &self,
        value: &ValueAddress<'_>,
        range: ValueRange,
        bytes: &mut Vec<u8>,
    ) -> Result<Option<ValueState>> {
        self.inner.read_part(value, range, bytes)
    }

    fn write_value(
        &self,
        value: &ValueAddress<'_>,
        length: u64,
        source: &mut dyn Read,
    ) -> Result<bool> {
        self.writing(|| self.inner.write_value(value, length, source))
    }

    fn execute(&self, sql: &str, parameters: &[Parameter<'_>]) -> Result<u64> {
        self.writing_text(sql, || self.inner.execute(sql, parameters))
    }

    fn set_actor(&self, actor: Option<&str>) -> Result<()> {
        // `None` restores this engine's own actor.
        let own = self.named.get().then_some(&*self.engine.actor);
        self.inner.set_actor(actor.or(own))
    }
}
