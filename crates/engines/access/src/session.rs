//! Sessions: those of the memory engine, without what cannot be written.

use crate::NAME;
use crate::write::{FileSaver, check_values};
use bobak_core::codec::EncodedRow;
use bobak_core::engine::{SessionLayer, fallback};
use bobak_core::plan::{ExplainedQuery, PlanStep};
use bobak_core::{
    BulkChange, Cursor, OnError, Outcome, Result, Row, SchemaChange, SchemaDetails, SchemaLoss,
    Session, Source, Value, ValueRef, Write, WriteBatch,
};

/// A session of a file.
pub(crate) struct AccessSession<'e> {
    pub inner: Box<dyn Session + 'e>,
    pub losses: &'e [SchemaLoss],
    pub saver: &'e FileSaver,
}

impl SessionLayer for AccessSession<'_> {
    fn inner(&self) -> &(dyn Session + '_) {
        &*self.inner
    }

    fn write(&self, write: &Write<'_>) -> Result<Outcome> {
        self.saver.check_writable(write.table.name())?;
        let value = |column| write.values.get(column).map_or(ValueRef::Null, Value::as_ref);
        check_values(write.table, value)?;
        self.inner.write(write)
    }

    fn query(
        &self,
        source: &Source<'_>,
        row: &mut dyn FnMut(&dyn Row) -> Result<bool>,
    ) -> Result<()> {
        check_source(source)?;
        self.inner.query(source, row)
    }

    fn open(&self, source: &Source<'_>) -> Result<Cursor> {
        check_source(source)?;
        self.inner.open(source)
    }

    fn explain(&self, query: &ExplainedQuery<'_>) -> Result<Option<Vec<PlanStep>>> {
        if let ExplainedQuery::Source(source) = query {
            check_source(source)?;
        }
        self.inner.explain(query)
    }

    fn alter(&self, changes: &[SchemaChange]) -> Result<()> {
        self.saver.check_changes(changes)?;
        self.inner.alter(changes)
    }

    fn change(&self, change: &BulkChange<'_>) -> Result<u64> {
        self.saver.check_writable(change.table.name())?;
        self.inner.change(change)
    }

    fn batch(
        &self,
        batch: &WriteBatch,
        on_error: OnError,
        each: &mut dyn FnMut(Result<Outcome>),
    ) -> Result<()> {
        for run in batch.runs() {
            self.saver.check_writable(run.table.name())?;
            let check = |row: EncodedRow<'_>| check_values(run.table, |column| row.value(column));
            if run.iter().any(|row| check(row).is_err()) {
                // Row by row, so that each error is that of its row.
                return fallback::batch(self, batch, on_error, each);
            }
        }
        self.inner.batch(batch, on_error, each)
    }

    fn schema_details(&self) -> Result<SchemaDetails> {
        let mut details = self.inner.schema_details()?;
        details.losses.extend_from_slice(self.losses);
        Ok(details)
    }
}

/// Rejects queries of the memory engine that other engines of files have not.
fn check_source(source: &Source<'_>) -> Result<()> {
    match source {
        Source::Select(select) => {
            select.check_search(NAME, false)?;
            select.check_vectors(NAME, false)
        }
        Source::Sql { .. } => Ok(()),
    }
}
