//! Saves the changes of the memory engine in the file.

use super::bytes::damaged;
use super::commit::Commit;
use super::format::FileFormat;
use super::layout::{self, Schemas};
use super::lock::LockFile;
use super::new_file;
use super::pages::Pages;
use crate::NAME;
use bobak_core::{Error, ErrorKind, Result, SchemaChange, TableSchema};
use bobak_engine_common::{reject_generated, reject_searches, reject_vectors};
use bobak_memory::{MemoryTable, MemoryTables};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

/// The tables that cannot be written, by their names in lower case, each with the reason.
pub(crate) type ReadOnlyTables = BTreeMap<String, String>;

/// Writes one file.
pub(crate) struct FileSaver {
    path: PathBuf,
    read_only: ReadOnlyTables,
    state: Mutex<SaverState>,
}

struct SaverState {
    /// Held from the first change on.
    lock: Option<LockFile>,
    /// The file as it was read, or written last; `None` if there is none.
    stamp: Option<FileStamp>,
}

/// What changes if another program writes a file.
type FileStamp = (u64, Option<SystemTime>);

/// The tables that differ between two moments.
#[derive(Default)]
pub(super) struct TableChanges<'t> {
    /// The names of tables that are gone.
    pub dropped: Vec<&'t str>,
    /// New tables, and those with another schema.
    pub defined: Vec<MemoryTable<'t>>,
    /// Tables of which only rows differ.
    pub changed: Vec<MemoryTable<'t>>,
}

impl FileSaver {
    /// A saver of a file that is about to be read.
    pub fn new(path: &Path) -> Self {
        let state = Mutex::new(SaverState { lock: None, stamp: stamp(path) });
        Self { path: path.to_owned(), read_only: BTreeMap::new(), state }
    }

    /// Sets the tables that cannot be written.
    pub fn set_read_only(&mut self, tables: ReadOnlyTables) {
        self.read_only = tables;
    }

    /// Rejects a change of a table that cannot be written.
    ///
    /// # Errors
    /// `Unsupported`.
    pub fn check_writable(&self, table: &str) -> Result<()> {
        if self.read_only.is_empty() {
            return Ok(());
        }
        match self.read_only.get(&table.to_lowercase()) {
            None => Ok(()),
            Some(reason) => {
                let message = format!("the table can only be read: {reason}");
                Err(Error::new(ErrorKind::Unsupported, message).in_table(table.to_owned()))
            }
        }
    }

    /// Rejects tables that Access has no counterpart of.
    ///
    /// # Errors
    /// `Unsupported`.
    pub fn check_changes(&self, changes: &[SchemaChange]) -> Result<()> {
        reject_searches(changes, NAME)?;
        reject_vectors(changes, NAME)?;
        for change in changes {
            let table = change.table();
            match change {
                SchemaChange::Track { .. } | SchemaChange::Untrack(_) => {
                    return Err(Error::unsupported(NAME, "change capture").in_table(table.name()));
                }
                SchemaChange::DropTable(_) => self.check_writable(table.name())?,
                SchemaChange::AlterTable(alteration) => {
                    self.check_writable(alteration.from().name())?;
                    self.check_writable(alteration.to().name())?;
                    check_table(alteration.to(), self.new_format())?;
                }
                _ => {
                    self.check_writable(table.name())?;
                    check_table(table, self.new_format())?;
                }
            }
        }
        Ok(())
    }

    /// The format of a new file.
    fn new_format(&self) -> FileFormat {
        let is_old = self.path.extension().is_some_and(|name| name.eq_ignore_ascii_case("mdb"));
        if is_old { FileFormat::JET_4 } else { FileFormat::ACE_14 }
    }

    /// Writes what differs between two moments, and returns when it is on the disk.
    ///
    /// # Errors
    /// `Busy` if another program has the file open or has written it; `Unsupported`, `OutOfRange`, `TooLong`, `Duplicate`
    /// for what Access has no room for; `Full`, `ReadOnly`, `Corrupt`, `Io`. The file is then as it was.
    pub fn save(&self, before: &MemoryTables<'_>, after: &MemoryTables<'_>) -> Result<()> {
        let changes = TableChanges::between(before, after);
        if changes.is_empty() {
            return Ok(());
        }
        let names = changes.dropped.iter().copied();
        let tables = changes.defined.iter().chain(&changes.changed);
        let mut names = names.chain(tables.map(|table| table.schema().name()));
        names.try_for_each(|name| self.check_writable(name))?;
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.lock.is_none() {
            state.lock = Some(LockFile::take(&self.path)?);
        }
        if stamp(&self.path) != state.stamp {
            let message = format!(
                "another program has written {} since it was opened: open it again",
                self.path.display()
            );
            return Err(Error::new(ErrorKind::Busy, message));
        }
        let saved = self.write(&state, &changes, after);
        let now = stamp(&self.path);
        match saved {
            Ok(()) => {
                state.stamp = now;
                Ok(())
            }
            // The new file is in place, and perhaps not on the disk.
            Err(error) if now != state.stamp => {
                Err(Error::new(ErrorKind::Unknown, error.message()).with_source(error))
            }
            Err(error) => Err(self.named(error)),
        }
    }

    fn write(
        &self,
        state: &SaverState,
        changes: &TableChanges<'_>,
        after: &MemoryTables<'_>,
    ) -> Result<()> {
        let pages = match state.stamp {
            Some(_) => Pages::open(&self.path)?,
            None => new_file::create(self.new_format())?,
        };
        let schemas: Vec<Arc<TableSchema>> =
            after.tables().map(|table| Arc::clone(table.schema())).collect();
        let commit = Commit::new(pages, Schemas(&schemas), &self.read_only)?;
        commit.write(changes, after)?.commit(&self.path)
    }

    /// The error with the file's name, if its pages are damaged.
    fn named(&self, error: Error) -> Error {
        match error.kind() {
            ErrorKind::Corrupt => crate::file::damaged(&self.path, error.message()),
            _ => error,
        }
    }
}

fn check_table(table: &TableSchema, format: FileFormat) -> Result<()> {
    reject_generated(NAME, table)?;
    if table.never_reuses_keys() {
        let error = Error::unsupported(NAME, "keys that are never reused");
        return Err(error.in_table(table.name().to_owned()));
    }
    layout::check(table)?;
    for column in layout::stored_columns(table) {
        layout::kind_of(table, column, Schemas(&[]), format)
            .map_err(|error| error.in_table(table.name().to_owned()))?;
    }
    if layout::stored_columns(table).is_empty() {
        return Err(damaged());
    }
    Ok(())
}

fn stamp(path: &Path) -> Option<FileStamp> {
    let found = std::fs::metadata(path).ok()?;
    Some((found.len(), found.modified().ok()))
}

impl<'t> TableChanges<'t> {
    fn between(before: &MemoryTables<'t>, after: &MemoryTables<'t>) -> Self {
        let mut changes = Self::default();
        let same_name = |tables: &MemoryTables<'t>, name: &str| {
            tables.find(name).filter(|table| table.schema().name() == name)
        };
        for table in before.tables() {
            let name = table.schema().name();
            if same_name(after, name).is_none() {
                changes.dropped.push(name);
            }
        }
        for table in after.tables() {
            match same_name(before, table.schema().name()) {
                Some(old) if old.is_same(table) => {}
                Some(old) if old.schema().same_as(table.schema()) => changes.changed.push(table),
                _ => changes.defined.push(table),
            }
        }
        changes
    }

    fn is_empty(&self) -> bool {
        self.dropped.is_empty() && self.defined.is_empty() && self.changed.is_empty()
    }
}
