//! A new file in the place of a database that nobody has open.

use crate::error::translate;
use crate::ffi::{self, OpenFlags};
use crate::open;
use crate::settings::Settings;
use bobak_core::durable::{rename, sync_folder};
use bobak_core::{Aside, Error, ErrorKind, Result};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

/// What SQLite keeps beside a file. It would take it for the new one's.
const BESIDE: [&str; 3] = ["-wal", "-journal", "-shm"];

/// Puts a new file in its place, where a database may be that is closed then.
///
/// The old one's log is written into it first, so that at every moment there is the old database or
/// the new one, whole.
///
/// # Errors
/// `Conflict` where there is one and it is not to be overwritten; `Busy` where somebody has it open;
/// `ReadOnly`, `Io`.
pub(crate) fn replace(new: Aside, settings: &Settings, overwrite: bool) -> Result<()> {
    let place = new.place().to_owned();
    let doing = |error| Error::io(&format!("write {}", place.display()), error);
    let logs = logs(&place);
    let there = |path: &&PathBuf| fs::metadata(path).is_ok_and(|file| file.len() > 0);
    if !overwrite && let Some(file) = [place.clone()].iter().chain(&logs).find(there) {
        let message = format!("there is a file {} already: nothing was done", file.display());
        return Err(Error::new(ErrorKind::Conflict, message));
    }
    let old = if place.exists() { retire(&place, settings)? } else { None };
    let mut kept = Vec::new();
    if old.is_none() {
        // It is damaged or gone: what it left is kept until the new one is there.
        for log in logs.iter().filter(|log| log.exists()) {
            let away = beside(log, &format!(".{}.old", std::process::id()));
            rename(log, &away).map_err(doing)?;
            kept.push(away);
        }
        sync_folder(&place).map_err(doing)?;
    }
    let put = new.put().map_err(doing);
    // Nobody else had it until the new one was there.
    drop(old);
    put?;
    for log in kept {
        let _ = fs::remove_file(log);
    }
    Ok(())
}

/// Takes the old database from everybody else; `None` where it is no database.
fn retire(place: &Path, settings: &Settings) -> Result<Option<ffi::Connection>> {
    match take_over(&settings.for_file(place)?) {
        Ok(old) => Ok(Some(old)),
        Err(error) if matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Denied) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Takes a database from everybody else until it is closed, and ends its log.
///
/// # Errors
/// `Busy` where somebody has it open; `Corrupt` where it is no database, `Denied` for a wrong key.
pub(crate) fn take_over(settings: &Settings) -> Result<ffi::Connection> {
    let flags = OpenFlags { read_only: false, create: false };
    let taken = || -> Result<ffi::Connection> {
        let mut old = open::connect(settings, flags)?;
        open::read_schema(&mut old, settings)?;
        for step in [
            "PRAGMA locking_mode = exclusive",
            "PRAGMA journal_mode = delete",
            // The lock stays when the transaction has ended.
            "BEGIN EXCLUSIVE",
            "COMMIT",
        ] {
            old.exec(step).map_err(|failure| translate(failure, None))?;
        }
        Ok(old)
    };
    taken().map_err(|error| {
        let named = open::name_file(error, settings);
        if named.kind() != ErrorKind::Busy {
            return named;
        }
        let file = settings.path.as_deref().unwrap_or(Path::new(""));
        let message = format!("somebody has {} open: nothing was done", file.display());
        Error::new(ErrorKind::Busy, message).with_source(named)
    })
}

/// Puts a new file in the place of a database that was [taken over](take_over).
#[cfg(feature = "encryption")]
pub(crate) fn put_over(new: Aside, old: Box<crate::connection::Connection>) -> Result<()> {
    let doing = format!("write {}", new.place().display());
    let put = new.put().map_err(|error| Error::io(&doing, error));
    drop(old);
    put
}

/// The files that SQLite may keep beside one.
pub(super) fn logs(place: &Path) -> [PathBuf; 3] {
    BESIDE.map(|ending| beside(place, ending))
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(path.as_os_str());
    name.push(ending);
    PathBuf::from(name)
}
