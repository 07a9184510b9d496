//! A new file in the place of a database that nobody has open.

use super::exclusive::{ExclusiveDatabase, acquire_unread, take};
use crate::ffi;
use crate::open::beside;
use crate::settings::Settings;
use bobak_core::durable::{rename, sync_folder};
use bobak_core::{AtomicFile, Error, ErrorKind, Result};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// What SQLite keeps beside a file. It would take it for the new one's.
const BESIDE: [&str; 3] = ["-wal", "-journal", "-shm"];

/// Puts a new file in its place, where a database may be that is closed then.
///
/// What the old one has beside it is first written into it, so that at every moment there is the old
/// database or the new one, whole. With `unread` nobody looks at what is in its pages.
///
/// # Errors
/// `Conflict` where there is one and it is not to be overwritten; `Busy` where somebody has it open;
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
        let message = format!("there is a file {} already: nothing was done", file.display());
        return Err(Error::new(ErrorKind::Conflict, message));
    }
    if !place.exists() {
        return put_beside_logs(new, &logs);
    }
    match if unread { acquire_unread(&place, settings)? } else { take(&place, settings)? } {
        ExclusiveDatabase::Read(old) => put_over(new, old),
        ExclusiveDatabase::Unread(old) => {
            clear(&place)?;
            put(new, old)
        }
    }
}

/// Puts a new file in the place of a database that was [taken over](super::exclusive::acquire_exclusive).
pub(crate) fn put_over(new: AtomicFile, mut old: ffi::Connection) -> Result<()> {
    old.keep_wal_on_close();
    clear(new.target())?;
    put(new, old)
}

/// Puts a new file in its place, which nobody else has until then.
fn put<L>(new: AtomicFile, lock: L) -> Result<()> {
    let doing = format!("write {}", new.target().display());
    let put = new.commit().map_err(|error| Error::io(&doing, error));
    drop(lock);
    put
}

/// Removes what is beside a database that was taken from everybody, and is empty. It must be gone for
/// good before another file is there.
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

/// Puts a new file where no database is, but perhaps what one that is gone has left: that is kept until
/// the new one is there.
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
    // It may be there though it failed.
    let is_there = place.exists();
    for (log, away) in kept {
        let _ = if is_there { fs::remove_file(away) } else { rename(&away, log) };
    }
    put
}

/// The files that SQLite may keep beside one.
pub(super) fn logs(place: &Path) -> [PathBuf; 3] {
    BESIDE.map(|ending| beside(place, ending))
}
