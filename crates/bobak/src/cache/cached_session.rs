//! A session whose writes remove cached rows.

use super::cached_engine::{get, get_current};
use super::fill;
use super::record_cache::CacheKey;
use super::staleness::{EngineCaches, PendingWrite, Staleness};
use super::watcher::UncachedSource;
use bobak_core::{
    BulkChange, Cursor, OnError, Outcome, Parameter, Result, Row, SchemaChange, Session,
    SessionLayer, Source, TableSchema, TransactionControl, Value, ValueAddress, ValueRange,
    ValueState, Write, WriteBatch,
};
use bobak_sql::{changes_rows, only_reads};
use std::cell::{Cell, RefCell};
use std::io::Read;
use std::sync::Arc;

/// A session of an engine with caches. Inside a transaction it bypasses the caches; rows written there are not cached
/// until the transaction ends.
pub(super) struct CachedSession<'e> {
    // Dropped first, so that rows are not cached until its rollback is done.
    inner: Box<dyn Session + 'e>,
    caches: &'e EngineCaches,
    /// Whether a query is in its row callback. The session then accepts no call, and reports that itself.
    handing_out: Cell<bool>,
    pending: RefCell<Vec<PendingWrite>>,
    /// Whether the open transaction has changed the schema.
    altered: Cell<bool>,
}

impl<'e> CachedSession<'e> {
    pub(super) fn new(inner: Box<dyn Session + 'e>, caches: &'e EngineCaches) -> Self {
        Self {
            inner,
            caches,
            handing_out: Cell::new(false),
            pending: RefCell::default(),
            altered: Cell::new(false),
        }
    }

    /// Runs a write. What `stale` names is stale until the transaction ends, or without one, until the write is done.
    fn writing<R>(
        &self,
        stale: impl FnOnce(&Staleness<'_>, &mut Vec<PendingWrite>),
        write: impl FnOnce() -> R,
    ) -> R {
        if !self.inner.in_transaction() {
            return self.caches.writing(stale, write);
        }
        let mut pending = self.caches.pending(stale);
        let done = write();
        self.pending.borrow_mut().append(&mut pending);
        done
    }

    /// Runs something that may write anything. `alters` says whether it may also change the schema.
    fn writing_all<R>(&self, alters: bool, write: impl FnOnce() -> R) -> R {
        let mut pending = self.caches.all();
        let done = write();
        if self.inner.in_transaction() {
            self.pending.borrow_mut().append(&mut pending);
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
        // A control step that fails ended no transaction, so nothing is pending then.
        if matches!(step, TransactionControl::Commit | TransactionControl::Rollback) {
            // Not before the change is visible to others.
            if self.altered.take() {
                self.caches.watch().forget();
            }
            self.pending.borrow_mut().clear();
        }
        done
    }

    fn write(&self, write: &Write<'_>) -> Result<Outcome> {
        self.writing(
            |stale, pending| stale.by_write(write, pending),
            || {
                let done = self.inner.write(write);
                self.caches.inserted(write, &done);
                done
            },
        )
    }

    fn change(&self, change: &BulkChange<'_>) -> Result<u64> {
        let (table, deletes) = (change.table, change.assign.is_none());
        let key = change.condition.and_then(|condition| CacheKey::in_condition(table, condition));
        self.writing(
            |stale, pending| stale.by_change(table, deletes, key.as_ref(), pending),
            || self.inner.change(change),
        )
    }

    fn batch(
        &self,
        batch: &WriteBatch,
        on_error: OnError,
        each: &mut dyn FnMut(Result<Outcome>),
    ) -> Result<()> {
        self.writing(
            |stale, pending| stale.by_batch(batch, pending),
            || {
                let tables = self.caches.tables_with_inserts(batch);
                let done = self.inner.batch(batch, on_error, &mut |outcome| {
                    EngineCaches::generated(&tables, &outcome);
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
            return get_current(self.caches, &*self.inner, table, key, row);
        }
        get(self.caches, UncachedSource::Session(&*self.inner), table, key, row)
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
        let key = CacheKey::of(value.key);
        self.writing(
            |stale, pending| stale.by_change(value.table, false, key.as_ref(), pending),
            || self.inner.write_value(value, length, source),
        )
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
