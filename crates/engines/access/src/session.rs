//! Sessions: those of the memory engine, without writes.

use bobak_core::engine::SessionLayer;
use bobak_core::{
    BulkChange, Error, ErrorKind, OnError, Outcome, Result, SchemaChange, SchemaDetails,
    SchemaLoss, Session, Write, WriteBatch,
};

/// A session that reads.
pub(crate) struct AccessSession<'e> {
    pub inner: Box<dyn Session + 'e>,
    pub losses: &'e [SchemaLoss],
}

fn read_only<R>() -> Result<R> {
    let message = "Access files can only be read: copy the tables to another engine to change them";
    Err(Error::new(ErrorKind::Unsupported, message))
}

impl SessionLayer for AccessSession<'_> {
    fn inner(&self) -> &(dyn Session + '_) {
        &*self.inner
    }

    fn write(&self, _write: &Write<'_>) -> Result<Outcome> {
        read_only()
    }

    fn alter(&self, changes: &[SchemaChange]) -> Result<()> {
        if changes.is_empty() { Ok(()) } else { read_only() }
    }

    fn change(&self, _change: &BulkChange<'_>) -> Result<u64> {
        read_only()
    }

    fn batch(
        &self,
        batch: &WriteBatch,
        _on_error: OnError,
        _each: &mut dyn FnMut(Result<Outcome>),
    ) -> Result<()> {
        if batch.is_empty() { Ok(()) } else { read_only() }
    }

    fn schema_details(&self) -> Result<SchemaDetails> {
        let mut details = self.inner.schema_details()?;
        details.losses.extend_from_slice(self.losses);
        Ok(details)
    }
}
