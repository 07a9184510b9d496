//! Snapshots: the whole content in one file, written aside and then put in the old one's place.
//!
//! `docs/snapshot.md` describes both formats byte by byte.

mod binary;
mod json;
mod loading;

use self::loading::corrupt;
use crate::state::State;
use bobak_core::durable::sync_file;
use bobak_core::{AtomicFile, Error, ErrorKind, Result};
use std::fs::{File, OpenOptions};
use std::io::{BufReader, BufWriter, ErrorKind as Io, Read, Write};
use std::path::Path;

/// How a snapshot is written. When it is read, its first bytes say how it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum SnapshotFormat {
    /// Compressed, each part with its check sum.
    #[default]
    Binary,
    /// For people and other programs.
    Json,
}

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
