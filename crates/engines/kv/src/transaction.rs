//! A write transaction: redb's, with savepoints.
//!
//! redb sets savepoints only before the first change, so the changes after a savepoint are recorded
//! here, and undone one by one.

use crate::catalog::TableCatalog;
use crate::data::{DATA, Data, DataWriter, Undo};
use crate::engine::KvFile;
use crate::error::{commit_failed, failed};
use bobak_core::{Error, ErrorKind, Result, TransactionControl};
use bobak_engine_common::HeldWriteLock;
use std::sync::Arc;

/// A transaction that may write. Dropping it rolls it back.
pub(super) struct WriteTransaction<'e> {
    shared: &'e KvFile,
    redb: redb::WriteTransaction,
    pub catalog: Arc<TableCatalog>,
    schema_changed: bool,
    savepoints: Vec<SavepointMark>,
    undo: Vec<Undo>,
    failed: bool,
    /// Dropped last: other writers wait for it.
    _lock: HeldWriteLock<'e>,
}

struct SavepointMark {
    name: String,
    /// How many changes were recorded before it.
    undo: usize,
    catalog: Arc<TableCatalog>,
}

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
            savepoints: Vec::new(),
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
        let undo = (!self.savepoints.is_empty()).then_some(&mut self.undo);
        let writer = DataWriter { data: Data::Writing(table), undo, failed: &mut self.failed };
        Ok((writer, &self.catalog))
    }

    /// Puts other tables in the place of those that there were.
    pub fn set_catalog(&mut self, catalog: TableCatalog) {
        self.catalog = Arc::new(catalog);
        self.schema_changed = true;
    }

    /// Commits: on disk when it returns, if the engine is so durable.
    ///
    /// # Errors
    /// `Unknown` if the disk failed; `Io` if a change failed before, and nothing is committed.
    pub fn commit(self) -> Result<()> {
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

    /// Sets, releases or returns to a savepoint.
    ///
    /// # Errors
    /// `Misuse` for an unknown savepoint; `Io`.
    pub fn savepoint(&mut self, step: TransactionControl<'_>) -> Result<()> {
        match step {
            TransactionControl::Savepoint(name) => self.savepoints.push(SavepointMark {
                name: name.to_owned(),
                undo: self.undo.len(),
                catalog: Arc::clone(&self.catalog),
            }),
            TransactionControl::Release(name) => {
                let position = self.find(name)?;
                self.savepoints.truncate(position);
                if self.savepoints.is_empty() {
                    self.undo.clear();
                }
            }
            TransactionControl::RollbackTo(name) => {
                let position = self.find(name)?;
                self.savepoints.truncate(position + 1);
                if let Some(savepoint) = self.savepoints.last() {
                    self.catalog = Arc::clone(&savepoint.catalog);
                    let changes = self.undo.split_off(savepoint.undo);
                    self.restore(changes)?;
                }
            }
            _ => return Err(Error::new(ErrorKind::Misuse, "not a step of a savepoint")),
        }
        Ok(())
    }

    /// Runs one statement that makes several changes: all of them, or none.
    ///
    /// # Errors
    /// Those of `work`.
    pub fn atomically<R>(&mut self, work: impl FnOnce(&mut Self) -> Result<R>) -> Result<R> {
        const NAME: &str = "";
        self.savepoint(TransactionControl::Savepoint(NAME))?;
        let result = work(self);
        if result.is_err() {
            self.savepoint(TransactionControl::RollbackTo(NAME))?;
        }
        self.savepoint(TransactionControl::Release(NAME))?;
        result
    }

    fn restore(&mut self, changes: Vec<Undo>) -> Result<()> {
        let table = self.redb.open_table(DATA).map_err(|error| failed("write", error))?;
        let data = Data::Writing(table);
        let mut writer = DataWriter { data, undo: None, failed: &mut self.failed };
        changes.iter().rev().try_for_each(|(key, value)| writer.put(key, value.as_deref()))
    }

    fn find(&self, name: &str) -> Result<usize> {
        let position = self.savepoints.iter().rposition(|savepoint| savepoint.name == name);
        position
            .ok_or_else(|| Error::new(ErrorKind::Misuse, format!("there is no savepoint '{name}'")))
    }
}
