//! A write transaction: redb's, with savepoints.
//!
//! redb sets savepoints only before the first change, so the changes after a savepoint are recorded
//! here, and undone one by one.

use crate::catalog::TableCatalog;
use crate::data::{DATA, Data, DataWriter, Undo};
use crate::engine::KvFile;
use crate::error::{commit_failed, failed};
use bobak_core::{Error, ErrorKind, Result};
use bobak_engine_common::{HeldWriteLock, LocalTransaction};
use std::sync::Arc;

/// A transaction that may write. Dropping it rolls it back.
pub(super) struct WriteTransaction<'e> {
    shared: &'e KvFile,
    redb: redb::WriteTransaction,
    pub catalog: Arc<TableCatalog>,
    schema_changed: bool,
    /// Whether changes are recorded in `undo`: a mark is in use.
    recording: bool,
    undo: Vec<Undo>,
    failed: bool,
    /// Dropped last: other writers wait for it.
    _lock: HeldWriteLock<'e>,
}

/// The number of recorded changes at a moment, and the tables then.
pub(super) type Mark = (usize, Arc<TableCatalog>);

impl<'e> WriteTransaction<'e> {
    /// Begins.
    ///
    /// # Errors
    /// `Busy`, `Io`.
    pub fn begin(shared: &'e KvFile) -> Result<Self> {
        let lock = shared.writer.hold()?;
        let mut redb = shared.redb.begin_write().map_err(|error| failed("begin", error))?;
        redb.set_durability(shared.durability.of_commit())
            .map_err(|error| failed("begin", error))?;
        Ok(Self {
            shared,
            redb,
            catalog: shared.catalog(),
            schema_changed: false,
            recording: false,
            undo: Vec::new(),
            failed: false,
            _lock: lock,
        })
    }

    /// The data, for reading.
    ///
    /// # Errors
    /// `Io`.
    pub fn data(&self) -> Result<Data<'_>> {
        let table = self.redb.open_table(DATA).map_err(|error| failed("read", error))?;
        Ok(Data::Writing(table))
    }

    /// The data, for writing, and the tables.
    ///
    /// # Errors
    /// `Io`.
    pub fn writer(&mut self) -> Result<(DataWriter<'_>, &TableCatalog)> {
        let table = self.redb.open_table(DATA).map_err(|error| failed("write", error))?;
        let undo = self.recording.then_some(&mut self.undo);
        let writer = DataWriter { data: Data::Writing(table), undo, failed: &mut self.failed };
        Ok((writer, &self.catalog))
    }

    /// Puts other tables in the place of those that there were.
    pub fn set_catalog(&mut self, catalog: TableCatalog) {
        self.catalog = Arc::new(catalog);
        self.schema_changed = true;
    }

    /// Runs one statement that makes several changes: all of them, or none.
    ///
    /// # Errors
    /// Those of `work`.
    pub fn atomically<R>(&mut self, work: impl FnOnce(&mut Self) -> Result<R>) -> Result<R> {
        let was_recording = self.recording;
        let mark = self.mark();
        let result = work(self);
        if result.is_err() {
            self.return_to(&mark)?;
        }
        if !was_recording {
            self.forget_marks();
        }
        result
    }
}

impl LocalTransaction for WriteTransaction<'_> {
    type Mark = Mark;

    fn mark(&mut self) -> Mark {
        self.recording = true;
        (self.undo.len(), Arc::clone(&self.catalog))
    }

    fn return_to(&mut self, (recorded, catalog): &Mark) -> Result<()> {
        self.catalog = Arc::clone(catalog);
        let changes = self.undo.split_off(*recorded);
        let table = self.redb.open_table(DATA).map_err(|error| failed("write", error))?;
        let data = Data::Writing(table);
        let mut writer = DataWriter { data, undo: None, failed: &mut self.failed };
        changes.iter().rev().try_for_each(|(key, value)| writer.put(key, value.as_deref()))
    }

    fn forget_marks(&mut self) {
        self.recording = false;
        self.undo.clear();
    }

    /// On disk when it returns, if the engine is so durable. `Unknown` if the disk failed; `Io` if a change failed
    /// before, and nothing is committed.
    fn commit(self) -> Result<()> {
        if self.failed {
            let message = "a write of the transaction failed, so it was rolled back";
            return Err(Error::new(ErrorKind::Io, message));
        }
        // Readers begin with the data and the tables of one moment.
        let mut catalog = self.schema_changed.then(|| self.shared.lock_catalog());
        self.redb.commit().map_err(commit_failed)?;
        if let Some(catalog) = &mut catalog {
            **catalog = self.catalog;
        }
        Ok(())
    }
}
