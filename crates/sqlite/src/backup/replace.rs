//! A new file in the place of a database that nobody has open.

use super::holders;
use crate::error::translate;
use crate::ffi::{self, OpenFlags};
use crate::open;
use crate::settings::Settings;
use bobak_core::durable::{rename, sync_folder};
use bobak_core::{Aside, Error, ErrorKind, Result};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// What SQLite keeps beside a file. It would take it for the new one's.
const BESIDE: [&str; 3] = ["-wal", "-journal", "-shm"];

/// For who has a file open for a moment only: a process that is just being started has all of its
/// parent's.
const PATIENCE: Duration = Duration::from_millis(500);

/// Puts a new file in its place, where a database may be that is closed then.
///
/// The old one's log is written into it first, so that at every moment there is the old database or
/// the new one, whole; but where the old one is left `unread`.
///
/// # Errors
/// `Conflict` where there is one and it is not to be overwritten; `Busy` where somebody has it open;
/// `ReadOnly`, `Io`.
pub(crate) fn replace(
    new: Aside,
    settings: &Settings,
    overwrite: bool,
    unread: bool,
) -> Result<()> {
    let place = new.place().to_owned();
    let doing = |error| Error::io(&format!("write {}", place.display()), error);
    let logs = logs(&place);
    let there = |path: &&PathBuf| fs::metadata(path).is_ok_and(|file| file.len() > 0);
    if !overwrite && let Some(file) = [place.clone()].iter().chain(&logs).find(there) {
        let message = format!("there is a file {} already: nothing was done", file.display());
        return Err(Error::new(ErrorKind::Conflict, message));
    }
    let old = match place.exists() {
        true if unread => Some(Old::Locked(lock(&place, settings)?)),
        true => Some(retire(&place, settings)?),
        false => None,
    };
    let mut kept = Vec::new();
    if !matches!(old, Some(Old::Ended(_))) {
        // What it left is kept until the new one is there.
        for log in logs.iter().filter(|log| log.exists()) {
            let away = beside(log, &format!(".{}.old", std::process::id()));
            rename(log, &away).map_err(doing)?;
            kept.push((log, away));
        }
        sync_folder(&place).map_err(doing)?;
    }
    let put = new.put().map_err(doing);
    for (log, away) in kept {
        let _ = match &put {
            Ok(()) => fs::remove_file(away),
            // The old one is there still.
            Err(_) => rename(&away, log),
        };
    }
    // Nobody else had it until the new one was there.
    drop(old);
    put
}

/// A database that nobody else has.
enum Old {
    /// Its log is written into it.
    Ended(#[allow(dead_code, reason = "it is kept for its lock")] ffi::Connection),
    /// What is in it is not read, or can't be: it is damaged, or encrypted with another key.
    Locked(#[allow(dead_code, reason = "it is kept for its lock")] ffi::LockedFile),
}

/// Takes the old database from everybody else.
fn retire(place: &Path, settings: &Settings) -> Result<Old> {
    match settings.for_file(place)?.fitting(|settings| take_over(&settings)) {
        Err(error) if matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Denied) => {
            lock(place, settings).map(Old::Locked)
        }
        taken => taken.map(Old::Ended),
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
    alone(settings, || match taken() {
        Ok(old) => Ok(Some(old)),
        Err(error) if error.kind() == ErrorKind::Busy => Ok(None),
        Err(error) => Err(open::name_file(error, settings)),
    })
}

/// Takes a file from everybody else without looking at what is in it.
fn lock(place: &Path, settings: &Settings) -> Result<ffi::LockedFile> {
    let settings = settings.without_key(place);
    let flags = OpenFlags { read_only: false, create: false };
    alone(&settings, || {
        let file = open::connect(&settings, flags)?;
        ffi::LockedFile::lock(file)
            .map_err(|failure| open::name_file(translate(failure, None), &settings))
    })
}

/// Takes a file by `take`, which gives `None` where others are in the way, and sees that nobody else has
/// it open.
fn alone<R>(settings: &Settings, take: impl Fn() -> Result<Option<R>>) -> Result<R> {
    let file = settings.path.as_deref().unwrap_or(Path::new(""));
    let deadline = Instant::now() + settings.busy_timeout.min(PATIENCE);
    loop {
        // Before, since taking it changes it; and since then, but for the handle of what was taken.
        if !holders::is_held(file, 0)
            && let Some(taken) = take()?
            && !holders::is_held(file, 1)
        {
            return Ok(taken);
        }
        if Instant::now() >= deadline {
            let message = format!("somebody has {} open: nothing was done", file.display());
            return Err(Error::new(ErrorKind::Busy, message));
        }
        std::thread::sleep(PATIENCE / 25);
    }
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

/// The path with something at its end.
pub(crate) fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(path.as_os_str());
    name.push(ending);
    PathBuf::from(name)
}
