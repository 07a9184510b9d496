//! An engine on which everything is done in somebody's name.

use crate::Db;
use crate::sql::only_reads;
use bobak_core::{
    BackupContent, BackupJob, Batch, Capabilities, Change, Control, Cursor, CursorId, Engine,
    Error, ErrorKind, Estimate, OnError, Outcome, Result, Row, RowBuffer, SchemaChange, Session,
    Source, TableSchema, Value, Write,
};
use std::cell::Cell;
use std::sync::Arc;

impl Db {
    /// The same database, for one who makes changes under this name: it is written down beside each
    /// of them. See [`feed`](crate::feed).
    ///
    /// A write by itself becomes a transaction, so it shares no sync with those of other threads.
    ///
    /// # Errors
    /// `Schema` where no table of an engine is tracked: nothing would be written down.
    pub fn as_caller(&self, who: &str) -> Result<Self> {
        let mut tracked = false;
        let named = self.with_engines(|engine| {
            let names = !bobak_core::feed::tracked(&*engine.session()?)?.is_empty();
            tracked |= names;
            // All of them: one that shows the others' tables can't show them twice.
            Ok(Arc::new(Named { engine: Arc::clone(engine), who: names.then(|| who.into()) }))
        })?;
        if tracked {
            return Ok(named);
        }
        let message =
            "no table is tracked, so nobody's name is written down: ask for it with track";
        Err(Error::new(ErrorKind::Schema, message))
    }
}

/// An engine whose changes have a name beside them.
pub(crate) struct Named {
    engine: Arc<dyn Engine>,
    /// Nobody where no table is tracked.
    who: Option<Arc<str>>,
}

impl Engine for Named {
    fn name(&self) -> &'static str {
        self.engine.name()
    }

    fn capabilities(&self) -> Capabilities {
        self.engine.capabilities()
    }

    fn session(&self) -> Result<Box<dyn Session + '_>> {
        let inner = self.engine.session()?;
        Ok(Box::new(NamedSession { inner, who: self.who.as_deref(), inside: Cell::new(false) }))
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

    fn estimate(&self, table: &TableSchema) -> Estimate {
        self.engine.estimate(table)
    }

    fn flush(&self) -> Result<()> {
        self.engine.flush()
    }

    fn backup(&self, job: BackupJob<'_>) -> Result<BackupContent> {
        self.engine.backup(job)
    }
}

struct NamedSession<'e> {
    inner: Box<dyn Session + 'e>,
    who: Option<&'e str>,
    inside: Cell<bool>,
}

impl NamedSession<'_> {
    /// Runs a write in the open transaction, or in one of its own.
    fn writing<R>(&self, write: impl FnOnce() -> Result<R>) -> Result<R> {
        if self.inside.get() || self.who.is_none() {
            return write();
        }
        self.control(Control::Begin)?;
        match write() {
            Ok(done) => self.control(Control::Commit).map(|()| done),
            Err(error) => {
                // Nothing of it stays even where that fails.
                let _ = self.control(Control::Rollback);
                Err(error)
            }
        }
    }

    fn writing_text<R>(&self, text: &str, write: impl FnOnce() -> Result<R>) -> Result<R> {
        // What is no statement about rows may be one that no transaction takes.
        let word = text.trim_start().split(|c: char| !c.is_ascii_alphabetic()).next();
        let changes_rows = word.is_some_and(|word| {
            let verbs = ["INSERT", "UPDATE", "DELETE", "REPLACE", "MERGE", "WITH"];
            verbs.iter().any(|verb| word.eq_ignore_ascii_case(verb))
        });
        if only_reads(text) || !changes_rows { write() } else { self.writing(write) }
    }
}

impl Session for NamedSession<'_> {
    fn control(&self, step: Control<'_>) -> Result<()> {
        if self.who.is_none() {
            return self.inner.control(step);
        }
        if step == Control::Commit {
            // Where the transaction is lost the commit says so.
            let _ = self.inner.name_caller(None);
        }
        let done = self.inner.control(step);
        match step {
            Control::Begin if done.is_ok() => {
                if let Err(error) = self.inner.name_caller(self.who) {
                    self.inner.control(Control::Rollback)?;
                    return Err(error);
                }
                self.inside.set(true);
            }
            Control::Commit | Control::Rollback => self.inside.set(false),
            _ => {}
        }
        done
    }

    fn write(&self, write: &Write<'_>) -> Result<Outcome> {
        self.writing(|| self.inner.write(write))
    }

    fn change(&self, change: &Change<'_>) -> Result<u64> {
        self.writing(|| self.inner.change(change))
    }

    fn batch(
        &self,
        batch: &Batch,
        on_error: OnError,
        each: &mut dyn FnMut(Result<Outcome>),
    ) -> Result<()> {
        self.writing(|| self.inner.batch(batch, on_error, each))
    }

    fn get(
        &self,
        table: &Arc<TableSchema>,
        key: &[Value<'_>],
        row: &mut dyn FnMut(&dyn Row) -> Result<()>,
    ) -> Result<bool> {
        self.inner.get(table, key, row)
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

    fn fetch(&self, cursor: CursorId, rows: &mut RowBuffer) -> Result<()> {
        self.inner.fetch(cursor, rows)
    }

    fn close(&self, cursor: CursorId) {
        self.inner.close(cursor);
    }

    fn tables(&self) -> Result<Vec<TableSchema>> {
        self.inner.tables()
    }

    fn alter(&self, changes: &[SchemaChange]) -> Result<()> {
        self.inner.alter(changes)
    }

    fn execute(&self, sql: &str, parameters: &[Value<'_>]) -> Result<u64> {
        self.writing_text(sql, || self.inner.execute(sql, parameters))
    }

    fn name_caller(&self, who: Option<&str>) -> Result<()> {
        self.inner.name_caller(who)
    }
}
