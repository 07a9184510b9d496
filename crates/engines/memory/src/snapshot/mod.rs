//! Snapshots: the whole content in one file, written aside and then put in the old one's place.
//!
//! `docs/snapshot.md` describes both formats byte by byte.

mod binary;
mod json;
mod schema;

use super::SnapshotFormat;
use super::alter::{add_checked, check_references};
use super::state::State;
use super::table::TableState;
use bobak_core::durable::sync_file;
use bobak_core::{AtomicFile, Error, ErrorKind, Result, TableSchema};
use std::fs::{File, OpenOptions};
use std::io::{BufReader, BufWriter, ErrorKind as Io, Read, Write};
use std::path::Path;
use std::sync::Arc;

/// Reads a snapshot; `None` where there is no file.
///
/// # Errors
/// `Corrupt` for a file that is damaged or no snapshot, `Unsupported` for one of a newer version,
/// `Io`. The file is left as it is.
pub(super) fn load(path: &Path) -> Result<Option<State>> {
    let doing = || format!("read {}", path.display());
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == Io::NotFound => return Ok(None),
        Err(error) => return Err(Error::io(&doing(), error)),
    };
    let mut file = BufReader::with_capacity(1 << 16, file);
    let mut first = Vec::new();
    let magic = binary::MAGIC.len() as u64;
    file.by_ref()
        .take(magic)
        .read_to_end(&mut first)
        .map_err(|error| Error::io(&doing(), error))?;
    let state = if first == binary::MAGIC {
        binary::read(&mut file)
    } else if first.trim_ascii_start().starts_with(b"{") {
        read_rest(file, first).and_then(|text| json::read(&text))
    } else {
        Err(corrupt("it begins as no snapshot does"))
    };
    state.map(Some).map_err(|error| {
        let kind = match error.kind() {
            kind @ (ErrorKind::Io | ErrorKind::Full | ErrorKind::Unsupported) => kind,
            _ => ErrorKind::Corrupt,
        };
        let message = format!("the snapshot {} can't be read: {error}", path.display());
        Error::new(kind, message).with_source(error)
    })
}

/// Writes a snapshot in the old one's place. At every moment the file is the old one or the new one,
/// whole.
///
/// # Errors
/// `Full`, `ReadOnly`, `Io`; the old file is then as it was.
pub(super) fn save(path: &Path, format: SnapshotFormat, state: &State) -> Result<()> {
    let doing = |path: &Path| format!("write the snapshot {}", path.display());
    let aside = AtomicFile::create(path).map_err(|error| {
        let message = format!("could not {}: {}", doing(path), error.message());
        Error::new(error.kind(), message)
    })?;
    let place = aside.target().to_owned();
    let written = write_new(aside.path(), format, state).and_then(|()| aside.commit());
    written.map_err(|error| Error::io(&doing(&place), error))
}

/// Writes a binary snapshot to a file that its owner will put in its place, and syncs it.
///
/// # Errors
/// `Full`, `ReadOnly`, `Io`.
pub(super) fn write_to(path: &Path, state: &State) -> Result<()> {
    let written = write_new(path, SnapshotFormat::Binary, state)
        .and_then(|()| sync_file(&OpenOptions::new().write(true).open(path)?, path));
    written.map_err(|error| Error::io(&format!("write the snapshot {}", path.display()), error))
}

/// A table that is being read, and how many of its rows were.
struct Reading {
    state: State,
    rows: u64,
}

impl Reading {
    fn new() -> Self {
        Self { state: State::default(), rows: 0 }
    }

    fn begin_table(&mut self, schema: TableSchema) -> Result<()> {
        if self.state.place(schema.name()).is_some() {
            return Err(corrupt("a table is there twice").in_table(schema.name()));
        }
        self.state.tables.push(Arc::new(TableState::new(Arc::new(schema))?));
        self.rows = 0;
        Ok(())
    }

    fn schema(&self) -> Result<Arc<TableSchema>> {
        let table = self.state.tables.last();
        table.map(|table| Arc::clone(&table.schema)).ok_or_else(|| corrupt("rows without a table"))
    }

    /// Adds a row, whose bytes were checked, to the table begun last.
    fn add(&mut self, row: Arc<[u8]>) -> Result<()> {
        let place = self.state.tables.len().checked_sub(1);
        let place = place.ok_or_else(|| corrupt("rows without a table"))?;
        add_checked(self.state.table_mut(place), row).map_err(|e| e.at_row(self.rows))?;
        self.rows += 1;
        Ok(())
    }

    fn finish(mut self) -> Result<State> {
        self.state.link()?;
        for place in 0..self.state.tables.len() {
            check_references(&self.state, place)?;
        }
        Ok(self.state)
    }
}

fn write_new(path: &Path, format: SnapshotFormat, state: &State) -> std::io::Result<()> {
    let mut file = BufWriter::with_capacity(1 << 16, File::create(path)?);
    match format {
        SnapshotFormat::Binary => binary::write(&mut file, state)?,
        SnapshotFormat::Json => json::write(&mut file, state)?,
    }
    // Synced when it is put in its place.
    file.flush()
}

fn read_rest(mut file: impl Read, mut start: Vec<u8>) -> Result<Vec<u8>> {
    file.read_to_end(&mut start).map_err(|error| Error::io("read it to the end", error))?;
    Ok(start)
}

fn corrupt(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Corrupt, message)
}
