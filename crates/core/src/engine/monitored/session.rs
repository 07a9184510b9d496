//! A session whose statements are monitored.

use super::call::{EngineCall, rows_of};
use crate::statements::{CallProgress, StatementMonitor};
use crate::{
    BulkChange, Cursor, Error, ErrorKind, Join, OnError, Outcome, Parameter, Result, Row,
    RowBuffer, SchemaChange, Select, Session, SessionLayer, Source, TableSchema,
    TransactionControl, Value, ValueAddress, ValueRange, ValueState, Write, WriteBatch,
};
use std::cell::Cell;
use std::io::Read;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A session of a [`MonitoredEngine`](super::MonitoredEngine).
pub(super) struct MonitoredSession<'e> {
    inner: Box<dyn Session + 'e>,
    engine: &'static str,
    monitor: &'e StatementMonitor,
    /// How long it waited for a connection: counted with its first statement.
    waited: Cell<Duration>,
}

impl<'e> MonitoredSession<'e> {
    pub fn new(
        inner: Box<dyn Session + 'e>,
        engine: &'static str,
        monitor: &'e StatementMonitor,
        waited: Duration,
    ) -> Self {
        Self { inner, engine, monitor, waited: Cell::new(waited) }
    }

    fn run<R>(
        &self,
        statement: &EngineCall<'_>,
        work: impl FnOnce(&mut CallProgress) -> Result<R>,
    ) -> Result<R> {
        self.monitor.run(self.engine, statement, self.waited.take(), work)
    }

    fn fetch_part(&self, cursor: &mut Cursor, rows: &mut RowBuffer) -> Result<()> {
        let progress = cursor.progress().cloned();
        self.monitor.fetch_part(progress.as_ref(), || self.inner.fetch(cursor, rows))
    }
}

impl SessionLayer for MonitoredSession<'_> {
    fn inner(&self) -> &(dyn Session + '_) {
        &*self.inner
    }

    fn control(&self, step: TransactionControl<'_>) -> Result<()> {
        self.run(&EngineCall::Control(step), |_| self.inner.control(step))
    }

    fn begin_reading(&self) -> Result<()> {
        self.run(&EngineCall::BeginReading, |_| self.inner.begin_reading())
    }

    fn forbid_writes(&self) -> Result<()> {
        self.inner.forbid_writes()
    }

    fn write(&self, write: &Write<'_>) -> Result<Outcome> {
        self.run(&EngineCall::Write(write), |progress| {
            self.inner.write(write).inspect(|outcome| progress.rows = rows_of(outcome))
        })
    }

    fn get(
        &self,
        table: &Arc<TableSchema>,
        key: &[Value<'_>],
        row: &mut dyn FnMut(&dyn Row) -> Result<()>,
    ) -> Result<bool> {
        self.run(&EngineCall::Get(table), |progress| {
            let found = self.inner.get(table, key, row);
            found.inspect(|found| progress.rows = u64::from(*found))
        })
    }

    fn query(
        &self,
        source: &Source<'_>,
        row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
    ) -> Result<()> {
        self.run(&EngineCall::of_source(source), |progress| {
            let read = self.inner.query(source, &mut |found| {
                progress.rows += 1;
                row(found)
            });
            progress.is_declined = read.as_ref().is_err_and(|error| is_probe(source, error));
            read
        })
    }

    fn join(&self, join: &Join, row: &mut dyn FnMut(&dyn Row) -> Result<bool>) -> Result<bool> {
        self.run(&EngineCall::Join(join), |progress| {
            let ran = self.inner.join(join, &mut |found| {
                progress.rows += 1;
                row(found)
            })?;
            progress.is_declined = !ran;
            Ok(ran)
        })
    }

    fn tables(&self) -> Result<Vec<TableSchema>> {
        self.run(&EngineCall::ReadSchema, |_| self.inner.tables())
    }

    fn views(&self) -> Result<Vec<TableSchema>> {
        self.run(&EngineCall::ReadSchema, |_| self.inner.views())
    }

    fn alter(&self, changes: &[SchemaChange]) -> Result<()> {
        self.run(&EngineCall::Alter(changes), |_| self.inner.alter(changes))
    }

    fn change(&self, change: &BulkChange<'_>) -> Result<u64> {
        self.run(&EngineCall::Change(change), |progress| {
            self.inner.change(change).inspect(|rows| progress.rows = *rows)
        })
    }

    fn batch(
        &self,
        batch: &WriteBatch,
        on_error: OnError,
        each: &mut dyn FnMut(Result<Outcome>),
    ) -> Result<()> {
        self.run(&EngineCall::Batch(batch), |progress| {
            self.inner.batch(batch, on_error, &mut |outcome| {
                if let Ok(outcome) = &outcome {
                    progress.rows += rows_of(outcome);
                }
                each(outcome);
            })
        })
    }

    fn read_part(
        &self,
        value: &ValueAddress<'_>,
        range: ValueRange,
        bytes: &mut Vec<u8>,
    ) -> Result<Option<ValueState>> {
        self.run(&EngineCall::ReadPart(value), |progress| {
            let found = self.inner.read_part(value, range, bytes);
            found.inspect(|found| progress.rows = u64::from(found.is_some()))
        })
    }

    fn write_value(
        &self,
        value: &ValueAddress<'_>,
        length: u64,
        source: &mut dyn Read,
    ) -> Result<bool> {
        self.run(&EngineCall::WriteValue(value), |progress| {
            let found = self.inner.write_value(value, length, source);
            found.inspect(|found| progress.rows = u64::from(*found))
        })
    }

    fn open(&self, source: &Source<'_>) -> Result<Cursor> {
        let (statement, waited) = (EngineCall::of_source(source), self.waited.take());
        let opened = || self.inner.open(source);
        let (cursor, progress) = self.monitor.open(self.engine, &statement, waited, opened)?;
        Ok(cursor.with_progress(progress))
    }

    fn fetch(&self, cursor: &mut Cursor, rows: &mut RowBuffer) -> Result<()> {
        let began = Instant::now();
        let fetched = self.fetch_part(cursor, rows);
        if let Some(progress) = cursor.progress() {
            let part = fetched.as_ref().map(|()| rows.rows() as u64).map_err(Error::kind);
            self.monitor.add_part(progress, began.elapsed(), part);
        }
        fetched
    }

    fn close(&self, cursor: &mut Cursor) {
        self.inner.close(cursor);
        if let Some(progress) = cursor.progress() {
            self.monitor.end(progress, None);
        }
    }

    fn execute(&self, sql: &str, parameters: &[Parameter<'_>]) -> Result<u64> {
        self.run(&EngineCall::Sql(sql), |progress| {
            let changed = self.inner.execute(sql, parameters);
            changed.inspect(|rows| progress.rows = *rows)
        })
    }
}

/// Whether a read only found out that one of Bobak's own tables does not exist: that is no failed statement.
fn is_probe(source: &Source<'_>, error: &Error) -> bool {
    let is_own = |select: &Select| select.table.name().starts_with("bobak_");
    let is_read = matches!(source, Source::Select(select) if is_own(select));
    is_read && error.kind() == ErrorKind::Schema
}
