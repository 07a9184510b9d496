//! A session whose writes make caches forget.

use super::cached_engine::get;
use super::fill;
use super::staleness::{EngineCaches, PendingWrite, Staleness};
use super::watcher::RowSource;
use bobak_core::{
    Batch, BulkChange, Cursor, OnError, Outcome, Parameter, Result, Row, SchemaChange, Session,
    SessionLayer, Source, TableSchema, TransactionControl, Value, Write,
};
use bobak_sql::{changes_rows, only_reads};
use std::cell::{Cell, RefCell};
use std::sync::Arc;

/// A session of an engine with caches. In a transaction it asks the engine alone, and what it
/// writes there is kept by nobody until the transaction is over.
pub(super) struct CachedSession<'e> {
    // Dropped first: what it rolls back then is forgotten until it has.
    inner: Box<dyn Session + 'e>,
    caches: &'e EngineCaches,
    /// Whether a query of it hands out a row: it is not to be called then, and says so itself.
    handing_out: Cell<bool>,
    touched: RefCell<Vec<PendingWrite>>,
    /// Whether the open transaction has changed the schema.
    altered: Cell<bool>,
}

impl<'e> CachedSession<'e> {
    pub(super) fn new(inner: Box<dyn Session + 'e>, caches: &'e EngineCaches) -> Self {
        Self {
            inner,
            caches,
            handing_out: Cell::new(false),
            touched: RefCell::default(),
            altered: Cell::new(false),
        }
    }

    /// Runs a write that makes stale what `touch` names; until the transaction ends where one is
    /// open, else until the write is done.
    fn writing<R>(
        &self,
        touch: impl FnOnce(&Staleness<'_>, &mut Vec<PendingWrite>),
        write: impl FnOnce() -> R,
    ) -> R {
        if !self.inner.in_transaction() {
            return self.caches.writing(touch, write);
        }
        let mut touched = self.caches.touched(touch);
        let done = write();
        self.touched.borrow_mut().append(&mut touched);
        done
    }

    /// Runs what may write anything, and, where it `alters`, change the schema.
    fn writing_all<R>(&self, alters: bool, write: impl FnOnce() -> R) -> R {
        let mut touched = self.caches.all();
        let done = write();
        if self.inner.in_transaction() {
            self.touched.borrow_mut().append(&mut touched);
            self.altered.set(self.altered.get() || alters);
        } else if alters {
            self.caches.watch().forget();
        }
        done
    }

    /// As [`writing_all`](Self::writing_all), for a statement.
    fn writing_text<R>(&self, text: &str, write: impl FnOnce() -> R) -> R {
        self.writing_all(!changes_rows(text), write)
    }
}

impl SessionLayer for CachedSession<'_> {
    fn inner(&self) -> &(dyn Session + '_) {
        &*self.inner
    }

    fn alter(&self, changes: &[SchemaChange]) -> Result<()> {
        self.writing_all(true, || self.inner.alter(changes))
    }

    fn control(&self, step: TransactionControl<'_>) -> Result<()> {
        let done = self.inner.control(step);
        // A step that does not fit ends nothing, but there is nothing to end then.
        if matches!(step, TransactionControl::Commit | TransactionControl::Rollback) {
            // Not before others see it.
            if self.altered.take() {
                self.caches.watch().forget();
            }
            self.touched.borrow_mut().clear();
        }
        done
    }

    fn write(&self, write: &Write<'_>) -> Result<Outcome> {
        self.writing(
            |touch, touched| touch.by_write(write, touched),
            || {
                let done = self.inner.write(write);
                self.caches.inserted(write, &done);
                done
            },
        )
    }

    fn change(&self, change: &BulkChange<'_>) -> Result<u64> {
        let deletes = change.assign.is_none();
        self.writing(
            |touch, touched| touch.by_change(change.table, deletes, touched),
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
            |touch, touched| touch.by_batch(batch, touched),
            || {
                let growing = self.caches.growing(batch);
                let done = self.inner.batch(batch, on_error, &mut |outcome| {
                    EngineCaches::given(&growing, &outcome);
                    each(outcome);
                });
                self.caches.inserted_by_batch(batch);
                done
            },
        )
    }

    fn get(
        &self,
        table: &Arc<TableSchema>,
        key: &[Value<'_>],
        row: &mut dyn FnMut(&dyn Row) -> Result<()>,
    ) -> Result<bool> {
        if self.inner.in_transaction() || self.handing_out.get() {
            return self.inner.get(table, key, row);
        }
        get(self.caches, RowSource::Session(&*self.inner), table, key, row)
    }

    fn query(
        &self,
        source: &Source<'_>,
        row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
    ) -> Result<()> {
        match source {
            Source::Select(select) if !self.inner.in_transaction() && !self.handing_out.get() => {
                fill::query(self.caches, &*self.inner, select, &mut |found| {
                    self.handing_out.set(true);
                    let more = row(found);
                    self.handing_out.set(false);
                    more
                })
            }
            Source::Sql { text, .. } if only_reads(text) => self.inner.query(source, row),
            Source::Sql { text, .. } => self.writing_text(text, || self.inner.query(source, row)),
            Source::Select(_) => self.inner.query(source, row),
        }
    }

    fn open(&self, source: &Source<'_>) -> Result<Cursor> {
        match source {
            Source::Sql { text, .. } if !only_reads(text) => {
                self.writing_text(text, || self.inner.open(source))
            }
            _ => self.inner.open(source),
        }
    }

    fn execute(&self, sql: &str, parameters: &[Parameter<'_>]) -> Result<u64> {
        self.writing_text(sql, || self.inner.execute(sql, parameters))
    }
}
