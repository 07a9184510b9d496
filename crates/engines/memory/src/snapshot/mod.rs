//! Snapshots: the whole content in one atomic file.
//!
//! `docs/snapshot.md` describes both formats byte by byte.

mod binary;
mod json;
mod key;
mod loading;

pub(crate) use self::key::SnapshotKey;
use self::loading::corrupt;
use crate::state::DatabaseState;
use bobak_core::durable::sync_file;
use bobak_core::{AtomicFile, Error, ErrorKind, Result};
use std::fs::{File, OpenOptions};
use std::io::{BufReader, BufWriter, ErrorKind as Io, Read, Write};
use std::path::Path;

/// The format in which a snapshot is written. Reading detects it from the first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub enum SnapshotFormat {
    /// Compressed blocks, each with its checksum.
    #[default]
    Binary,
    /// JSON, for people and other programs.
    Json,
}

/// Reads a snapshot; `None` if the file does not exist.
///
/// # Errors
/// `Corrupt` for a file that is damaged or no snapshot, `Unsupported` for one of a newer version, `Denied` for a wrong or
/// missing key, `Io`. The file is not changed.
pub(super) fn load(path: &Path, key: &SnapshotKey) -> Result<Option<DatabaseState>> {
    let doing = || format!("read {}", path.display());
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == Io::NotFound => return Ok(None),
        Err(error) => return Err(Error::io(&doing(), error)),
    };
    let mut file = BufReader::with_capacity(1 << 16, file);
    let first = read_start(&mut file).map_err(|error| Error::io(&doing(), error))?;
    let state = key.reader(&first, file).and_then(|file| read(BufReader::new(file)));
    state.map(Some).map_err(|error| {
        let kind = match error.kind() {
            kind @ (ErrorKind::Full | ErrorKind::Unsupported | ErrorKind::Denied) => kind,
            // The bytes are not those that were encrypted.
            ErrorKind::Io if !is_invalid(&error) => ErrorKind::Io,
            _ => ErrorKind::Corrupt,
        };
        let message = format!("the snapshot {} can't be read: {error}", path.display());
        Error::new(kind, message).with_source(error)
    })
}

/// Reads a snapshot that is not encrypted, or is decrypted.
fn read(mut file: impl Read) -> Result<DatabaseState> {
    let first = read_start(&mut file).map_err(|error| Error::io("read it", error))?;
    if first == binary::MAGIC {
        binary::read(&mut file)
    } else if first.trim_ascii_start().starts_with(b"{") {
        read_rest(file, first).and_then(|text| json::read(&text))
    } else {
        Err(corrupt("it is not a snapshot"))
    }
}

/// The bytes that tell the type of the file.
fn read_start(file: &mut impl Read) -> std::io::Result<Vec<u8>> {
    let mut first = Vec::new();
    file.take(binary::MAGIC.len() as u64).read_to_end(&mut first)?;
    Ok(first)
}

/// Whether an error of reading says that the bytes are wrong, and not that they could not be read.
fn is_invalid(error: &Error) -> bool {
    let source = std::error::Error::source(error);
    let source = source.and_then(|source| source.downcast_ref::<std::io::Error>());
    source.is_some_and(|error| error.kind() == Io::InvalidData)
}

/// Replaces the snapshot atomically: at every moment the file is completely the old one or the new one.
///
/// # Errors
/// `Full`, `ReadOnly`, `Io`; the old file is then unchanged.
pub(super) fn save(
    path: &Path,
    format: SnapshotFormat,
    key: &SnapshotKey,
    state: &DatabaseState,
) -> Result<()> {
    let doing = |path: &Path| format!("write the snapshot {}", path.display());
    let new = AtomicFile::create(path).map_err(|error| {
        let message = format!("could not {}: {}", doing(path), error.message());
        Error::new(error.kind(), message)
    })?;
    let target = new.target().to_owned();
    let written = write_new(new.path(), format, key, state).and_then(|()| new.commit());
    written.map_err(|error| Error::io(&doing(&target), error))
}

/// Writes a binary snapshot to a temporary file and syncs it. The caller renames it.
///
/// # Errors
/// `Full`, `ReadOnly`, `Io`.
pub(super) fn write_to(path: &Path, key: &SnapshotKey, state: &DatabaseState) -> Result<()> {
    let written = write_new(path, SnapshotFormat::Binary, key, state)
        .and_then(|()| sync_file(&OpenOptions::new().write(true).open(path)?, path));
    written.map_err(|error| Error::io(&format!("write the snapshot {}", path.display()), error))
}

fn write_new(
    path: &Path,
    format: SnapshotFormat,
    key: &SnapshotKey,
    state: &DatabaseState,
) -> std::io::Result<()> {
    let mut file = BufWriter::with_capacity(1 << 16, File::create(path)?);
    key.write(&mut file, |mut file| match format {
        SnapshotFormat::Binary => binary::write(&mut file, state),
        SnapshotFormat::Json => json::write(&mut file, state),
    })?;
    // `AtomicFile` syncs the file when it commits.
    file.flush()
}

fn read_rest(mut file: impl Read, mut start: Vec<u8>) -> Result<Vec<u8>> {
    file.read_to_end(&mut start).map_err(|error| Error::io("read it to the end", error))?;
    Ok(start)
}
