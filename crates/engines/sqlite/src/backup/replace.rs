//! Replaces a database that nobody has open with a new file.

use super::exclusive::{ExclusiveDatabase, acquire_unread, take};
use crate::ffi;
use crate::open::beside;
use crate::settings::Settings;
use bobak_core::durable::{rename, sync_folder};
use bobak_core::{AtomicFile, Error, ErrorKind, Result};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The endings of SQLite's files for a database. SQLite would use old ones with the new file.
const BESIDE: [&str; 3] = ["-wal", "-journal", "-shm"];

/// Moves a new file into place, where a closed database may exist.
/// | First moves the old database's log into its file, so that at every moment the place contains
/// the complete old or new database. With `unread` the old pages are not interpreted.
/// | # Errors
/// `Conflict` if a file exists and is not to be overwritten; `Busy` if it is open elsewhere;
/// `Full`, `ReadOnly`, `Io`.
pub(crate) fn replace(
    new: AtomicFile,
    settings: &Settings,
    overwrite: bool,
    unread: bool,
) -> Result<()> {
    let place = new.target().to_owned();
    let logs = logs(&place);
    let there = |path: &&PathBuf| fs::metadata(path).is_ok_and(|file| file.len() > 0);
    if !overwrite && let Some(file) = [place.clone()].iter().chain(&logs).find(there) {
        let message = format!("the file {} already exists: nothing was changed", file.display());
        return Err(Error::new(ErrorKind::Conflict, message));
    }
    if !place.exists() {
        return put_beside_logs(new, &logs);
    }
    match if unread { acquire_unread(&place, settings)? } else { take(&place, settings)? } {
        ExclusiveDatabase::Read(old) => replace_database(new, old),
        ExclusiveDatabase::Unread(old) => {
            clear(&place)?;
            put(new, old)
        }
    }
}

/// Moves a new file over a database that was [acquired
/// exclusively](super::exclusive::acquire_exclusive).
pub(crate) fn replace_database(new: AtomicFile, mut old: ffi::Connection) -> Result<()> {
    old.keep_wal_on_close();
    clear(new.target())?;
    put(new, old)
}

/// Moves a new file into place, which is locked until then.
fn put<L>(new: AtomicFile, lock: L) -> Result<()> {
    let doing = format!("write {}", new.target().display());
    let put = new.commit().map_err(|error| Error::io(&doing, error));
    drop(lock);
    put
}

/// Deletes the empty logs of an exclusively acquired database. They must be gone durably before
/// another file takes its place.
fn clear(place: &Path) -> Result<()> {
    let doing = |error| Error::io(&format!("write {}", place.display()), error);
    for log in logs(place) {
        match fs::remove_file(log) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(doing(error)),
            _ => {}
        }
    }
    sync_folder(place).map_err(doing)
}

/// Moves a new file to a place without a database, which may have logs of a deleted one: these
/// are kept until the new file is there.
fn put_beside_logs(new: AtomicFile, logs: &[PathBuf]) -> Result<()> {
    let place = new.target().to_owned();
    let doing = |error| Error::io(&format!("write {}", place.display()), error);
    let mut kept = Vec::new();
    let mut put_away = || {
        for log in logs.iter().filter(|log| log.exists()) {
            let away = beside(log, &format!(".{}.old", std::process::id()));
            rename(log, &away)?;
            kept.push((log, away));
        }
        if kept.is_empty() { Ok(()) } else { sync_folder(&place) }
    };
    let put = put_away().map_err(doing).and_then(|()| put(new, ()));
    // The file may be in place although the call failed.
    let is_there = place.exists();
    for (log, away) in kept {
        let _ = if is_there { fs::remove_file(away) } else { rename(&away, log) };
    }
    put
}

/// The files that SQLite may create for a database.
pub(super) fn logs(place: &Path) -> [PathBuf; 3] {
    BESIDE.map(|ending| beside(place, ending))
}
