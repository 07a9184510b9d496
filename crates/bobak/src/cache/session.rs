//! A session whose writes make caches forget.

use super::engine::get;
use super::fill;
use super::touch::{Caches, Touched};
use super::watch::Asked;
use bobak_core::{
    Batch, Change, Control, Cursor, OnError, Outcome, Result, Row, SchemaChange, Session, Source,
    TableSchema, Value, Write,
};
use bobak_sql::only_reads;
use std::cell::{Cell, RefCell};
use std::sync::Arc;

/// A session of an engine with caches. In a transaction it asks the engine alone, and what it
/// writes there is kept by nobody until the transaction is over.
pub(super) struct CachedSession<'e> {
    // Dropped first: what it rolls back then is forgotten until it has.
    inner: Box<dyn Session + 'e>,
    caches: &'e Caches,
    inside: Cell<bool>,
    /// Whether a query of it hands out a row: it is not to be called then, and says so itself.
    handing_out: Cell<bool>,
    touched: RefCell<Vec<Touched>>,
    /// Whether the open transaction has changed the schema.
    altered: Cell<bool>,
}

impl<'e> CachedSession<'e> {
    pub(super) fn new(inner: Box<dyn Session + 'e>, caches: &'e Caches) -> Self {
        Self {
            inner,
            caches,
            inside: Cell::new(false),
            handing_out: Cell::new(false),
            touched: RefCell::default(),
            altered: Cell::new(false),
        }
    }

    /// Runs a write that makes stale what `touch` names; until the transaction ends where one is
    /// open, else until the write is done.
    fn writing<R>(
        &self,
        touch: impl FnOnce(&mut Vec<Touched>),
        write: impl FnOnce() -> Result<R>,
    ) -> Result<R> {
        let mut touched = Vec::new();
        touch(&mut touched);
        let done = write();
        if self.inside.get() {
            self.touched.borrow_mut().append(&mut touched);
        }
        done
    }

    /// Where the schema was changed: not before others see it.
    fn look_anew(&self) {
        if !self.inside.get() && self.altered.take() {
            self.caches.look_anew();
        }
    }

    fn is_read(source: &Source<'_>) -> bool {
        match source {
            Source::Select(_) => true,
            Source::Sql { text, .. } => only_reads(text),
        }
    }
}

impl Session for CachedSession<'_> {
    bobak_core::forward!(inner: tables, fetch, close, name_caller, guard_sql);

    fn alter(&self, changes: &[SchemaChange]) -> Result<()> {
        let alter = || self.inner.alter(changes);
        let done = self.writing(|touched| touched.extend(self.caches.all()), alter);
        self.altered.set(true);
        self.look_anew();
        done
    }

    fn control(&self, step: Control<'_>) -> Result<()> {
        let done = self.inner.control(step);
        match step {
            Control::Begin if done.is_ok() => self.inside.set(true),
            // A step that does not fit ends nothing, but there is nothing to end then.
            Control::Commit | Control::Rollback => {
                self.inside.set(false);
                self.touched.borrow_mut().clear();
                self.look_anew();
            }
            _ => {}
        }
        done
    }

    fn write(&self, write: &Write<'_>) -> Result<Outcome> {
        self.writing(|touched| self.caches.by_write(write, touched), || self.inner.write(write))
    }

    fn change(&self, change: &Change<'_>) -> Result<u64> {
        let deletes = change.assign.is_none();
        self.writing(
            |touched| self.caches.by_change(change.table, deletes, touched),
            || self.inner.change(change),
        )
    }

    fn batch(
        &self,
        batch: &Batch,
        on_error: OnError,
        each: &mut dyn FnMut(Result<Outcome>),
    ) -> Result<()> {
        self.writing(
            |touched| self.caches.by_batch(batch, touched),
            || self.inner.batch(batch, on_error, each),
        )
    }

    fn get(
        &self,
        table: &Arc<TableSchema>,
        key: &[Value<'_>],
        row: &mut dyn FnMut(&dyn Row) -> Result<()>,
    ) -> Result<bool> {
        if self.inside.get() || self.handing_out.get() {
            return self.inner.get(table, key, row);
        }
        get(self.caches, Asked::Session(&*self.inner), table, key, row)
    }

    fn query(
        &self,
        source: &Source<'_>,
        row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
    ) -> Result<()> {
        match source {
            Source::Select(select) if !self.inside.get() && !self.handing_out.get() => {
                fill::query(self.caches, &*self.inner, select, &mut |found| {
                    self.handing_out.set(true);
                    let more = row(found);
                    self.handing_out.set(false);
                    more
                })
            }
            _ if Self::is_read(source) => self.inner.query(source, row),
            _ => self.writing(
                |touched| touched.extend(self.caches.all()),
                || self.inner.query(source, row),
            ),
        }
    }

    fn open(&self, source: &Source<'_>) -> Result<Cursor> {
        if Self::is_read(source) {
            return self.inner.open(source);
        }
        self.writing(|touched| touched.extend(self.caches.all()), || self.inner.open(source))
    }

    fn execute(&self, sql: &str, parameters: &[Value<'_>]) -> Result<u64> {
        self.writing(
            |touched| touched.extend(self.caches.all()),
            || self.inner.execute(sql, parameters),
        )
    }
}
